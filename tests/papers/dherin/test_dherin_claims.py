"""Claims on stored data: wrong theories are rejected."""

import pytest

from icl_lib.companion.verdict import FAILS, HOLDS, Agreement
from papers import registry

CLAIMS = [claim for claim in registry.CLAIMS.values() if claim.paper == "dherin"]


SAMPLED = {"D23d": "step_risk", "D33d": "ceiling", "D43b": "beyond"}
"""Formulas that are compared with samples, and their quantities."""


def test_every_formula_is_one_of_the_sampled(stored):
    assert {claim.id for claim in CLAIMS if claim.kind == "formula"} == SAMPLED.keys()


@pytest.mark.parametrize("sign", (-1, 1))
@pytest.mark.parametrize("claim_id", SAMPLED)
def test_a_wrong_factor_of_twice_the_resolution_is_rejected(claim_id, sign, stored):
    claim, name = registry.CLAIMS[claim_id], f"{SAMPLED[claim_id]}_theory"
    dataset = stored(claim.experiment)
    found = claim.check(dataset)
    assert isinstance(found, Agreement) and 0 < found.resolution < 0.03
    wrong = dataset.assign({name: dataset[name] * (1 + 2 * sign * found.resolution)})
    assert claim.judge(dataset).verdict == HOLDS and claim.judge(wrong).verdict == FAILS


def test_all_near_misses_of_one_gradient_step_are_seen(stored):
    plateau = stored("dherin-plateau")
    for mistake in plateau.mistake.values:
        wrong = plateau.assign(step_risk_theory=plateau.step_risk_near.sel(mistake=mistake))
        assert registry.CLAIMS["D23d"].judge(wrong).verdict == FAILS, mistake
