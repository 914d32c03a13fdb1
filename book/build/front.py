"""The front pages, English and Chinese: what the build puts at their marks."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from book.build import failures, landscape
from book.build.ledger import Ledger
from book.build.pages import raw
from book.build.verdicts import Row
from icl_lib.companion.verdict import FAILS, HOLDS, NOT_REPRODUCED

PAGES = ("index.md", "index.zh.md")
MARK = re.compile(r"<!-- (tally|landscape|failures|figure) ?([\w-]*) -->")
ORIGIN = re.compile(r'<p class="icl-provenance">.*?</p>|<details class="icl-made">.*?</details>', re.DOTALL)
MEDIA = re.compile(r'media="[^"]*"')
SIDES = {"Left:": "Above:", "Right:": "Below:"}
"""What a caption calls the two panels of a picture, and where they stand in its narrow form."""
TALLY = {
    "": "**{holding} of {total} claims hold**: {papers} of the {of_papers} sentences of the papers, {ours} of the "
    "{of_ours} findings of this book. {failing} fail, and {missing} are not reproduced at the scale or in the setting "
    "of this book.",
    "zh": "**{total} 个论断中 {holding} 个成立**：论文自己的 {of_papers} 句中 {papers} 句，"
    "本书的 {of_ours} 个发现中 {ours} 个。{failing} 个不成立，{missing} 个在本书的规模或设定下没有重现。",
}
"""By language; the numbers are counted in the ledger."""


def fill(book: Path, figures: Mapping[str, str], ledger: Ledger) -> None:
    """Fill the marks of the front pages below `book`; `figures` is the HTML of those on the notebooks' pages, by name."""

    def filled(mark: re.Match) -> str:
        what, name = mark.groups()
        if what == "tally":
            return tally(ledger.rows, name)
        if what == "figure":
            return raw(beside_text(figures.get(name, "")))
        return raw(landscape.drawing(ledger.rows, ledger.book) if what == "landscape" else failures.panel(ledger.rows))

    for name in PAGES:
        if (page := book / name).exists():
            page.write_text(MARK.sub(filled, page.read_text(encoding="utf-8")), encoding="utf-8")


def beside_text(figure: str) -> str:
    """A figure of another page in its narrow form, without where it came from."""
    bare = MEDIA.sub('media="all"', ORIGIN.sub("", figure))
    return re.sub("|".join(SIDES), lambda side: SIDES[side[0]], bare)


def tally(rows: list[Row], language: str = "") -> str:
    """How many claims hold, in a sentence."""
    found = Counter(row.shown.verdict for row in rows)
    tiers = {ours: [row.shown.verdict for row in rows if row.claim.ours == ours] for ours in (True, False)}
    return TALLY[language].format(
        holding=found[HOLDS], total=len(rows), failing=found[FAILS], missing=found[NOT_REPRODUCED],
        papers=tiers[False].count(HOLDS), of_papers=len(tiers[False]),
        ours=tiers[True].count(HOLDS), of_ours=len(tiers[True]),
    )  # fmt: skip
