"""The rendered pages as trees, with what the finishing steps share: where a link leads, and small pieces of HTML."""

import copy
import posixpath
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import html
from lxml.html import HtmlElement
from markupsafe import Markup

FOLDERS = ("book", "notebooks")
"""Where the pages that a reader reads are; the search page and the index lie above them."""


@dataclass(frozen=True)
class Page:
    """One rendered page: its path below the site and its tree."""

    path: str
    tree: HtmlElement

    @cached_property
    def article(self) -> HtmlElement | None:
        """What the page says, without the theme around it."""
        return next(iter(self.tree.xpath("//article[contains(@class, 'bd-article')]")), None)

    @property
    def title(self) -> str:
        """The name under which the book's contents list this page."""
        return (self.tree.findtext("./head/title") or "").split(" — ")[0].strip()

    @cached_property
    def places(self) -> dict[str, HtmlElement]:
        """Every element that an address can lead to, by its identifier."""
        return {element.get("id"): element for element in reversed(self.tree.xpath("//*[@id]"))}

    def leads_to(self, address: str) -> tuple[str, str]:
        """The path and the anchor that an address on this page stands for; an empty path for one outside the site."""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            return "", ""
        path = (
            posixpath.normpath(posixpath.join(posixpath.dirname(self.path), unquote(parts.path))) if parts.path else self.path
        )
        return path, unquote(parts.fragment)

    def address_of(self, path: str, anchor: str = "") -> str:
        """The address, on this page, of a place on a page of the site."""
        relative = "" if path == self.path else posixpath.relpath(path, posixpath.dirname(self.path) or ".")
        return relative + (f"#{anchor}" if anchor else "")


def read_site(root: Path) -> dict[str, Page]:
    """Every page of the site, by path, in the order of their names."""
    files = [*root.glob("*.html"), *(file for folder in FOLDERS for file in (root / folder).rglob("*.html"))]
    pages = {}
    for file in sorted(files):
        page = of_html(file.relative_to(root).as_posix(), file.read_bytes())
        if page.tree.xpath("//main"):  # not the page that only leads to the first one
            pages[page.path] = page
    return pages


def of_html(path: str, text: bytes) -> Page:
    parser = html.HTMLParser(encoding="utf-8", remove_comments=False, huge_tree=True)
    return Page(path, html.document_fromstring(text, parser=parser))


def as_html(page: Page) -> bytes:
    return html.tostring(page.tree, doctype="<!DOCTYPE html>", encoding="utf-8")


def write_site(root: Path, pages: dict[str, Page]) -> None:
    for page in pages.values():
        (root / page.path).write_bytes(as_html(page) + b"\n")


def piece(markup: Markup | str) -> HtmlElement:
    """One element from HTML that a template wrote."""
    return html.fragment_fromstring(str(markup).strip())


def by_class(tree: HtmlElement, *names: str) -> Iterator[HtmlElement]:
    """Elements below `tree` that have one of these classes."""
    told = " or ".join(
        f"contains(@class, '{name}') and contains(concat(' ', normalize-space(@class), ' '), ' {name} ')" for name in names
    )
    yield from tree.xpath(f"descendant::*[{told}]")


def words(element: HtmlElement) -> int:
    """How many words a reader reads here; a formula counts as one."""
    own = copy.deepcopy(element)
    for formula in list(by_class(own, "math")):
        formula.clear(keep_tail=True)
        formula.text = "x"
    return len(own.text_content().split())


def sentences(
    tree: HtmlElement, tags: Container[str], classes: frozenset[str] = frozenset(), blank: bool = False
) -> Iterator[tuple[HtmlElement, str]]:
    """Every text below `tree`, as its owner with "text" or "tail", but not in elements of these tags and classes.

    Texts of nothing but blanks are left out, unless `blank`.
    """
    if isinstance(tree.tag, str) and tree.tag not in tags and classes.isdisjoint(tree.classes):
        if tree.text and (blank or not tree.text.isspace()):
            yield tree, "text"
        for child in tree:
            yield from sentences(child, tags, classes, blank)
            if child.tail and (blank or not child.tail.isspace()):
                yield child, "tail"


def replace_in(tree: HtmlElement, outside: tuple, pattern: re.Pattern, element: Callable[[str], HtmlElement]) -> None:
    """Put an element in the place of whatever the pattern's first group finds in the `sentences` of `tree`."""
    for owner, which in list(sentences(tree, *outside)):
        text = getattr(owner, which)
        if pattern.search(text):
            parts = pattern.split(text)  # texts and what was found, in turn
            replace_text(owner, which, [element(part) if number % 2 else part for number, part in enumerate(parts)])


def replace_text(owner: HtmlElement, which: str, parts: list[str | HtmlElement]) -> None:
    """Put texts and elements in the place of an element's text or of the text behind it."""
    setattr(owner, which, None)
    parent = owner if which == "text" else owner.getparent()
    before, place = (None, 0) if which == "text" else (owner, parent.index(owner) + 1)
    for part in parts:
        if not isinstance(part, str):
            parent.insert(place, part)
            before, place = part, place + 1
        elif before is None:
            parent.text = (parent.text or "") + part
        else:
            before.tail = (before.tail or "") + part
