"""What the theme gets wrong: for readers with a keyboard or a screen reader, from files, and under a strict security policy."""

import re
from pathlib import Path

from book.builder.site import Page, by_class, piece
from icl_lib.companion import digests
from icl_lib.companion.html import template

ICONS = "fontawesome"
"""The icons come as a font, too, at a tenth of the weight of their scripts."""
CODE = ("", "text/javascript")
DROPPED = re.compile(r"THEBE|thebe|kernelName|DOCUMENTATION_OPTIONS\.pagename|sphinx_highlight")
"""Scripts for a kernel that no page starts, a switch between versions that this book has not, and marks of Sphinx's search."""
WRITES = re.compile(r"\s*document\.write\(`(.*)`\);?\s*", re.DOTALL)
"""Scripts that only write a button, which `companion.css` hides where no script runs."""
SETTINGS = re.compile(r"\s*(?:let|var) ")
THEME = "dataset.theme"
"""What is set before anything is seen."""
CALLED = {"window.print()": "print", "toggleFullScreen()": "fullscreen"}
LETTERS = "Letters on this page"
ROLES = ("doc-biblioentry", "doc-bibliography", "doc-backlink")
"""Roles that are deprecated, or that the element cannot have."""


def mend(page: Page, static: Path) -> None:
    """Mend one page; the code that stood in it goes to files in `static`."""
    take_scripts_out(page, static)
    name_regions(page)
    mend_roles(page)
    mend_tables(page)
    one_kind_of_fold(page)
    name_letters(page)
    name_page(page)
    drop_hints(page)
    unique_ids(page)


def take_scripts_out(page: Page, static: Path) -> None:
    """Leave no code in the page: scripts become files, which wait for the words, and handlers names that `reading.js` knows."""
    for script in page.tree.xpath("//script"):
        code, address = script.text or "", script.get("src", "")
        if DROPPED.search(script.get("type", "") + (address or code)) or ICONS in address:
            script.drop_tree()
        elif written := WRITES.fullmatch(code):
            script.addprevious(piece(written[1]))  # a page that waits here for a file would be seen later
            script.drop_tree()
        elif not address and script.get("type", "") in CODE:
            name = f"inline-{digests.of_text(code)[:8]}.js"
            (static / name).write_text(code.strip() + "\n", encoding="utf-8")
            script.text = None
            script.set("src", page.address_of(f"_static/{name}"))
            if THEME not in code:
                script.set("defer", "")
                if SETTINGS.match(code) and (waiting := page.tree.xpath("//head/script[@defer]")):
                    waiting[0].addprevious(script)  # what reads it may stand before it
        elif address:
            script.set("defer", "")
    for button in page.tree.xpath("//*[@onclick]"):
        button.set("data-call", CALLED[button.attrib.pop("onclick")])


def name_regions(page: Page) -> None:
    """Let every part of the page lie in a landmark with a name."""
    for sidebar in by_class(page.tree, "bd-sidebar-primary"):
        sidebar.set("role", "complementary")
        sidebar.set("aria-label", "The book")
    for form in by_class(page.tree, "bd-search"):
        form.set("role", "search")
    for contents in by_class(page.tree, "onlyprint"):
        contents.drop_tree()  # a second heading and a second table of contents
    for label in by_class(page.tree, "overlay-primary", "overlay-secondary"):
        label.text = label.text or ""
        label.set("aria-hidden", "true")
    for box in by_class(page.tree, "sidebar-toggle"):
        if box.tag == "input":
            box.set("aria-hidden", "true")
            box.set("tabindex", "-1")
    for button in page.tree.xpath("//button[@title][not(@aria-label)]"):
        button.set("aria-label", button.get("title"))


def mend_roles(page: Page) -> None:
    for element in page.tree.xpath("//*[@role]"):
        if element.get("role") in ROLES:
            del element.attrib["role"]
    for entries in by_class(page.tree, "citation-list"):
        entries.attrib.pop("role", None)


def mend_tables(page: Page) -> None:
    """An empty cell heads nothing; a cell that heads a row or a column says which."""
    for cell in page.tree.xpath("//article//th"):
        if not cell.text_content().strip() and not cell.xpath(".//img"):
            cell.tag = "td"
            cell.attrib.pop("scope", None)
        elif not cell.get("scope"):
            cell.set("scope", "col" if cell.xpath("ancestor::thead") else "row")
    for cell in page.tree.xpath("//table[contains(@class, 'indextable')]/descendant-or-self::*[@style]"):
        del cell.attrib["style"]  # the index of Sphinx has its columns' widths there


def one_kind_of_fold(page: Page) -> None:
    """Fold the code of a cell like the code below a figure, named by its words for those who listen, too."""
    for fold in by_class(page.tree, "hide"):
        if fold.tag == "details":
            words = next(by_class(fold, "admonition-title")).text
            fold.set("class", "icl-made")
            fold.replace(fold.find("summary"), piece(SUMMARY.render(words=words)))


SUMMARY = template("<summary>{{ words }}</summary>")


def name_letters(page: Page) -> None:
    """Mark the fold of a page's letters, which a wide screen shows in the margin."""
    for words in by_class(page.tree, "sd-summary-text"):
        if words.text_content().strip() == LETTERS:
            next(words.iterancestors("details")).classes.add("icl-letters")


def name_page(page: Page) -> None:
    """Say of which paper a page is a section or an appendix: each has a 4.1."""
    paper, _, rest = page.path.removeprefix("notebooks/").partition("_")
    title = page.tree.find(".//title")
    if rest and page.path.startswith("notebooks/") and title is not None and re.match(r"\d|Append", title.text or ""):
        title.text = f"{paper.capitalize()} {title.text}"


def drop_hints(page: Page) -> None:
    """Take away what browsers refuse for a page that is a file, and a second or third copy of the same line.

    That there is no icon is said, or a browser asks a server for one.
    """
    if not page.tree.xpath("//link[@rel='icon']"):
        page.tree.head.append(page.tree.makeelement("link", {"rel": "icon", "href": "data:,"}))
    for link in page.tree.xpath("//link[@rel='preload']"):
        link.drop_tree()
    for style in page.tree.xpath("//link[contains(@href, 'thebe')]"):
        style.drop_tree()
    for viewport in page.tree.xpath("//meta[@name='viewport']")[1:]:
        viewport.drop_tree()


def unique_ids(page: Page) -> None:
    """Keep an identifier for its first bearer; the theorems' contents all have the same."""
    seen = set()
    for element in page.tree.xpath("//*[@id]"):
        if element.get("id") in seen or (element.get("id") == "proof-content" and "proof" not in element.classes):
            del element.attrib["id"]
        else:
            seen.add(element.get("id"))
