"""Every claim that would hold with twice the error says why."""

import pytest

from icl_lib.companion import HOLDS
from icl_lib.companion.slack import LOOSE
from papers import registry


@pytest.mark.long
@pytest.mark.parametrize("slug", [each.slug for each in registry.EXPERIMENTS.values() if registry.claims_of(each.slug)])
def test_a_claim_with_slack_has_a_reason(slug, stored):
    judged = [claim.judge(stored(slug)) for claim in registry.claims_of(slug)]
    loose = [each for each in judged if each.verdict == HOLDS and each.slack > LOOSE and not each.claim.slack_reason]
    found = {each.claim.id: f"{each.slack:.3g}" for each in loose}
    assert not found, f"their docstrings need Slack: and a reason, or a tighter margin: {found}"
