"""One JSON for each claim, `claims/Z10.json`: what it says, what was found, and the data behind it with their digest."""

import json
from collections.abc import Iterator
from pathlib import Path

from book.citation.record import Record
from icl_lib.companion import digests
from papers import registry

FOLDER = "claims"
SHARED = ("id", "sentence", "section", "kind", "tier", "confidence", "margin", "verdict", "profile", "number", "quick", "full")
"""What is told as the ledger has it."""


def write(site: Path, record: Record) -> None:
    """Write the files of all claims of a site's ledger."""
    ledger = site / "ledger.json"
    (site / FOLDER).mkdir(exist_ok=True)
    for claim in claims(json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else [], site, record):
        text = json.dumps(claim, indent=1, ensure_ascii=False) + "\n"
        (site / FOLDER / f"{claim['id']}.json").write_text(text, encoding="utf-8")


def claims(ledger: list[dict], site: Path, record: Record) -> Iterator[dict]:
    """The claims of a ledger as objects of their own."""
    for row in ledger:
        data = f"data/{row['experiment']}.{row['profile']}.nc"
        yield {name: row[name] for name in SHARED} | {
            "paper": of_paper(row["paper"]),
            "data": {"path": data, "sha256": digests.of_file(site / data)},
            "address": row["links"]["card"],
            "book": {"title": record.title, "version": record.version}
            | ({"commit": record.edition.commit} if record.edition else {}),
        }


def of_paper(key: str) -> dict[str, str]:
    """What names a paper."""
    wing = registry.WINGS[key]
    return {"key": key, "authors": wing.authors, "title": wing.title, "arXiv": getattr(wing, "arXiv", "")}
