"""Claims on stored data: wrong theories are rejected, and verdicts over few networks stand with Student's factor."""

import pytest
import xarray as xr
from scipy.special import stdtrit

from icl_lib.companion import verdict
from icl_lib.companion.verdict import FAILS, HOLDS, Agreement, Discrepancy
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


def student(values: xr.DataArray, dim: str) -> Discrepancy:
    """The mean with Student's interval of 95% in place of two standard errors."""
    n = values.sizes[dim]
    return Discrepancy(values.mean(dim), stdtrit(n - 1, 0.975) * values.std(dim, ddof=1) / n**0.5)


def test_verdicts_over_trained_networks_stand_with_students_factor(stored, monkeypatch):
    """With three networks it is 4.3; two standard errors cover 82%."""
    monkeypatch.setattr(verdict, "over", student)
    datasets = {slug: stored(slug) for slug in {claim.experiment for claim in CLAIMS}}
    trained = [claim for claim in CLAIMS if datasets[claim.experiment].trains == "True"]
    judged = {claim.id: claim.judge(datasets[claim.experiment]) for claim in trained}
    assert {"D17d", "D23c", "D26", "D29e", "D31b", "D32f"} <= judged.keys()
    assert all(judgement.verdict == judgement.claim.recorded for judgement in judged.values())
