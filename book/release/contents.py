"""What goes into a bundle, and under which names."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from book.builder import lab
from book.builder.layout import COPIES, MARK, Layout
from book.citation import bibtex
from book.citation.record import FILE as CITATION
from book.citation.record import Record
from book.release import crate, deposit
from book.release.archive import Content
from icl_lib.companion.html import template

PDF = "icl-companion.pdf"
PARTS = {
    "html": "html/",
    "pdf": PDF,
    "notebooks": "notebooks/",
    "source": "source/",
    "data": "source/book/data/",
    "weights": "source/book/data/weights/",
    "ledger": "html/ledger.json",
    "claims": "html/claims/",
    "inventory": "html/objects.inv",
    "errata": "source/book/errata.md",
}
"""Where what lies; data and weights are part of the source, and not there twice."""


def gather(layout: Layout, record: Record, source: Iterable[str]) -> dict[str, Content]:
    """Every file of the bundle by name, but for the manifest.

    `layout` is that of the folder with the edition's pages, `source` names the files of its commit.
    """
    files: dict[str, Content] = {
        **{f"source/{name}": layout.root / name for name in source},
        **{f"html/{name}": path for name, path in below(layout.html) if name != MARK},
        **{f"notebooks/{path.name}": lab.content(path) for path in (layout.html / COPIES).glob("*.ipynb")},
    }
    if (printed := layout.build / PDF).exists():
        files[PDF] = printed
    parts = present(files)
    own = {"README.txt": README.render(record=record, parts=parts), CITATION: cited(layout.root, record)}
    own |= {".zenodo.json": deposit.zenodo(record), "codecheck.yml": deposit.codecheck(record, sorted(files))}
    own |= {"citation.bib": bibtex.of_book(record) + "\n", crate.FILE: as_json(crate.described(record, parts, own))}
    return files | {name: text.encode() for name, text in own.items()}


def below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file below a folder, by its path in it."""
    yield from ((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())


def present(files: dict[str, Content]) -> dict[str, str | None]:
    """Where what lies in this bundle; None for what is not there."""
    return {part: place if any(name.startswith(place) for name in files) else None for part, place in PARTS.items()}


def cited(root: Path, record: Record) -> str:
    """The citation record with the commit."""
    return (root / CITATION).read_text(encoding="utf-8").rstrip() + f"\ncommit: {record.edition.commit}\n"


def as_json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


README = template(
    """
{{ record.title }}, {{ record.in_words }}

To read it, open html/index.html in a browser.

{% for part, place in parts.items() %}
{{ "%-10s" % part }} {{ place or "not in this bundle" }}
{% endfor %}

MANIFEST.json names every other file with its size and its SHA-256. Is this what was cited?

    sha256sum MANIFEST.json

has to print the digest of the citation. From a checkout of the repository, or from the folder source,

    ./run verify BUNDLE.zip --sha256 DIGEST

checks every file against it, executes the source, and compares what it computes with what is recorded. It runs code from this
bundle; --sha256 makes sure that it is the code that was cited.
"""
)
