"""Every claim on its stored result: with twice the error it says why it holds, and what is no number holds none."""

import numpy as np
import pytest

from icl_lib.companion import HOLDS, Agreement
from icl_lib.companion.slack import LOOSE, _asked
from papers import registry

SLUGS = [each.slug for each in registry.EXPERIMENTS.values() if registry.claims_of(each.slug)]


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_a_claim_with_slack_has_a_reason(slug, stored):
    judged = [claim.judge(stored(slug)) for claim in registry.claims_of(slug)]
    loose = [each for each in judged if each.verdict == HOLDS and each.slack > LOOSE and not each.claim.slack_reason]
    found = {each.claim.id: f"{each.slack:.3g}" for each in loose}
    assert not found, f"their docstrings need Slack: and a reason, or a tighter margin: {found}"


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_a_variable_without_numbers_holds_no_claim_that_reads_it(slug, stored):
    dataset, silent = stored(slug), []
    for claim in registry.claims_of(slug):
        before = claim.check(dataset)
        if isinstance(before, Agreement) or before.verdict(claim.margin) != HOLDS:
            continue  # an agreement looks at all that it reads
        for name, values in _asked(claim.check, dataset, before).items():
            if values.dtype.kind == "f" and _held(claim, dataset.assign({name: values * np.nan})):
                grown = values * np.linspace(1.5, 3, values.size).reshape(values.shape)
                found = claim.check(dataset.assign({name: grown}))
                if not (np.array_equal(found.value, before.value) and np.array_equal(found.two_se, before.two_se)):
                    silent.append(f"{claim.id} without {name}")
    assert not silent, "sum, average and compare so that NaN stays: skipna=False, np.maximum, ~(x > 0)"


def _held(claim, dataset) -> bool:
    try:
        return claim.check(dataset).verdict(claim.margin) == HOLDS
    except (ArithmeticError, LookupError, ValueError):
        return False
