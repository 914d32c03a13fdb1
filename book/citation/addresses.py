"""`python -m book.citation.addresses`: the addresses that are promised to stay, `book/addresses.txt`.

A page, a card, a row of the ledger and a figure keep their address from one edition to the next.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from sphinx_external_toc.parsing import parse_toc_yaml

from book.builder.site import read_site
from icl_lib.companion.laid_open import drawing_of
from icl_lib.companion.writing import write_atomically
from papers import registry

FILE = Path(__file__).parents[1] / "addresses.txt"


def promised() -> set[str]:
    """The addresses that stand in the file."""
    return set(FILE.read_text(encoding="utf-8").split()) if FILE.exists() else set()


def of_book(root: Path) -> Iterator[str]:
    """The addresses that the book has as it is declared, without building it."""
    yield from (f"{file}.html" for file in parse_toc_yaml(root / "_toc.yml"))
    for claim in registry.CLAIMS.values():
        yield f"notebooks/{registry.EXPERIMENTS[claim.experiment].notebook}.html#claim-{claim.id}"
    for id in registry.CLAIMS:
        yield f"book/ledger.html#claim-{id.lower()}"
    for slug, experiment in registry.EXPERIMENTS.items():
        if drawing_of(experiment):
            yield f"notebooks/{experiment.notebook}.html#fig-{slug}"


def of_site(site: Path) -> set[str]:
    """The addresses of every page of a built site, and of every place on it."""
    pages = read_site(site)
    return {*pages, *(f"{path}#{place}" for path, page in pages.items() for place in page.places)}


def main() -> int:
    """Add the addresses that are new to the file; none is taken out."""
    before = promised()
    after = before | set(of_book(Path.cwd()))
    write_atomically(FILE, lambda file: file.write_text("\n".join(sorted(after)) + "\n", encoding="utf-8"))
    print(f"{len(after)} addresses are promised, {len(after - before)} of them newly.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
