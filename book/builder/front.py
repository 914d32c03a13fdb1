"""The front pages, English and Chinese: what the build puts at their marks."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from lxml import html

from book.builder import chinese, failures, landscape
from book.builder.figures import CAPTION, NARROW
from book.builder.ledger import Ledger
from book.builder.pages import raw
from book.builder.site import piece
from book.builder.verdicts import Row, counted, sentences
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED

PAGES = ("index.md", "index.zh.md")
MARK = re.compile(r"<!-- (tally|landscape|failures|figure) ?([\w-]*) -->")
ORIGIN = re.compile(r'<p class="icl-provenance">.*?</p>|<details class="icl-made">.*?</details>', re.DOTALL)
MEDIA = re.compile(r'media="[^"]*"')
TALLY = {
    "": "**{holds} of the {total} sentences of the papers hold**; {fails} fail, {missing} are not reproduced here, and "
    "{undecided} are undecided. {retold} of the {total} are known from slides, notes, retellings or memory alone. "
    "Of the {findings} findings of this book {ours} hold.",
    "zh": "**论文的 {total} 句话中 {holds} 句成立**；{fails} 句不成立，{missing} 句在此未能重现，{undecided} 句未定。"
    "这 {total} 句话中有 {retold} 句只见于幻灯片、笔记、转述或记忆。本书的 {findings} 个发现中 {ours} 个成立。",
}
"""By language; the numbers are counted in the ledger."""
RETOLD = ("S", "T", "P", "M")
"""How the wording of a sentence became known that was read neither in its paper nor as a quotation."""


def fill(book: Path, figures: Mapping[str, str], ledger: Ledger) -> None:
    """Fill the marks of the front pages below `book`; `figures` is the HTML of those on the notebooks' pages, by name."""

    def filled(chinese: bool, mark: re.Match) -> str:
        what, name = mark.groups()
        if what == "tally":
            return tally(ledger.rows, name)
        if what == "figure":
            return raw(beside_text(figures.get(name, ""), chinese))
        return raw(landscape.drawing(ledger.rows, ledger.book) if what == "landscape" else panel(ledger.rows, name))

    for name in PAGES:
        if (page := book / name).exists():
            page.write_text(
                MARK.sub(partial(filled, name.endswith(".zh.md")), page.read_text(encoding="utf-8")), encoding="utf-8"
            )


def beside_text(figure: str, opened: bool) -> str:
    """A figure of another page in its narrow form, without where it came from, its caption's Chinese folded or open."""
    figure = CAPTION.sub(lambda caption: translated(caption[0], opened), figure)
    return NARROW.sub(r"\1", MEDIA.sub('media="all"', ORIGIN.sub("", figure)))


def translated(caption: str, opened: bool) -> str:
    """A caption with its Chinese, while it has the words for wide screens by which it is known."""
    element = piece(caption)
    chinese.fold_below(element, opened)
    return html.tostring(element, encoding="unicode")


def panel(rows: list[Row], language: str = "") -> str:
    """What does not hold: in English with the Chinese folded below, or in Chinese."""
    in_chinese = chinese.panel(rows)
    return in_chinese or failures.panel(rows) if language else failures.panel(rows) + chinese.fold(in_chinese)


def tally(rows: list[Row], language: str = "") -> str:
    """How many sentences of the papers hold, each counted once, and how many findings of ours."""
    found = counted(rows)
    retold = [each for each in sentences(rows) if each.tier == "paper" and each.parts[0].claim.confidence in RETOLD]
    return TALLY[language].format(
        holds=found["paper", HOLDS],
        fails=found["paper", FAILS],
        missing=found["paper", NOT_REPRODUCED],
        undecided=found["paper", UNDECIDED],
        total=sum(count for (tier, _), count in found.items() if tier == "paper"),
        ours=found["ours", HOLDS],
        findings=sum(count for (tier, _), count in found.items() if tier == "ours"),
        retold=len(retold),
    )
