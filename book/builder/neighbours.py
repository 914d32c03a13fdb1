"""Above and below a page's title: where it stands, how long it takes, what it rests on, and what uses it."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from lxml.html import HtmlElement

from book.builder.site import Page, by_class, piece, words
from icl_lib.companion.html import template

WORDS_A_MINUTE = 200
SHOWN = 8
NUMBERED = re.compile(r"(\d[\d.\-–]*)\s+(?!and\b)(\D+)")
"""A title that is one section's number and name."""
STATEMENTS = ("theorem", "lemma", "assumption", "proposition", "corollary", "definition", "axiom", "conjecture", "remark")
UNREAD = ("cell_input", "icl-card", "icl-made", "icl-table", "toctree-wrapper", "icl-claims", "icl-chinese")
"""What stands on a page and is looked at rather than read."""


@dataclass(frozen=True)
class Reference:
    """One place of another page, as a page refers to it."""

    path: str
    anchor: str
    text: str
    title: str


def place(pages: dict[str, Page]) -> None:
    """Give every page its kicker and its neighbours; `pages` in any order."""
    order = reading_order(pages)
    uses = {
        path: rests_on(page, pages, order) for path, page in pages.items() if path in order and path.startswith("notebooks/")
    }
    users = defaultdict(list)
    for path in sorted(uses, key=order.get):
        for used in dict.fromkeys(reference.path for reference in uses[path]):
            users[used].append(Reference(path, "", pages[path].title, ""))
    for path, page in pages.items():
        kicker(page)
        found = [("rests on", uses.get(path, [])), ("used by", users[path])]
        if any(references for _, references in found):
            below_title(page).addnext(piece(NEIGHBOURS.render(page=page, lists=found, shown=SHOWN)))


NEIGHBOURS = template(
    """
{% macro links(found) %}{% for one in found %}
<a href="{{ page.address_of(one.path, one.anchor) }}"{% if one.title %} title="{{ one.title }}"{% endif %}>{{ one.text }}</a>
{% endfor %}{% endmacro %}
<aside class="icl-neighbours" aria-label="Neighbours of this page">
{% for name, found in lists if found %}
<div><span class="icl-kind">{{ name }}</span><span>{{ links(found[:shown]) }}
{% if found[shown:] %}
<details><summary>{{ found[shown:] | length }} more</summary>{{ links(found[shown:]) }}</details>
{% endif %}</span></div>
{% endfor %}
</aside>"""
)


def reading_order(pages: dict[str, Page]) -> dict[str, int]:
    """The place of every page in the book, as its contents list them."""
    first = pages["book/index.html"]
    listed = [first.leads_to(link.get("href"))[0] for link in first.tree.xpath("//nav[contains(@class, 'bd-links')]//a")]
    return {path: number for number, path in enumerate(dict.fromkeys([first.path, *listed]))}


def rests_on(page: Page, pages: dict[str, Page], order: dict[str, int]) -> list[Reference]:
    """The statements of other pages that this one refers to, most often first, and the pages before it."""
    statements, others = Counter(), Counter()
    texts = {}
    for link in by_class(page.article, "internal"):
        path, anchor = page.leads_to(link.get("href", ""))
        if link.tag != "a" or path == page.path or path not in order or not path.startswith("notebooks/"):
            continue
        target = pages[path].places.get(anchor)
        if target is not None and any(kind in target.classes for kind in STATEMENTS):
            statements[path, anchor] += 1
            texts.setdefault((path, anchor), name_of(target, link))
        elif order[path] < order[page.path]:
            others[path] += 1
    for path, _ in statements:
        others.pop(path, None)
    told = [Reference(*key, texts[key], pages[key[0]].title) for key, _ in statements.most_common()]
    return told + [Reference(path, "", pages[path].title, "") for path, _ in others.most_common()]


def name_of(target: HtmlElement, link: HtmlElement) -> str:
    """What the paper calls a statement, or what the referring page does."""
    title = next(iter(target.xpath("./p[contains(@class, 'admonition-title')]")), None)
    own = re.search(r"\((\w+ [A-Z\d][\w.]*) of the paper\)", title.text_content() if title is not None else "")
    return own[1] if own else link.text_content()


def kicker(page: Page) -> None:
    """Say above the title of a page of which part it is a section, and how many minutes its prose takes."""
    heading = next(iter(page.tree.xpath("//article//h1")), None)
    part = page.tree.xpath("//nav[contains(@class, 'bd-links')]//ul[contains(@class, 'current')]/preceding-sibling::p[1]")
    if heading is None or not part:
        return
    told = [part[0].text_content().strip()]
    if (found := NUMBERED.fullmatch((heading.text or "").strip())) and page.path.startswith("notebooks/"):
        told.append(f"section {found[1]}")
        heading.text = found[2]
    minutes = round(prose_words(page.article) / WORDS_A_MINUTE)
    told += [f"{minutes} minutes"] if minutes > 1 else []
    heading.addprevious(piece(KICKER.render(told=told)))


KICKER = template('<p class="icl-kicker">{{ told | join(" · ") }}</p>')


def prose_words(article: HtmlElement) -> int:
    """The words of the paragraphs and lists that are there to be read."""
    unread = " or ".join(f"contains(@class, '{name}')" for name in UNREAD)
    prose = article.xpath(f".//*[self::p or self::li[not(p)] or self::dd[not(p)]][not(ancestor-or-self::*[{unread}])]")
    return sum(words(part) for part in prose)


def below_title(page: Page) -> HtmlElement:
    """The element below which the neighbours stand: the box with the answer, or the title."""
    heading = page.article.xpath(".//h1")[0]
    section = heading.getparent()
    box = next(by_class(page.article, "icl-minute"), None)
    while box is not None and box.getparent() is not section:
        box = box.getparent()
    return heading if box is None else box
