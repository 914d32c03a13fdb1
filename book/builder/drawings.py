"""Figures as files: one for both themes, and half as heavy."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

from lxml.html import HtmlElement

NAME = re.compile(r"(figures/[^\s\"#]+)-(light|dark)\.svg")
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
ATTRIBUTE = re.compile(r'="#[0-9a-f]{6}"')
"""A colour outside a style, where SVG knows no variables."""
PROLOGUE = re.compile(r"^.*?(?=<svg\b)|<metadata>.*?</metadata>\s*", re.DOTALL)
BLANK = re.compile(r"(?<=>)\s+(?=<)")
PATH = re.compile(r'(?<=\bd=")[MLQCzZ\d\s.-]+(?=")')
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
STYLE = re.compile(r'style="[^"]*"')
PLACE = re.compile(r'\b[xy]="[^"]*"|translate\([^)]*\)')
LONG = re.compile(r"-?\d+\.\d{3,}")
SHIFT = re.compile(r'(?<=<use )(href="#[^"]*") transform="translate\((\S+) (\S+)\)"(?=/>)')
MARKS = re.compile(r'<g(?P<group>[^<>]*)>(?P<marks>(?:<use [^<>]*style="[^"]*"/>){2,})(?=</g>)')
REFERENCE = re.compile(r'(?<=href="#)[\w.-]+|(?<=url\(#)[\w.-]+')
CLIP = re.compile(r' clip-path="[^"]*"')
CLIPPED = re.compile(r'(?:<path\b(?![^<>]*transform)[^<>]* clip-path="[^<>]*/>){3,}')
ALONE = re.compile(r"<g>((?:<(?:use|path|image)\b[^<>]*/>)*)</g>")
STEP = re.compile(r"([MLQCzZ])([^MLQCzZ]*)")


def one_for_both(folder: Path) -> set[str]:
    """Merge the drawings for the two themes wherever they differ in colours only; the names of all that are merged.

    The dark colours hold where the drawing is asked for as ``NAME.svg#dark``.
    """
    for light in sorted(folder.glob("*-light.svg")):
        name = light.name.removesuffix("-light.svg")
        dark = light.with_name(f"{name}-dark.svg")
        texts = [path.read_text(encoding="utf-8") for path in (light, dark) if path.exists()]
        if both := in_two_themes(*texts) if len(texts) == 2 else "":
            light.with_name(f"{name}.svg").write_text(compact(both), encoding="utf-8")
            light.unlink()
            dark.unlink()
    return {path.stem for path in folder.glob("*.svg") if not path.stem.endswith(("-light", "-dark"))}


def in_two_themes(light: str, dark: str) -> str:
    """One drawing with the colours of both as variables; an empty text where more than colours differs."""
    pairs = list(dict.fromkeys(zip(COLOUR.findall(light), COLOUR.findall(dark), strict=False)))
    changed = {of: to for of, to in pairs if of != to}
    told = len({of for of, _ in pairs}) == len(pairs)  # one counterpart each
    if not told or COLOUR.sub("#", light) != COLOUR.sub("#", dark) or ATTRIBUTE.search(light):
        return ""
    variables = {colour: f"--c{number}" for number, colour in enumerate(changed)}
    both = COLOUR.sub(lambda found: f"var({variables[found[0]]})" if found[0] in variables else found[0], light)
    of_light, of_dark = (
        ";".join(f"{variables[of]}:{shade}" for of, shade in shades.items()) for shades in ({of: of for of in changed}, changed)
    )
    style = f"<style>:root{{{of_light}}}#dark:target{{{of_dark}}}</style>"
    return re.sub(r"(<svg\b)([^>]*>)", rf'\1 id="dark"\2{style}', both, count=1)


def point_to(merged: set[str], tree: HtmlElement) -> None:
    """Let a page ask for the drawings that serve both themes."""

    def place(found: re.Match) -> str:
        if found[1].rpartition("/")[2] not in merged:
            return found[0]
        return f"{found[1]}.svg" + ("#dark" if found[2] == "dark" else "")

    for element in tree.xpath(
        "//*[contains(@src, 'figures/') or contains(@srcset, 'figures/') or contains(@href, 'figures/')]"
    ):
        for attribute in ("src", "srcset", "href"):
            if value := element.get(attribute):
                element.set(attribute, NAME.sub(place, value))


def compact(drawing: str) -> str:
    """The same drawing without metadata, comments and blanks, its paths in steps, a style of many marks told once."""
    bare = BLANK.sub("", COMMENT.sub("", PROLOGUE.sub("", drawing)))
    bare = STYLE.sub(lambda found: found[0].replace("; ", ";").replace(": ", ":"), bare.replace("xlink:href", "href"))
    bare = PLACE.sub(lambda found: LONG.sub(lambda number: _number(round(float(number[0]) * 100)), found[0]), bare)
    bare = CLIPPED.sub(_clipped_once, unwrapped(with_short_names(MARKS.sub(_told_once, bare))))
    bare = SHIFT.sub(_shifted, with_classes(bare))
    return PATH.sub(lambda found: in_steps(found[0]), bare)


def with_short_names(drawing: str) -> str:
    """The same with names of a letter or two, and none for what nothing refers to."""
    asked = dict.fromkeys(REFERENCE.findall(drawing)) | {"dark": None}
    names = {name: name if name == "dark" else _name(k) for k, name in enumerate(asked)}
    drawing = re.sub(r' id="([^"]*)"', lambda found: f' id="{names[found[1]]}"' if found[1] in names else "", drawing)
    return REFERENCE.sub(lambda found: names[found[0]], drawing)


def with_classes(drawing: str) -> str:
    """The same with a class for each style that stands in it more than once."""
    often = [style for style, times in Counter(STYLE.findall(drawing)).items() if times > 1]
    classes = {style: _name(k) for k, style in enumerate(often)}
    rules = "".join(".{}{{{}}}".format(name, style.split('"')[1]) for style, name in classes.items())
    drawing = STYLE.sub(lambda found: f'class="{classes[found[0]]}"' if found[0] in classes else found[0], drawing)
    return re.sub(r"(<svg\b[^>]*>)", rf"\1<style>{rules}</style>", drawing, count=1) if rules else drawing


def unwrapped(drawing: str) -> str:
    """The same without groups that say nothing."""
    while (bare := ALONE.sub(r"\1", drawing)) != drawing:
        drawing = bare
    return drawing


def _told_once(marks: re.Match) -> str:
    """Marks in a group, whose style is that of the group where all have the same."""
    styles = set(STYLE.findall(marks["marks"]))
    if len(styles) > 1 or "style=" in marks["group"]:
        return marks[0]
    return f"<g{marks['group']} {styles.pop()}>" + STYLE.sub("", marks["marks"]).replace(" />", "/>")


def _clipped_once(paths: re.Match) -> str:
    """Paths in a group that is cut where they all are."""
    cuts = set(CLIP.findall(paths[0]))
    return f"<g{cuts.pop()}>{CLIP.sub('', paths[0])}</g>" if len(cuts) == 1 else paths[0]


def _shifted(use: re.Match) -> str:
    """A mark at a place, for one that is moved there."""
    return f'{use[1]} x="{use[2]}"' + (f' y="{use[3]}"' if use[3] != "0" else "")


def in_steps(path: str) -> str:
    """The same path with steps instead of places, to the same hundredth of a point."""
    here = start = (0, 0)
    out, last = [], ""
    for command, told in STEP.findall(path):
        places = [round(float(number) * 100) for number in told.split()]
        pairs = list(zip(places[::2], places[1::2], strict=True))
        if command == "M":
            start, words = pairs[-1], [_number(place) for place in places]
        else:
            words = [_number(side - of) for pair in pairs for side, of in zip(pair, here, strict=True)]
        here = pairs[-1] if pairs else start
        letter = command if command == "M" else command.lower()
        if letter == last and letter in "lqc":
            words[0] = words[0] if words[0].startswith("-") else f" {words[0]}"
        else:
            out.append(letter)
        out.append(re.sub(" -", "-", " ".join(words)))
        last = letter
    return "".join(out)


def _name(k: int) -> str:
    return f"{chr(97 + k % 26)}{k // 26 or ''}"


@cache  # the same few thousand in a million places
def _number(hundredths: int) -> str:
    text = f"{hundredths / 100:.2f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0\.", r"\1.", text) if text not in ("-0", "") else "0"
