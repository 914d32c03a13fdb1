"""The citation of one figure and of one claim, folded below it: it names the version, the data and their digest."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from lxml.html import HtmlElement

from book.builder.site import Page, by_class, has_class, piece
from book.citation import bibtex
from book.citation.record import Record
from icl_lib.companion import digests
from icl_lib.companion.html import template

DATA = "data"
LEDGER = "ledger.json"


class Citations:
    """What can be cited of one site."""

    def __init__(self, site: Path, record: Record):
        self.site, self.record = site, record
        self._digests: dict[str, str] = {}

    @cached_property
    def homes(self) -> Mapping[str, str]:
        """The address of every claim's card; a card may stand on more than one page."""
        ledger = self.site / LEDGER
        rows = json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else []
        return {f"claim-{row['id']}": row["links"]["card"] for row in rows if "links" in row}

    def add(self, page: Page) -> None:
        """Fold a citation below every figure and on every card of a page."""
        offered = [page.leads_to(link.get("href"))[0] for link in page.article.xpath(".//a[@href]")]
        for element, slug in cited(page):
            name = element.get("id")
            kind, _, own = name.partition("-")
            address = self.homes.get(name, f"{page.path}#{name}")
            data = data_file(offered, slug, self.site)
            entry = bibtex.of_part(
                self.record, f"{ {'fig': 'figure'}.get(kind, kind) } {own}", address, data, self.digest(data)
            )
            element.append(piece(DETAILS.render(entry=entry)))

    def digest(self, data: str) -> str:
        """The SHA-256 of a file of the site."""
        if data not in self._digests:
            self._digests[data] = digests.of_file(self.site / data) if data else ""
        return self._digests[data]


DETAILS = template(
    """
<details class="icl-cite"><summary>cite</summary>
<div class="highlight"><pre>{{ entry }}</pre></div></details>"""
)


def cited(page: Page) -> Iterator[tuple[HtmlElement, str]]:
    """Every figure with data and every card of a page, with its result."""
    for element in list(by_class(page.article, "icl-figure", "icl-card")):
        row = next(element.iterancestors("div"), None)
        slug = element.get("data-slug") if has_class(element, "icl-figure") else row is not None and row.get("data-slug")
        if slug and element.get("id") and page.path.startswith("notebooks/"):
            yield element, slug


def data_file(offered: Iterable[str], slug: str, site: Path) -> str:
    """The file behind a result on a page: the one that is offered there, or that at full scale; empty where there is none."""
    names = [name for name in offered if name.startswith(f"{DATA}/{slug}.") and name.endswith(".nc")]
    found = [*names, *(f"{DATA}/{slug}.{profile}.nc" for profile in ("full", "quick"))]
    return next((name for name in found if (site / name).exists()), "")
