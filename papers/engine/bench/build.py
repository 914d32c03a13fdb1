"""What the book's own build took, from the records it keeps; nothing is built here."""

import json
from collections.abc import Iterator
from pathlib import Path

from papers import BOOK
from papers.engine.bench.scale import Scale
from papers.engine.bench.table import Row

EXECUTED = BOOK.build / "executed"
"""Where the build keeps executed notebooks, each with a record, by profile."""


def build(device: str, scale: Scale, folder: Path = EXECUTED) -> Iterator[Row]:
    """Seconds of all notebooks of the last builds here, and of the slowest, by profile."""
    records = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/*/record.json"))}
    for profile in sorted({record["profile"] for record in records.values()}):
        seconds = {path.parent.name: one["seconds"] for path, one in records.items() if one["profile"] == profile}
        slowest = max(seconds, key=seconds.get)
        yield {"what": f"book, {profile}: computing of {len(seconds)} notebooks", "seconds": sum(seconds.values())}
        yield {"what": f"book, {profile}: the slowest, {slowest}", "seconds": seconds[slowest]}
    if not records:
        yield {"what": "book: none has been built here, ./run book does it"}
