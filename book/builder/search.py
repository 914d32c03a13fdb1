"""What the search looks through: every section, claim and theorem with its words, in a script, which files may ask for."""

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from lxml.html import HtmlElement

from book.builder.site import FOLDERS, Page, by_class
from papers import PAPERS

PAGE = "search.html"
SPHINX = ("searchtools.js", "language_data.js", "searchindex.js")
"""Sphinx's own search: it knows pages and no sections, and what it found it fetches, which a page that is a file may not do."""
SCRIPTS = ("minisearch-7.2.0.js", "sections.js", "search.js")
SILENT = (
    *("headerlink", "eqno", "icl-cite", "icl-made", "icl-neighbours", "icl-provenance", "icl-claims", "icl-ledger"),
    *("icl-summary", "icl-slim", "icl-chinese"),
)
"""Classes of what stands elsewhere too, is no sentence, or tells how long this build took."""
TIMES = "book/statistics.html"
BLOCKS = ("p", "div", "li", "dt", "dd", "td", "th", "summary", "figcaption", "details")
RAISED = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")


def add(site: Path, pages: Mapping[str, Page]) -> None:
    """Let the search page search: write what it looks through, and ask for it in the place of Sphinx's search."""
    page = pages.get(PAGE)
    if page is None:
        return
    read = [pages[path] for path in sorted(pages) if path.startswith(FOLDERS) and path != TIMES]
    folder = site / "_static" / "search"
    folder.mkdir(parents=True, exist_ok=True)
    rows = ([each.path, titled(each), list(sections(each))] for each in read)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    (folder / "sections.js").write_text(f"globalThis.PAGES = [\n{lines}\n];\n", encoding="utf-8")
    for script in page.tree.xpath("//script[@src]"):
        if any(name in script.get("src") for name in SPHINX):
            script.drop_tree()
    for path in (site / "searchindex.js", *(site / "_static" / name for name in SPHINX)):
        path.unlink(missing_ok=True)
    for script in (*_mathjax(page, pages), *(f"_static/search/{name}" for name in SCRIPTS)):
        page.tree.head.append(page.tree.makeelement("script", {"defer": "defer", "src": page.address_of(script)}))


def sections(page: Page) -> Iterator[tuple[str, str, str]]:
    """Yield every section, claim and theorem of a page: its place on it, its heading and its own words."""
    if page.article is None:
        return
    own = copy.deepcopy(page.article)
    for name in ("pre", "template", "script", "svg", "article/details"):
        for element in own.xpath(f".//{name}"):
            element.drop_tree()
    for element in list(by_class(own, *SILENT)):
        element.drop_tree()
    for power in own.iter("sup"):
        power.text = (power.text or "").translate(RAISED)
    for element in own.iter(*BLOCKS):
        element.tail = f" {element.tail or ''}"
    starts = [element for element in own.iter() if _starts(element)]
    for start in reversed(starts):  # the inner ones first, so that what is left of the outer ones is their own
        heading, text = _heading(start), _words(start)
        start.drop_tree()
        if text or heading:
            yield start.get("id"), heading, text


def titled(page: Page) -> str:
    """The title of a page, with the paper that it is on."""
    wing, _, rest = page.path.removeprefix("notebooks/").partition("_")
    named = not rest or wing not in PAPERS or page.title.startswith(wing.capitalize())
    return page.title if named else f"{wing.capitalize()} · {page.title}"


def _starts(element: HtmlElement) -> bool:
    if not isinstance(element.tag, str) or not element.get("id"):
        return False
    theorem = "proof" in element.classes and element.xpath("./*[contains(@class, 'admonition-title')]/*")
    return bool(element.tag == "section" or element.get("data-claim") or theorem)


def _heading(start: HtmlElement) -> str:
    """Take the heading out of a section or a theorem, or number and verdict out of a claim."""
    for heading in start.xpath("./h1 | ./h2 | ./h3 | ./h4 | ./h5") or list(by_class(start, "icl-head", "admonition-title"))[:1]:
        parts = heading.xpath("./*") if start.get("data-claim") else [heading]
        heading.drop_tree()
        return " · ".join(map(_words, parts))
    return ""


def _words(element: HtmlElement) -> str:
    return " ".join(element.text_content().split())


def _mathjax(page: Page, pages: Mapping[str, Page]) -> Iterator[str]:
    """Yield what a page with formulas loads for them, for what is found has formulas, too."""
    for other in pages.values():
        loads = other.tree.xpath("//script[contains(@src, 'mathjax/')]")
        if loads and other is not page:
            before = loads[0].getprevious()
            for script in (before, loads[0]):
                yield other.leads_to(script.get("src"))[0]
            return
