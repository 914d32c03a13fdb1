"""What is committed of the quick profile, verdicts and numbers, by experiment; ``book.builder.quick`` writes it."""

import json
from collections.abc import Mapping
from pathlib import Path

FILE = "quick.json"


def stored_quick(path: Path) -> dict[str, dict]:
    """Return what is committed of the quick profile; nothing where there is no file yet. Raises ValueError of a damaged one."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} cannot be read: restore it from git") from error


def near(stored: Mapping[str, dict], slug: str) -> set[str]:
    """Return the claims about a result whose committed numbers are too near their margins for any machine to say the same."""
    return {claim_id for claim_id, one in stored.get(slug, {"claims": {}})["claims"].items() if one["near"]}


def near_claims(stored: Mapping[str, dict], origin: Mapping[str, object]) -> set[str]:
    """Return these claims for a dataset that is made as the committed numbers were, by its attributes; none for another."""
    slug = str(origin.get("slug"))
    declared = (origin.get("profile"), origin.get("seed"), origin.get("declaration"))
    return near(stored, slug) if slug in stored and declared == ("quick", "0", stored[slug]["declaration"]) else set()
