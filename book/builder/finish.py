"""The last pass over the rendered site: what Sphinx and the theme cannot know, mend, or make light enough."""

import re
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from pathlib import Path

from book.builder import (
    chinese,
    drawings,
    identities,
    lighten,
    mend,
    neighbours,
    policy,
    previews,
    prose,
    published_at,
    search,
    typography,
)
from book.builder.site import Page, as_html, of_html, read_site, sentences, write_site
from book.builder.workers import beside
from book.citation import claim_files, details
from book.citation.record import Record

SCRIPTS = ("reading.js", "previews.js")
KEPT = ("pre", "script", "style", "textarea")
EVENLY = re.compile(r"\n\s*\n\s*")
Light = tuple[set[str], set[str]]
"""The names of pictures that serve both themes, and of tables that are packed."""


def finish(
    site: Path, identity_of: Callable[[str], Mapping[str, str]], record: Record, base: str = "", light: Light | None = None
) -> None:
    """Finish every page of a site, and the files that they ask for.

    `identity_of` tells what a page was made from; `record` is what citations name, and `base` the address where the site is
    published, if it is; `light` what `light_files` gave, where the files have been made light before.
    """
    from book.builder import raster, reading  # a second, with Sphinx

    pages = read_site(site)
    pages[published_at.MISSING] = published_at.missing_page(pages)
    with beside() as pool:
        each_by_itself(site, pages, pool, light or light_files(site))
        together(site, pages, record, base)
        copies = pool.submit(reading.write, site, reading.known(site, pages, base), raster.DRAWN)
        for page in pages.values():
            prose.hold_together(page)
            add_scripts(page)
            identities.sign(page, identity_of(page.path))
            identities.tell_digests(page, site)
            policy.apply(page)
        if base:
            published_at.from_any_depth(pages[published_at.MISSING], base)
        write_site(site, pages)
        lighten.lighten(site, pages.values())
        policy.apply_to_others(site, pages)
        copies.result()


def each_by_itself(site: Path, pages: dict[str, Page], pool: Executor, light: Light) -> None:
    """Do what a page needs no other for, with half of them in a process beside this one."""
    theirs = sorted(pages, key=lambda path: len(pages[path].places))[::2]
    finished = pool.submit(finish_pages, site, {path: as_html(pages[path]) for path in theirs}, light)
    for path, page in pages.items():
        if path not in theirs:
            finish_page(page, site, *light)
    pages |= {path: of_html(path, text) for path, text in finished.result().items()}


def finish_pages(site: Path, texts: Mapping[str, bytes], light: Light) -> dict[str, bytes]:
    """Finish pages that are told as HTML."""
    pages = [of_html(path, text) for path, text in texts.items()]
    for page in pages:
        finish_page(page, site, *light)
    return {page.path: as_html(page) for page in pages}


def finish_page(page: Page, site: Path, merged: set[str], packed: set[str]) -> None:
    """Do what a page needs no other for; `merged` and `packed` as `light_files` gives them."""
    chinese.add(page)
    mend.mend(page, site / "_static")
    typography.set_type(page)
    drawings.point_to(merged, page.tree)
    lighten.point_to(packed, page.tree)
    lighten.plain_code(page)
    lighten.plain_formulas(page)
    without_blanks(page)


def together(site: Path, pages: dict[str, Page], record: Record, base: str) -> None:
    """Let pages lead to one another, cite, and be found."""
    if base:
        published_at.publish(site, pages, base, record.title)  # before words get links and notes
    read = {path: page for path, page in pages.items() if page.article is not None and page.article.xpath(".//h1")}
    neighbours.place(read)
    refer(read)
    details.cite(read.values(), site, record)
    claim_files.write(site, record)
    search.add(site, pages)


def light_files(folder: Path) -> Light:
    """Make pictures and tables lighter."""
    return drawings.one_for_both(folder / "figures"), lighten.light_tables(folder / "data")


def refer(pages: dict[str, Page]) -> None:
    """Make codes into links and words, and show in place what links lead to."""
    claims = claims_of(pages)
    pattern = prose.claim_pattern(set(claims))
    for page in pages.values():
        own = {card.get("data-claim") for card in page.article.xpath(".//*[@data-claim]")}
        if claims:
            prose.link_claims(page, pattern, lambda id, page=page, own=own: place_of(id, page, own, claims))
        prose.explain_codes(page)
    for page in pages.values():
        previews.add_previews(page, pages)
    for page in pages.values():
        prose.fold_proofs(page)


def place_of(id: str, page: Page, own: set[str], claims: dict[str, tuple[str, str]]) -> str:
    """The address of a claim's card, on the page itself if it is there."""
    return f"#claim-{id}" if id in own else page.address_of(*claims[id])


def claims_of(pages: dict[str, Page]) -> dict[str, tuple[str, str]]:
    """Where every claim has its card."""
    cards = [(path, card) for path, page in pages.items() for card in page.article.xpath(".//*[@data-claim][@id]")]
    return {card.get("data-claim"): (path, card.get("id")) for path, card in reversed(cards)}


def without_blanks(page: Page) -> None:
    """Drop the empty lines that templates leave; what is set as code keeps its lines."""
    for owner, which in list(sentences(page.tree, KEPT, blank=True)):
        setattr(owner, which, EVENLY.sub("\n", getattr(owner, which)))


def add_scripts(page: Page) -> None:
    """Ask for the two scripts of the book's own, after the theme's."""
    for name in SCRIPTS:
        script = page.tree.makeelement("script", {"defer": "defer", "src": page.address_of(f"_static/{name}")})
        page.tree.head.append(script)
