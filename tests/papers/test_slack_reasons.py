"""Every claim that would hold with twice the error says why; those that do not yet are listed, and the lists only shrink."""

from pathlib import Path

import pytest

from icl_lib.companion.verdict import HOLDS
from papers import PAPERS, registry

MOST = 2.0
"""From this factor on a reason is asked for."""


def without_reason(paper: str) -> set[str]:
    """Return the claims of a paper that are let through."""
    path = Path(__file__).parent / paper / "slack_without_reason.txt"
    return set(path.read_text(encoding="utf-8").split()) if path.exists() else set()


@pytest.mark.parametrize("slug", [each.slug for each in registry.EXPERIMENTS.values() if registry.claims_of(each.slug)])
def test_a_claim_with_slack_has_a_reason(slug, stored):
    judged = [claim.judge(stored(slug)) for claim in registry.claims_of(slug)]
    loose = [each for each in judged if each.verdict == HOLDS and each.slack > MOST and not each.claim.slack_reason]
    listed = without_reason(registry.EXPERIMENTS[slug].paper) & {each.claim.id for each in judged}
    found = {each.claim.id: f"{each.slack:.3g}" for each in loose}
    assert found.keys() <= listed, f"their docstrings need Slack: and a reason, or a tighter margin: {found}"
    assert listed <= found.keys(), "these have a reason or no slack now, and leave the list"


def test_the_lists_name_claims():
    for paper in PAPERS:
        assert without_reason(paper) <= {claim.id for claim in registry.CLAIMS.values() if claim.paper == paper}
