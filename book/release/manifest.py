"""`MANIFEST.json`: what a bundle is, and every file in it with its size and its SHA-256."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from book.citation.record import Record
from book.release.archive import Content, read
from icl_lib.companion import digests

FILE = "MANIFEST.json"


def text(files: Mapping[str, Content], record: Record, parts: Mapping[str, str | None]) -> bytes:
    """The manifest of the files; `parts` says where what lies, or None of what is not there."""
    told = {
        "title": record.title,
        "version": record.version,
        "commit": record.edition.commit,
        "date": datetime.fromtimestamp(record.edition.seconds, UTC).isoformat(),
        "profile": "full",
        "parts": dict(parts),
        "files": [listed(name, read(files[name])) for name in sorted(files)],
    }
    return (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()


def listed(name: str, content: bytes) -> dict[str, object]:
    """One file, as the manifest has it."""
    return {"path": name, "size": len(content), "sha256": digests.of_bytes(content)}
