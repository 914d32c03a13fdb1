"""The boxes *In one minute*, the captions and the panel of what does not hold, in Chinese below the English ones."""

import copy
import re
from functools import cache

import yaml
from lxml import html
from lxml.html import HtmlComment, HtmlElement
from markupsafe import Markup, escape

from book.builder import failures
from book.builder.figures import BOTH, SIDES
from book.builder.site import Page, by_class, piece
from book.builder.verdicts import Row
from book.sentences import BOOK, ID
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.companion.html import template
from icl_lib.companion.mathematics import typeset
from icl_lib.companion.minute import SMALL

TABLE = BOOK / "chinese.yml"
PLACE = re.compile(r"\{(\w+)\}")
ONE = r"(?:(?!\.\s).)+"
"""What can stand at a place of a caption: no end of a sentence."""
NUMBER = re.compile(r"\d+")
VERDICTS = {HOLDS: "成立", FAILS: "不成立", NOT_REPRODUCED: "此处未能重现", UNDECIDED: "未定"}
OF_QUICK = "框中的数字来自 quick 配置，下文中的来自 full 配置。"
TITLES = ("说了什么", "是否成立", "新发现")
PANELS = {"top": "上", "bottom": "下", "left": "左", "right": "右"}
PANELS |= {"first": "第一", "second": "第二", "third": "第三", "fourth": "第四"}
PANEL = re.compile(r"([左右]?[上下]|[左右])图")
"""What a caption calls its panels."""


@cache
def table() -> dict[str, str]:
    """Every English text that has a Chinese one, as it is declared."""
    return {entry["en"]: entry["zh"] for entry in yaml.safe_load(TABLE.read_text(encoding="utf-8"))}


@cache
def shapes() -> dict[str, str]:
    """The English texts of the table by what a page shows of them."""
    return {shape(text): text for text in table()}


def shape(declared: str) -> str:
    """A declared text as a page shows it, with places for claims and, without a name, for numbers."""
    names = PLACE.sub(lambda place: place[0] if ID.fullmatch(place[1]) else "{}", declared)
    return typeset(names).striptags()


def add(page: Page) -> None:
    """Fold into each box *In one minute* its Chinese, where all is translated; claims and numbers are those of the box."""
    for box in by_class(page.tree, "icl-minute"):
        parts = [translated(part) for part in box.iter("dd")]
        if all(parts):
            box.append(piece(fold(BOX.render(parts=zip(TITLES, parts, strict=True), tally=tally(box)))))
    for caption in page.tree.xpath("//figure[contains(@class, 'icl-figure')]/figcaption[not(details)]"):
        fold_below(caption)


def fold_below(caption: HtmlElement, opened: bool = False) -> None:
    """Fold below a caption its Chinese, where there is one."""
    if text := captioned(caption):
        caption.append(piece(fold(text, opened)))


def translated(part: HtmlElement) -> Markup:
    """The Chinese of one part of a box; empty where there is none."""
    shown, places = taken_apart(part)
    declared = shapes().get(shown)
    if declared is None:
        return Markup()
    filled = dict(zip(PLACE.findall(declared), places, strict=True))
    pieces = enumerate(PLACE.split(table()[declared]))
    return Markup().join(filled[text] if odd % 2 else typeset(text) for odd, text in pieces)


def taken_apart(part: HtmlElement) -> tuple[str, list[Markup]]:
    """What a part of a box shows, as `shape` has it, and what stands at its places, in their order."""
    shown, places, inside = part.text or "", [], False
    for child in part:
        if isinstance(child, HtmlComment):
            inside = child.text == "⟨"
            if inside:
                shown, places = f"{shown}{{}}", [*places, escape(child.tail or "")]
        elif inside:
            places[-1] += Markup(html.tostring(child, encoding="unicode"))
        elif "icl-chip" in child.classes:
            shown, places = f"{shown}{{{child.text.split()[0]}}}", [*places, chip(child)]
        else:
            shown += child.text_content()
        shown += "" if inside else child.tail or ""
    return " ".join(shown.split()), places


def captioned(caption: HtmlElement) -> str:
    """The Chinese of a caption, its panels named for wide and narrow screens as in English; empty where there is none."""
    shown, panels = caption_of(caption)
    declared, places = found_in_table(shown)
    text = PLACE.sub(lambda place: escape(places[place[1]]), table().get(declared, ""))
    return PANEL.sub(lambda name: BOTH.format(name[0], f"{panels[name[1]]}图") if name[1] in panels else name[0], text)


def caption_of(caption: HtmlElement) -> tuple[str, dict[str, str]]:
    """What a caption shows on a wide screen, without its list of links, and what its panels are called on a narrow one."""
    own, panels = copy.deepcopy(caption), {}
    for narrow in list(by_class(own, "icl-slim")):
        panels[panel_name(narrow.getprevious().text)] = panel_name(narrow.text)
        narrow.drop_tree()
    for links in own.xpath("./ol"):
        links.drop_tree()
    sides = {panel_name(wide): panel_name(narrow) for wide, narrow in SIDES.items()}
    return " ".join(own.text_content().split()), sides | panels if panels else {}


def panel_name(english: str) -> str:
    """A panel's place in Chinese, such as 左上 for *Top left*."""
    return "".join(PANELS[word] for word in reversed(english.lower().split()))


def found_in_table(shown: str) -> tuple[str, dict[str, str]]:
    """The declared text of the table that is shown as this, and what stands at its places; the text itself if none is."""
    for declared, pattern in patterns().items():
        if found := pattern.fullmatch(shown):
            return declared, found.groupdict()
    return shown, {}


@cache
def patterns() -> dict[str, re.Pattern]:
    """What finds each English text of the table that has no formula in what is shown, its places by name."""
    split = {text: PLACE.split(" ".join(Markup(text).striptags().split())) for text in table() if "$" not in text}
    return {
        text: re.compile("".join(f"(?P<{part}>{ONE})" if odd % 2 else re.escape(part) for odd, part in enumerate(parts)))
        for text, parts in split.items()
        if len({*parts[1::2]}) == len(parts[1::2])
    }


def chip(link: HtmlElement) -> Markup:
    """A claim's chip with its verdict in Chinese."""
    own = copy.deepcopy(link)
    id, _, verdict = own.text.partition(" ")
    own.text, own.tail = f"{id} {VERDICTS[verdict]}", None
    return Markup(html.tostring(own, encoding="unicode"))


def tally(box: HtmlElement) -> Markup:
    """How many claims hold and which do not; empty where a box counts none."""
    for line in by_class(box, "icl-tally"):
        holding, total = NUMBER.findall(line.text)[:2]
        where = "这一部分" if "in this part" in line.text else "本页"
        rest = Markup("，").join(map(chip, line.iter("a")))
        end = f"。{OF_QUICK}" if SMALL in line.text_content() else "。"
        return Markup("{}的 {} 条论断中 {} 条成立{}{}{}").format(where, total, holding, "。其余：" if rest else "", rest, end)
    return Markup()


def panel(rows: list[Row]) -> str:
    """The panel of what does not hold in Chinese; empty where one of its sentences is not translated."""
    try:
        return failures.panel(rows, table().__getitem__)
    except KeyError:
        return ""


def fold(content: str, opened: bool = False) -> str:
    """Chinese behind a switch; nothing where there is none."""
    return FOLD.render(content=Markup(content), opened=opened) if content else ""


FOLD = template(
    '<details class="icl-chinese" lang="zh-Hans"{{ " open" if opened }}><summary>中文</summary>{{ content }}</details>'
)
BOX = template(
    """
<dl>
{% for title, text in parts %}
<dt>{{ title }}</dt><dd>{{ text }}</dd>
{% endfor %}
</dl>
{% if tally %}<p class="icl-tally">{{ tally }}</p>{% endif %}"""
)
