"""Verdicts: the rule, its edges, and every claim of the registry."""

import dataclasses

import numpy as np
import pytest
import xarray as xr

from icl_lib import registry
from icl_lib.claims.claim import FAILS, HOLDS, UNDECIDED, Claim, Discrepancy, Verdicts, distance_over_seeds, over_seeds


def claim(**changes) -> Claim:
    fields = dict(
        id="Z0", paper="zhang", section="0", sentence="x < 1 & y", confidence="D", kind="bound", experiment="toy",
        margin=0.1, reason="because", check=lambda ds: Discrepancy(ds.x, ds.e), control=lambda ds: ds.assign(x=ds.x + 9),
        control_sentence="x much larger",
    )  # fmt: skip
    return Claim(**fields | changes)


def toy(x, e=0.0) -> xr.Dataset:
    return xr.Dataset({"x": ("i", np.atleast_1d(x)), "e": ("i", np.atleast_1d(e) + 0 * np.atleast_1d(x))})


@pytest.mark.parametrize(
    ("x", "two_se", "verdict"),
    [
        (0.05, 0.0, HOLDS),
        (0.1, 0.0, HOLDS),
        (0.05, 0.06, UNDECIDED),
        (0.15, 0.06, UNDECIDED),
        (0.15, 0.04, FAILS),
        ([0.0, 0.2], 0.01, FAILS),
        ([0.0, 0.09], 0.02, UNDECIDED),
        (np.nan, 0.0, FAILS),
        (0.0, np.nan, FAILS),
        (np.inf, 0.0, FAILS),
        ([], 0.0, FAILS),
    ],
)
def test_the_verdict_rule(x, two_se, verdict):
    assert Discrepancy(np.array(x), np.array(two_se)).verdict(0.1) == verdict


def test_the_number_shown_is_the_worst_case():
    judgement = claim().judge(toy([0.01, 0.04, 0.03], [0.0, 0.0, 0.02]))
    assert (judgement.value, judgement.two_se) == (0.03, 0.02)
    assert judgement.shown_value == "0.03 ± 0.02"
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS)


def test_rounding_is_shown_by_its_bound():
    identity = claim(margin=1e-12)
    assert identity.judge(toy(3e-15)).shown_value == "≤ 1e-12"
    assert identity.judge(toy(3e-9)).shown_value == "3e-09"
    assert claim(margin=0.0).judge(toy(3.0)).shown_value == "3"


def test_a_claim_refuses_another_experiments_data():
    with pytest.raises(ValueError, match="is judged on toy"):
        claim().judge(toy(0.0).assign_attrs(slug="other"))


def test_the_control_leaves_the_data_alone():
    dataset = toy(0.0)
    claim(control=lambda ds: ds.x.__iadd__(9).to_dataset(name="x").assign(e=ds.e)).judge(dataset)
    assert float(dataset.x[0]) == 0.0


def test_the_table_is_escaped_and_says_everything():
    page = Verdicts(claim().judge(toy(0.0)))._repr_html_()
    assert "x &lt; 1 &amp; y" in page and "verdict-holds" in page and "verdict-fails" in page


@pytest.mark.parametrize("claim_id", registry.CLAIMS)
def test_every_claim_is_complete(claim_id):
    claim = registry.CLAIMS[claim_id]
    experiment = registry.EXPERIMENTS[claim.experiment]
    assert claim.paper == experiment.paper
    assert claim.confidence in {"V", "V2", "S", "A", "T", "D", "N", "M"}
    assert claim.recorded in {HOLDS, FAILS}
    for field in dataclasses.fields(claim):
        assert getattr(claim, field.name) not in ("", None), field.name


@pytest.mark.parametrize(
    ("paper", "numbers"), [("Z", range(1, 29)), ("L", range(1, 23)), ("D", sorted({*range(1, 57)} - {49})), ("G", range(1, 5))]
)
def test_every_numbered_claim_of_a_paper_is_here(paper, numbers):
    found = {int("".join(ch for ch in claim_id[1:] if ch.isdigit())) for claim_id in registry.CLAIMS if claim_id[0] == paper}
    assert found >= set(numbers) and found <= {0, *numbers}


def test_seeds_are_averaged_with_their_spread():
    """Values 1, 2, 3, 6 of four models: mean 3, twice the standard error sqrt(14/12)."""
    found = over_seeds(xr.DataArray([[1.0, 0], [2, 0], [3, 0], [6, 0]], dims=("seed", "l")))
    assert found.value.values.tolist() == [3, 0] and found.two_se.values == pytest.approx([2 * (14 / 12) ** 0.5, 0])


def test_the_distance_is_that_of_the_mean_not_the_mean_of_distances():
    """Values -1 and 3: their mean 1 is 1 from 0 and 0 from 1, with twice the standard error 4."""
    values = xr.DataArray([-1.0, 3.0], dims="seed")
    assert distance_over_seeds(values).value == 1 and distance_over_seeds(values, 1.0).value == 0
    assert float(distance_over_seeds(values, 1.0).two_se) == pytest.approx(4)
