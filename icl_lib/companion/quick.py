"""What is committed of the quick profile, verdicts and numbers, by experiment; ``book.builder.quick`` writes it."""

import json
from collections.abc import Mapping
from pathlib import Path

FILE = "quick.json"


def stored_quick(path: Path) -> dict[str, dict]:
    """Return what is committed of the quick profile; nothing where there is no file yet. Raises ValueError of a damaged one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for slug, one in found.items():
            near_claims(found, {"slug": slug, "profile": "quick", "seed": "0", **one})  # reads all that will be read
        return found
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} cannot be read: restore it from git") from error


def near(stored: Mapping[str, dict], slug: str) -> set[str]:
    """Return the claims about a result whose committed numbers are too near their margins for any machine to say the same."""
    return {claim_id for claim_id, one in stored.get(slug, {"claims": {}})["claims"].items() if one["near"]}


def near_claims(stored: Mapping[str, dict], origin: Mapping[str, object]) -> set[str]:
    """Return these claims for a dataset that is made as the committed numbers were, by its attributes; none for another.

    What is stored is of seed 0, and says nothing of another seed:

    >>> from icl_lib.companion.quick import near_claims
    >>> stored = {"coin": {"declaration": "10 tosses", "claims": {"C1": {"near": True}, "C2": {"near": False}}}}
    >>> origin = {"slug": "coin", "profile": "quick", "seed": "0", "declaration": "10 tosses"}
    >>> near_claims(stored, origin), near_claims(stored, origin | {"seed": "1"})
    ({'C1'}, set())
    """
    slug = str(origin.get("slug"))
    declared = (origin.get("profile"), origin.get("seed"), origin.get("declaration"))
    return near(stored, slug) if slug in stored and declared == ("quick", "0", stored[slug]["declaration"]) else set()
