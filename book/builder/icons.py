"""The font of icons with the icons that the pages show: a phone waits for it before the first formula, and it has 1400."""

import re
from collections.abc import Collection
from functools import partial
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from book.builder.site import Page, by_class

SHEET = "vendor/fontawesome/*/css/all.min.css"
FONTS = {"brands": ("fab", "fa-brands"), "regular": ("far", "fa-regular"), "solid": ("fa", "fas", "fa-solid")}
"""The font of an icon, by the classes that choose it."""
NAME = re.compile(r"\bfa-[a-z\d-]+")
SIGN = re.compile(r'"(?:\\([ef][\da-f]{3})|([\ue000-\uf8ff]))"')
"""A character of an icon in a style sheet, by its number or itself."""
RULE = re.compile(r"([^{}]*)\{[^{}]*\}")
GROUP = re.compile(r"@(?:-webkit-)?(?:keyframes|media)[^{}]*\{(?:[^{}]*\{[^{}]*\})*\}")
"""How icons turn and jump, which none does."""
FACE = re.compile(r"@font-face\{[^{}]*\}")
SOURCE = re.compile(r"src:url\(\.\./webfonts/(fa-(\w+)-\d+)\.woff2\)[^;}]*")


def keep_shown(static: Path, pages: Collection[Page]) -> None:
    """Leave of the icons' style sheet and fonts what a page, a script of the theme or another style sheet asks for."""
    for sheet in static.glob(SHEET):
        named = names(static, pages)
        rules = without_others(sheet.read_text(encoding="utf-8"), named)
        others = [path.read_text(encoding="utf-8") for path in static.rglob("*.css") if path != sheet]
        signs = {ord(sign) if sign else int(code, 16) for text in (rules, *others) for code, sign in SIGN.findall(text)}
        kept = {font for font in FONTS if font == "solid" or _shows(pages, font)}
        sheet.write_text(FACE.sub(partial(in_woff, kept), rules), encoding="utf-8")
        for font in kept:
            for whole in sheet.parent.parent.glob(f"webfonts/fa-{font}-*.ttf"):
                subset(whole, signs)


def names(static: Path, pages: Collection[Page]) -> set[str]:
    """The classes of icons that the pages have, and those that scripts give."""
    icons = (icon for page in pages for icon in by_class(page.tree, *(name for of in FONTS.values() for name in of)))
    scripts = (path.read_text(encoding="utf-8") for path in static.rglob("*.js") if "vendor" not in path.parts)
    return {name for text in (*(icon.get("class") for icon in icons), *scripts) for name in NAME.findall(text)}


def _shows(pages: Collection[Page], font: str) -> bool:
    return any(True for page in pages for _ in by_class(page.tree, *FONTS[font]))


def without_others(rules: str, named: Collection[str]) -> str:
    """A style sheet without the rules for icons, sizes and movements that have no name here."""

    def if_named(rule: re.Match) -> str:
        asked = NAME.findall(rule[1])
        return rule[0] if not asked or {*asked} & {*named} else ""

    return RULE.sub(if_named, GROUP.sub("", rules))


def in_woff(kept: Collection[str], face: re.Match) -> str:
    """A font's rule that asks for the smaller file; an empty text where there is none."""
    found = SOURCE.search(face[0])
    return SOURCE.sub(r'src:url(../webfonts/\1.woff) format("woff")', face[0]) if found and found[2] in kept else ""


def subset(font: Path, signs: Collection[int]) -> None:
    """Write a font with these characters alone beside it, in a format that needs no further library."""
    with TTFont(font, recalcTimestamp=False) as whole:
        chosen = Subsetter(Options(flavor="woff", layout_features=[], hinting=False))
        chosen.populate(unicodes=signs)
        chosen.subset(whole)
        whole.flavor = "woff"
        whole.save(font.with_suffix(".woff"))
