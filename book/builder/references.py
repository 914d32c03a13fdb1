"""What refers to a claim: the claims and the pages whose words name it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml

from book.builder.cache import read_notebook
from book.builder.layout import Layout
from icl_lib.companion import Claim
from papers import registry

NAMED = re.compile(rf"\b({registry.ID})(?:(?:–| to )({registry.ID}))?\b")
SHOWN = re.compile(r"claims\s*=\s*\"([^\"]*)\"")
"""The claims of another page that a cell lays out."""
EXAMPLES = ("how_to_read",)
"""Pages that name claims as examples of a name."""
TRANSLATED = ".zh"
"""How the name of a page ends that says what another says."""


@dataclass(frozen=True)
class Page:
    """A page of the book: its address from the site's root, its heading and its words."""

    name: str
    address: str
    heading: str
    words: str

    @property
    def number(self) -> str:
        """How a heading begins: what stands before its colon, or its section's number, or all of it."""
        numbered = re.match(r"[\d.]+(?:-[\d.]+)?(?=\s)", self.heading)
        before, colon, _ = self.heading.partition(": ")
        return numbered[0] if numbered and not colon else before

    @property
    def label(self) -> str:
        """The page in a few words: of a notebook, its paper's first author and its number."""
        wing = registry.WINGS.get(self.name.partition("_")[0])
        author = re.split("[, ]", wing.authors)[0] if wing else ""
        return f"{author} {self.number}" if self.number[:1].isdigit() else self.number.split(", and ")[0]


def pages(layout: Layout) -> dict[str, Page]:
    """Every page of the table of contents that is written by hand, in its order, by name."""
    found = [_page(layout.root, file) for file in parse_toc_yaml(layout.root / "_toc.yml")]
    return {page.name: page for page in found if page}


def _page(root: Path, file: str) -> Page | None:
    notebook, text = root / f"{file}.ipynb", root / f"{file}.md"
    if notebook.exists():
        cells = read_notebook(notebook).cells
        prose = [cell.source for cell in cells if cell.cell_type == "markdown"]
        shown = [ids for cell in cells if cell.cell_type == "code" for ids in SHOWN.findall(cell.source)]
        return Page(notebook.stem, f"{file}.html", heading("\n".join(prose)), "\n".join([*prose, *shown]))
    if text.exists():
        words = text.read_text(encoding="utf-8")
        return Page(text.stem, f"{file}.html", heading(words), words)
    return None


def heading(text: str) -> str:
    """The first heading of a text in Markdown."""
    found = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    return found[1].strip() if found else ""


def named(text: str, claims: Mapping[str, Claim]) -> set[str]:
    """The claims that a text names, those within a range such as D41–D46 included."""
    return {claim_id for first, last in NAMED.findall(text) for claim_id in _between(first, last, list(claims))}


def _between(first: str, last: str, order: list[str]) -> Iterator[str]:
    if last in order and first in order:
        yield from order[order.index(first) : order.index(last) + 1]
    yield from (each for each in (first, last) if each in order)


@dataclass(frozen=True)
class Uses:
    """The claims and the pages that name a claim."""

    claims: list[str]
    pages: list[Page]


def uses(claims: Mapping[str, Claim], homes: Mapping[str, str], book: Mapping[str, Page]) -> dict[str, Uses]:
    """What names each claim: other claims, and pages other than its own; ``homes`` are the claims' pages by id."""
    by_claim = {claim.id: named(" ".join([claim.sentence, *claim.told.values()]), claims) for claim in claims.values()}
    telling = {name: page for name, page in book.items() if name not in EXAMPLES and not name.endswith(TRANSLATED)}
    by_page = {name: named(page.words, claims) for name, page in telling.items()}
    return {
        each: Uses(
            [other for other, ids in by_claim.items() if each in ids and other != each],
            [book[name] for name, ids in by_page.items() if each in ids and name != homes[each]],
        )
        for each in claims
    }
