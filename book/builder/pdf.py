"""The whole book as one PDF: the pages of the built site, one after another, printed by a browser."""

import copy
import re
import shutil
import sys
from pathlib import Path

from lxml.html import HtmlElement

from book.builder.book import answer
from book.builder.layout import Layout
from book.builder.neighbours import reading_order
from book.builder.problem import Problem
from book.builder.render import WHOLE
from book.builder.site import Page, piece, read_site, write_site
from icl_lib.companion.html import template
from icl_lib.companion.writing import write_atomically
from icl_lib.typed import Parser

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 600_000  # milliseconds: there are thousands of formulas
UNPRINTED = "//template | //*[@id='icl-preview'] | //*[contains(@class, 'toctree-wrapper')]"
READY = "async () => { await window.MathJax.startup.promise; await document.fonts.ready; }"
FOOT = """<div style="width: 100%; font-size: 8px; text-align: center; color: #555"><span class="pageNumber"></span></div>"""


def browser() -> str | None:
    """The program of a browser that can be driven, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def one_document(pages: dict[str, Page], static: Path) -> Page:
    """All articles in the book's order as one page; links between them lead to places in it."""
    order = [path for path in reading_order(pages) if path in pages and pages[path].article is not None]
    whole = Page(WHOLE, copy.deepcopy(pages[order[0]].tree))
    body = whole.tree.body
    for part in list(body):
        body.remove(part)
    body.append(piece(BODY.render()))
    for path in order:
        body[0].append(as_chapter(pages[path], whole, set(order)))
    for script in whole.tree.xpath("//script"):
        if not is_for_print(script.get("src", ""), static):
            script.drop_tree()
    whole.tree.set("data-theme", "light")
    return whole


BODY = template('<main class="bd-main"></main>')


def is_for_print(address: str, static: Path) -> bool:
    """Whether a script typesets formulas or opens what is folded."""
    name = address.partition("?")[0].rpartition("/")[2]
    settings = name.startswith("inline-") and "window.MathJax" in (static / name).read_text(encoding="utf-8")
    return settings or name in ("formulas.js", "mathjax.js", "reading.js")


def as_chapter(page: Page, whole: Page, order: set[str]) -> HtmlElement:
    """A page's article with its places and addresses as they are in the whole."""
    article = copy.deepcopy(page.article)
    article.tail = None
    for part in article.xpath(UNPRINTED.replace("//", ".//")):
        part.drop_tree()
    for element in article.iter():
        if not isinstance(element.tag, str):
            continue
        if name := element.get("id"):
            element.set("id", place(page.path, name))
        for attribute in ("href", "src"):
            if (address := element.get(attribute)) and not address.startswith(("data:", "http:", "https:", "mailto:")):
                path, anchor = page.leads_to(address)
                if attribute == "href" and element.tag == "a" and path not in order:
                    del element.attrib["href"]  # paper has no files beside it
                else:
                    element.set(attribute, f"#{place(path, anchor)}" if attribute == "href" else whole.address_of(path, anchor))
    article.set("id", place(page.path, ""))
    return article


def place(path: str, anchor: str) -> str:
    """The identifier in the whole for a place on a page."""
    return re.sub(r"\W", "-", path.removesuffix(".html")) + (f"--{anchor}" if anchor else "")


def write_pdf(layout: Layout) -> Path:
    """Print the built site; the PDF's path."""
    from playwright.sync_api import Error, sync_playwright

    program, target = browser(), layout.build / "icl-companion.pdf"
    if program is None:
        raise Problem(f"Printing needs a browser: one of {', '.join(BROWSERS)} on PATH.")
    if not (layout.html / "index.html").exists():
        raise Problem("There is no site to print; ./run book makes it.")
    whole = one_document(read_site(layout.html), layout.html / "_static")
    try:
        write_site(layout.html, {WHOLE: whole})
        with sync_playwright() as driver, driver.chromium.launch(executable_path=program, args=FLAGS) as started:
            tab = started.new_page(color_scheme="light")
            tab.set_default_timeout(PATIENCE)
            tab.goto((layout.html / WHOLE).as_uri())
            tab.evaluate(READY)
            paper = {"format": "A4", "prefer_css_page_size": False, "margin": dict.fromkeys(("left", "right"), "16mm")}
            paper["margin"] |= dict.fromkeys(("top", "bottom"), "18mm")
            shown = {"display_header_footer": True, "header_template": "<span></span>", "footer_template": FOOT}
            printed = tab.pdf(outline=True, tagged=True, print_background=True, **paper, **shown)
    except Error as error:  # its own kind: the browser did not start, or gave up
        raise Problem(f"The browser did not print: {str(error).strip().splitlines()[0]}") from error
    finally:
        (layout.html / WHOLE).unlink(missing_ok=True)
    write_atomically(target, lambda file: file.write_bytes(printed))
    return target


def main(words: list[str]) -> int:
    Parser(prog="./run pdf", description="Print the book that was built: _build/icl-companion.pdf.").parse_args(words)

    def work(layout: Layout) -> None:
        target = write_pdf(layout)
        print(f"The book is printed: {target.relative_to(layout.root)}, {target.stat().st_size / 1e6:.1f} MB")

    return answer(work, "No page of the book was changed.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
