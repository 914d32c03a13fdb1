"""BibTeX entries: for the book, for a claim and a figure of it, and for the papers as the bibliography has them."""

import re
from collections.abc import Mapping
from pathlib import Path

from book.citation.record import Record

KEY = "icl_companion"


def entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    """One entry; a field that is empty is left out."""
    told = {name: value for name, value in fields.items() if value}
    lines = (f"  {name} = {{{value}}}" for name, value in told.items())
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def of_book(record: Record, manifest: str = "", address: str = "") -> str:
    """The entry of the whole book; ``manifest`` is the digest of its bundle's manifest, where that is known."""
    note = [f"Commit {record.edition.commit}" if record.edition else "", manifest and f"SHA-256 of MANIFEST.json: {manifest}"]
    own = {"title": record.title, "note": ". ".join(filter(None, note)), "doi": record.doi, "url": address}
    return entry("software", KEY, _of_record(record) | own)


def of_part(record: Record, name: str, address: str, data: str, digest: str) -> str:
    """The entry of one claim or figure: where it stands, and the file of data behind it with its SHA-256."""
    part = name.rpartition(" ")[2]
    commit = f"Commit {record.edition.commit[:12]}. " if record.edition else ""
    own = {
        "title": f"{name[0].upper()}{name[1:]} of: {record.title}",
        "howpublished": address,
        "note": f"{commit}Data: {data}, SHA-256 {digest}" if data else commit.rstrip(". "),
        "doi": record.doi,
    }
    return entry("misc", f"{KEY}_{part}", _of_record(record) | own)


def of_paper(bibliography: Path, key: str) -> str:
    """The entry of a paper as it stands in the bibliography."""
    found = re.search(rf"^@\w+\{{{re.escape(key)},.*?^\}}", bibliography.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if not found:
        raise KeyError(f"{bibliography.name} has no entry {key}")
    return found[0]


def _of_record(record: Record) -> dict[str, str]:
    """The fields that all entries share; a group's name is no family name and keeps its braces."""
    groups = {name_: f"{{{name_}}}" for name_ in record.authors if "," not in name_}
    authors = " and ".join(groups.get(name, name) for name in record.authors)
    return {"author": authors, "title": record.title, "version": record.version, "year": record.year}
