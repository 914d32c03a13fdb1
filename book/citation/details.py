"""The citation of one figure and of one claim, folded below it: it names the version, the data and their digest."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from lxml.html import HtmlElement

from book.builder.site import Page, by_class, piece
from book.citation import bibtex
from book.citation.record import Record
from icl_lib.companion import digests
from icl_lib.companion.html import template

DATA = "data"
LEDGER = "ledger.json"


def cite(pages: Iterable[Page], site: Path, record: Record) -> None:
    """Fold a citation below every figure and on every card of pages of a site."""
    ledger, digest = site / LEDGER, cache(digests.of_file)
    rows = json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else []
    homes = {f"claim-{row['id']}": row["links"]["card"] for row in rows}  # a card may stand on more than one page
    for page in pages:
        offered = [page.leads_to(link.get("href"))[0] for link in page.article.xpath(".//a[@href]")]
        for element, slug in cited(page):
            kind, _, own = (name := element.get("id")).partition("-")
            address, data = homes.get(name, f"{page.path}#{name}"), data_file(offered, slug, site)
            told = f"{'figure' if kind == 'fig' else kind} {own}"
            entry = bibtex.of_part(record, told, address, data, digest(site / data) if data else "")
            element.append(piece(DETAILS.render(entry=entry)))


DETAILS = template(
    """
<details class="icl-cite"><summary>cite</summary>
<div class="highlight"><pre>{{ entry }}</pre></div></details>"""
)


def cited(page: Page) -> Iterator[tuple[HtmlElement, str]]:
    """Every figure with data and every card of a page, with its result."""
    for element in list(by_class(page.article, "icl-figure", "icl-card")):
        row = next(element.iterancestors("div"), None)
        slug = element.get("data-slug") if "icl-figure" in element.classes else row is not None and row.get("data-slug")
        if slug and element.get("id") and page.path.startswith("notebooks/"):
            yield element, slug


def data_file(offered: Iterable[str], slug: str, site: Path) -> str:
    """The file behind a result on a page: the one that is offered there, or that at full scale; empty where there is none."""
    names = [name for name in offered if name.startswith(f"{DATA}/{slug}.") and name.endswith(".nc")]
    found = [*names, *(f"{DATA}/{slug}.{profile}.nc" for profile in ("full", "quick"))]
    return next((name for name in found if (site / name).exists()), "")
