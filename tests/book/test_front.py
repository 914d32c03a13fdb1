"""What the build puts at the marks of the front pages."""

import re
from types import SimpleNamespace

import pytest

from book.builder import figures, front
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.companion.told import CODES, OURS

FIGURE = """<figure><picture><source media="(max-width: 600px)" srcset="narrow"><img src="wide"></picture>
<figcaption>Left: one. Right: another.</figcaption><p class="icl-provenance">seed 0</p></figure>"""


def test_a_figure_beside_its_text_is_the_narrow_one_and_its_caption_says_top_and_bottom(tmp_path):
    (tmp_path / "index.md").write_text("Before\n\n<!-- figure toy -->\n\nAfter\n")
    both = figures.CAPTION.sub(lambda caption: figures.told_narrow(caption[0]), FIGURE)
    front.fill(tmp_path, {"toy": both}, SimpleNamespace(rows=[]))
    page = (tmp_path / "index.md").read_text()
    assert page.startswith("Before\n") and page.endswith("After\n")
    assert 'media="all"' in page and "seed 0" not in page
    assert "Top: one. Bottom: another." in page and "icl-" not in page


def test_a_caption_tells_a_narrow_screen_where_the_panels_stand():
    both = figures.BOTH.format("Left", "Top"), figures.BOTH.format("right", "bottom")
    assert figures.told_narrow("Left: one; right: another.") == f"{both[0]}: one; {both[1]}: another."
    assert figures.told_narrow("Left: one row; right: another.") == f"{both[0]}: one row; {both[1]}: another."
    assert figures.told_narrow("Left and middle: one.") == f"{both[0]} and middle: one."
    for caption in ("Top: one. Left: two.", "The line right of it.", "Lower row: the third. Left: one."):
        assert figures.told_narrow(caption) == caption


def test_a_caption_counts_the_panels_of_two_rows_for_a_narrow_screen():
    first, second, third = (
        figures.BOTH.format(*pair) for pair in (("Top", "First"), ("Bottom left", "Second"), ("Bottom right", "Third"))
    )
    found = figures.told_narrow("Top: one. Bottom left: two. Bottom right: three, to the left of it.")
    assert found == f"{first}: one. {second}: two. {third}: three, to the left of it."


def row(code: str, verdict: str = HOLDS, part_of: str = "") -> SimpleNamespace:
    claim = SimpleNamespace(id=f"{code}-{verdict}", confidence=code, part_of=part_of)
    return SimpleNamespace(claim=claim, shown=SimpleNamespace(verdict=verdict), tier="ours" if code in OURS else "paper")


@pytest.mark.parametrize("language", front.TALLY)
def test_the_tally_counts_sentences_and_how_their_words_became_known(language):
    """One finding with each code; of the papers' eight, the slides', press article's, retelling's and memory's are retold."""
    rows = [*(row(code) for code in CODES), row("V", FAILS), row("Q", NOT_REPRODUCED), row("A", NOT_REPRODUCED)]
    rows += [*(row("V2", UNDECIDED, f"part {place}") for place in range(3)), row("V2", HOLDS, "part 0"), row("D", FAILS)]
    numbers = [int(number) for number in re.findall(r"\d+", front.tally(rows, language))]
    by_name = {"holds": 8, "total": 14, "fails": 1, "missing": 2, "undecided": 3, "retold": 4, "findings": 2, "ours": 1}
    order = re.findall(r"{(\w+)}", front.TALLY[language])
    assert numbers == [by_name[name] for name in order]
