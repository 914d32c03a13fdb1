"""What was a claim and is a test: on the stored results, each beside the near miss that has to fail."""

import numpy as np

from papers import registry
from papers.zhang.moved import MOVED


def test_Z13a(stored):
    """In closed form, over all N from 1 upwards."""
    averaged = stored("zhang-averaged-error")
    assert (averaged.best_N == averaged.M).all()
    assert not (averaged.curve_N[-1] == averaged.M).any()


def test_Z19c(stored):
    """Up to the integrator's tolerance of 1e-10; the flow with Lambda in place of Gamma passes the minimum and climbs."""
    flow = stored("zhang-dynamics")
    assert flow.loss.diff("time").max() <= 1e-8
    assert flow.loss_towards_plain.diff("time").max() > 1e-8


def test_Z20b(stored):
    """Rounding leaves about 1e-15; below the loss at the inverse of Lambda there are points."""
    points = stored("zhang-full-loss")
    assert points.excess.min() >= -1e-12
    assert points.excess_over_plain.min() < -1e-12


def test_Z24d(stored):
    """It does not: in dimension 2 the slack falls as kappa grows, in the largest it grows at every step."""
    slack = np.log(stored("zhang-pl").slack)
    assert slack.sel(d=2).diff("kappa").min() < 0
    assert slack.isel(d=-1).diff("kappa").min() > 0


def test_ZF9b(stored):
    """The models run in float32; prompts that are not divided differ."""
    risk = stored("zhang-gpt2-scale").risk
    assert abs(risk.sel(way="own size") / risk.sel(way="own size", c=1.0) - 1).max() <= 1e-3
    assert abs(risk.sel(way="both scaled") / risk.sel(way="both scaled", c=1.0) - 1).max() > 1e-3


def test_every_claim_that_moved_has_its_test_and_is_no_claim_any_more():
    assert {f"test_{claim_id}" for claim_id in MOVED} <= {*globals()}
    assert not MOVED.keys() & registry.CLAIMS.keys() and registry.MOVED.keys() >= MOVED.keys()
    assert registry.MOVED["Z13a"][1] == "tests/papers/zhang/test_zhang_moved.py::test_Z13a"
