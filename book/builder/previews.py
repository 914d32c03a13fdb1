"""What a reference refers to, kept on the page that refers, to be shown in place."""

import copy

from lxml.html import HtmlElement

from book.builder.site import Page, by_class, piece
from icl_lib.companion.html import template

TOLD_ALREADY = " | ".join(
    f"ancestor::*[contains(@class, 'icl-{name}')]" for name in ("claims", "dots", "failures", "landscape")
)
"""Where a claim's sentence and verdict stand beside its link."""
DROPPED = ("headerlink", "icl-proof", "icl-made", "icl-kicker")


def add_previews(page: Page, pages: dict[str, Page]) -> None:
    """Give every reference on a page to something that can be shown in place its preview."""
    shown: dict[tuple[str, str], str] = {}
    templates = []
    for link in page.article.xpath(".//a[@href]"):
        if "headerlink" in link.classes or link.xpath(TOLD_ALREADY):
            continue
        where = page.leads_to(link.get("href"))
        if where not in shown:
            content = preview(where, page, pages)
            shown[where] = f"preview-{len(templates)}" if content is not None else ""
            if content is not None:
                templates.append(piece(TEMPLATE.render(id=shown[where])))
                templates[-1].append(content)
                templates[-1].append(piece(GO.render(address=page.address_of(*where), title=pages[where[0]].title)))
        if shown[where]:
            link.set("data-preview", shown[where])
    page.article.extend(templates)
    if templates:
        page.article.append(piece(BOX.render()))


TEMPLATE = template('<template id="{{ id }}"></template>')
GO = template('<p class="icl-go"><a href="{{ address }}">Go there</a><span> · {{ title }}</span></p>')
BOX = template('<div id="icl-preview" class="icl-preview" popover="manual" role="note" aria-label="Preview"></div>')


def preview(where: tuple[str, str], page: Page, pages: dict[str, Page]) -> HtmlElement | None:
    """A copy of what stands at a place, for another page; None where it is nothing to show in place."""
    path, anchor = where
    target = pages[path].places.get(anchor) if path in pages else None
    if target is None:
        return None
    if target.get("data-claim"):
        return claim(target, pages[path], page)
    if target.tag == "tr":
        return row(target)
    if anchor.startswith("equation-") or ("proof" in target.classes and "admonition" in target.classes):
        return moved(target, pages[path], page)
    return None


def moved(target: HtmlElement, source: Page, page: Page) -> HtmlElement:
    """A copy without identifiers, its addresses as they read on `page`."""
    own = copy.deepcopy(target)
    own.tail = None
    for extra in list(by_class(own, *DROPPED)):
        extra.drop_tree()
    for element in own.iter():
        if isinstance(element.tag, str):
            for name in ("id", "tabindex", "data-preview"):
                element.attrib.pop(name, None)
            for name in ("href", "src"):
                if (address := element.get(name)) and ":" not in address:
                    element.set(name, page.address_of(*source.leads_to(address)))
    return own


def claim(card: HtmlElement, source: Page, page: Page) -> HtmlElement:
    """A claim's number, sentence and verdict."""
    told = piece(CLAIM.render(verdict=card.get("data-verdict", ""), id=card.get("data-claim")))
    for name in ("icl-says", "verdict"):
        told.extend(moved(part, source, page) for part in list(by_class(card, name))[:1])
    return told


CLAIM = template('<div class="icl-preview-claim" data-verdict="{{ verdict }}"><p><b>{{ id }}</b></p></div>')


def row(target: HtmlElement) -> HtmlElement:
    """A row of a table, its cells named by the table's head."""
    heads = [cell.text_content() for cell in target.xpath("ancestor::table[1]/thead/tr[last()]/*")]
    cells = target.xpath("./*")
    return piece(ROW.render(cells=zip(heads or [""] * len(cells), (cell.text_content() for cell in cells), strict=False)))


ROW = template("<dl>{% for head, cell in cells %}<div><dt>{{ head }}</dt><dd>{{ cell }}</dd></div>{% endfor %}</dl>")
