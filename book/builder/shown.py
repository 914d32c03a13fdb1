"""What cells have shown, for any viewer of notebooks: pictures as PNG, boxes and cards as Markdown, tables as bare HTML.

What a machine may change stays between marks, in comments, which no viewer shows. A line that begins with a comment would be
HTML to the last letter, so none does.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import nbformat
from lxml import html
from lxml.html import HtmlElement
from nbformat.v4 import new_output

from book.builder import raster
from book.builder.commonmark import quoted
from book.builder.figures import IMAGE, html_outputs
from book.builder.site import by_class
from icl_lib.companion.strip import WIDTH

Address = Callable[[str, str], str]
"""Where a page of the site, and a place on it, is found from a notebook; an empty text where no address leads there."""
BEGINS, ENDS = "<!--⟨-->", "<!--⟩-->"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
SPECIAL = re.compile(r"[\\`*_\[\]<$]")
AROUND = {"b": "**{}**", "strong": "**{}**", "i": "*{}*", "em": "*{}*", "sub": "<sub>{}</sub>", "sup": "<sup>{}</sup>"}
AROUND |= dict.fromkeys(("small", "span", "ins"), "{}")
ACROSS = re.compile(r"[MH](-?[\d.]+)")
"""Where a line of a strip begins and ends, from left to right."""
COLUMNS = 24


def plain_output(output: nbformat.NotebookNode, address: Address) -> Iterator[nbformat.NotebookNode]:
    """An output as one or more that need neither style nor SVG; their text/plain stays."""
    data = output.get("data", {})
    if "text/html" not in data:
        yield output
        return
    for part in html.fragments_fromstring(unhidden(data["text/html"]), no_leading_text=True):
        part.tail = None
        if "icl-figure" in part.classes:
            yield from picture(part, data["text/plain"], address)
        else:
            told = next((told for name, told in TOLD.items() if name in part.classes), None)
            shown = {"text/markdown": hidden(told(part, address))} if told else {"text/html": hidden(bare(part))}
            yield new_output("display_data", {**shown, "text/plain": data["text/plain"]})


def unhidden(markup: str) -> str:
    """HTML with marks that have an element of their own in the place of comments, and without other comments."""
    return COMMENT.sub("", markup.replace(BEGINS, "<ins>⟨").replace(ENDS, "⟩</ins>"))


def hidden(text: str) -> str:
    """Markdown or HTML with marks that are not seen."""
    return text.replace("⟨", BEGINS).replace("⟩", ENDS)


def draw_ahead(notebooks: Iterable[Path]) -> raster.Drawn:
    """Draw the pictures of executed notebooks; all that `raster` has drawn, for another process."""
    for notebook in notebooks:
        for data in html_outputs(nbformat.read(notebook, as_version=4), "icl-figure"):
            for image in IMAGE.finditer(data["text/html"]):
                raster.png(image["wide"])
    return raster.DRAWN


def picture(figure: HtmlElement, plain: str, address: Address) -> Iterator[nbformat.NotebookNode]:
    """A figure's picture, with its alternative text, and its caption."""
    image = figure.xpath(".//img")[0]
    pixels, width = raster.png(image.get("src").partition(",")[2])
    told = {"image/png": {"alt": image.get("alt"), "width": width}}
    yield new_output("display_data", {"image/png": pixels, "text/plain": plain}, metadata=told)
    caption = figure.find(".//figcaption")
    yield new_output("display_data", {"text/markdown": hidden(words(caption, address)), "text/plain": caption.text_content()})


def bare(element: HtmlElement) -> str:
    """A table without the classes that only the book's style knows."""
    for each in element.iter():
        each.attrib.pop("class", None)
    return html.tostring(element, encoding="unicode").replace("<ins>", "").replace("</ins>", "")


def words(element: HtmlElement, address: Address) -> str:
    """A sentence in Markdown."""
    parts = [escaped(element.text)]
    for child in element:
        parts += [_piece(child, address), escaped(child.tail)]
    return "".join(parts).strip()


def escaped(text: str | None) -> str:
    return SPECIAL.sub(r"\\\g<0>", text or "")


def _piece(element: HtmlElement, address: Address) -> str:
    if "math" in element.classes:
        return f"${element.text_content().removeprefix(chr(92) + '(').removesuffix(chr(92) + ')').strip()}$"
    if element.tag == "code":
        return f"`{element.text_content()}`"
    inner = words(element, address)
    if element.tag == "a":
        return _linked(inner, element.get("href"), address)
    return AROUND["b" if "verdict" in element.classes else element.tag].format(inner)


def _linked(inner: str, link: str, address: Address) -> str:
    """A link to another page; a card stands without an anchor among its notebook's outputs."""
    path, _, anchor = link.partition("#")
    if not path:
        return f"**{inner}**"
    if not path.startswith("http"):
        path = address(path.removeprefix("../") if path.startswith("../") else f"notebooks/{path}", anchor)
    return f"[{inner}]({path})" if path else inner


def minute(box: HtmlElement, address: Address) -> str:
    """The answer of a section as a quotation."""
    parts = [f"**{words(title, address)}** {words(title.getnext(), address)}" for title in box.iter("dt")]
    tally = [words(line, address) for line in by_class(box, "icl-tally")]
    return quoted("\n\n".join(["**In one minute**", *parts, *tally]))


def cards(shown: HtmlElement, address: Address) -> str:
    """A card for each claim, parted by lines."""
    return "\n\n---\n\n".join(card(each, address) for each in shown.iter("article"))


def card(claim: HtmlElement, address: Address) -> str:
    """A claim with its verdict, its number as a text and as a place, and folded how it is judged."""
    lines, place = [escaped(claim.text).strip()], ""
    for part in claim:
        if part.tag == "ins":
            place = "".join(f"⟨`{strip(drawn)}`⟩" for drawn in part.iter("svg"))
        elif part.tag == "details":
            entries = [f"- **{words(title, address)}**: {words(title.getnext(), address)}" for title in part.iter("dt")]
            lines.append("\n".join([f"<details>\n<summary>{part.findtext('summary')}</summary>\n", *entries, "\n</details>"]))
        elif "icl-found" in part.classes:
            found = [_piece(each, address) for each in part]
            lines.append(" · ".join(filter(None, [f"number {found[0]}", *found[1:], place])))
        elif part.xpath("./span[not(@class)]"):
            lines.append(" · ".join(_piece(each, address) for each in part))
        else:
            lines.append(words(part, address))
    return "\n\n".join(filter(None, lines))


def strip(drawn: HtmlElement) -> str:
    """A strip in characters: what is allowed as a bar, the number as a dot in its interval, the near miss as a diamond."""
    at = {each.get("class"): [_column(x) for x in ACROSS.findall(each.get("d", ""))] for each in drawn}
    (edge,), (first, last) = at["edge"], at["spread"]
    line = ["─" if place < edge else "·" for place in range(COLUMNS)]
    line[first : last + 1] = "━" * (last + 1 - first)
    line[0], line[edge] = "├", "┤"
    for place in at.get("miss", ()):
        line[place] = "◇"
    line[_column(next(by_class(drawn, "dot")).get("cx"))] = "●"
    return "".join(line)


def _column(across: str) -> int:
    return min(int(float(across) / WIDTH * COLUMNS), COLUMNS - 1)


TOLD = {"icl-minute": minute, "icl-cards": cards}
"""What becomes Markdown, by its class."""
