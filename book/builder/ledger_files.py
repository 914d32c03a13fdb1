"""The ledger for machines: JSON and CSV, whose fields `book/ledger.schema.json` explains."""

import csv
import io
import json

from book.builder.failures import because
from book.builder.ledger import Ledger
from book.builder.verdicts import Row
from icl_lib.companion.mathematics import plain

COLUMNS = [
    *("id", "paper", "section", "tier", "kind", "confidence", "verdict", "profile", "value", "margin", "resolution", "slack"),
    *("networks", "number", "control_verdict", "whose", "why", "sentence", "experiment", "card"),
]


def as_object(row: Row, ledger: Ledger) -> dict[str, object]:
    """One row with all that is told about it."""
    claim, one, whose = row.claim, row.shown, because(row)
    return {
        "id": claim.id,
        "paper": claim.paper,
        "section": claim.section,
        "sentence": plain(claim.sentence),
        "confidence": claim.confidence,
        "tier": row.tier,
        "kind": claim.kind,
        "experiment": claim.experiment,
        "verdict": one.verdict,
        "profile": row.profile,
        "resolution": one.resolution,
        "slack": one.slack,
        "slack_reason": plain(claim.slack_reason) or None,
        "part_of": claim.part_of or None,
        "networks": ledger.networks(row),
        "margin": claim.margin,
        "number": ledger.number(row),
        "reason": plain(claim.reason),
        "moved": claim.told.get("Moved"),
        "missing": claim.told.get("Missing"),
        "reasons": {part: plain(text) for part, text in claim.told.items()},
        "does_not_hold": dict(zip(("whose", "why"), whose, strict=True)) if whose else None,
        "recorded": claim.recorded,
        "notebook": f"notebooks/{row.notebook}.ipynb",
        "links": _links(row, ledger),
        "quick": row.quick.as_json(),
        "full": row.full.as_json(),
    }


def _links(row: Row, ledger: Ledger) -> dict[str, object]:
    used = ledger.uses[row.claim.id]
    return {
        "card": row.card,
        "row": f"book/ledger.html#claim-{row.claim.id.lower()}",
        "named_by_claims": used.claims,
        "named_by_pages": [page.address for page in used.pages],
    }


def as_objects(ledger: Ledger) -> list[dict[str, object]]:
    """Every claim as one object."""
    return [as_object(row, ledger) for row in ledger.rows]


def as_json(ledger: Ledger) -> str:
    """What `as_objects` gives, as text, one claim a line."""
    lines = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in as_objects(ledger))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def as_csv(ledger: Ledger) -> str:
    """Every claim as one line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in ledger.rows:
        found = as_object(row, ledger)
        counts = {"value": row.shown.value, "control_verdict": row.shown.control, "card": row.card}
        writer.writerow(found | counts | (found["does_not_hold"] or {}))
    return text.getvalue()
