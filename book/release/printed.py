"""The printed book with the dates of its commit: what a browser writes of the clock or of what it counts is replaced."""

import re
from datetime import UTC, datetime
from pathlib import Path

from book.citation.record import Edition
from icl_lib.companion import digests
from icl_lib.companion.writing import write_atomically

DATE = re.compile(rb"/(CreationDate|ModDate)\s*\(D:([^)]*)\)")
ID = re.compile(rb"/ID\s*\[\s*<([0-9A-Fa-f]*)>\s*<([0-9A-Fa-f]*)>\s*\]")
NODE = re.compile(rb"\(node(\d{8})\)")
"""A heading of a table, by a number that also counts what the browser happened to look at before."""


def settle(pdf: Path, edition: Edition) -> None:
    """Set the dates and the identifier of a PDF from the commit, and number its nodes from 1; every byte stays where it was."""
    content = pdf.read_bytes()
    numbers = {node: b"%08d" % number for number, node in enumerate(sorted({*NODE.findall(content)}), 1)}
    content = NODE.sub(lambda found: b"(node%b)" % numbers[found[1]], content)
    settled = ID.sub(lambda found: _identified(found, edition), DATE.sub(lambda found: _dated(found, edition), content))
    assert len(settled) == len(content)
    write_atomically(pdf, lambda file: file.write_bytes(settled))


def _dated(found: re.Match, edition: Edition) -> bytes:
    told = datetime.fromtimestamp(edition.seconds, UTC).strftime("%Y%m%d%H%M%S+00'00'").encode()
    return found[0].replace(found[2], told[: len(found[2])].ljust(len(found[2]), b"'"))


def _identified(found: re.Match, edition: Edition) -> bytes:
    told = digests.of_text(edition.commit).encode()
    return found[0].replace(found[1], told[: len(found[1])]).replace(found[2], told[: len(found[2])])
