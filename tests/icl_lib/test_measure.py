"""Estimates, their standard errors, and slopes."""

import numpy as np
import pytest
import torch

from icl_lib.measure import risk
from icl_lib.measure.estimate import mean
from icl_lib.measure.slope import log_log_slope
from icl_lib.models.baselines import OneGradientStep, Zero
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.regression import LinearRegression

LAMBDA = torch.tensor([[2.0, 0.6], [0.6, 0.5]], dtype=torch.float64)
LAW = LinearRegression(LAMBDA)


def test_mean_by_hand():
    """1, 2, 3, 6: mean 3, sample variance 14/3, standard error sqrt(14/12)."""
    estimate = mean(torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64))
    assert estimate.value == pytest.approx(3) and estimate.standard_error == pytest.approx((14 / 12) ** 0.5)
    assert np.ndim(estimate.value) == np.ndim(estimate.standard_error) == 0


def test_mean_takes_the_last_dimension():
    estimate = mean(torch.tensor([[0.0, 2.0], [5.0, 5.0]], dtype=torch.float64))
    assert estimate.value.tolist() == [1, 5] and estimate.standard_error.tolist() == [1, 0]


@pytest.mark.parametrize("size", [0, 1])
def test_one_sample_has_no_standard_error(size):
    with pytest.raises(ValueError, match="at least 2 samples"):
        mean(torch.zeros(size))


@pytest.mark.parametrize("prompts", [1, 7, 13_333, 13_334, 40_001])
def test_exactly_the_prompts_asked_for(prompts):
    errors = risk.squared_errors(Zero(), LAW, prompts=prompts, length=2, seed=0, name="a")
    assert errors.shape == (prompts,) and len(torch.unique(errors)) == prompts


def test_risk_of_predicting_zero_is_the_variance_of_the_label():
    """E <w, x>^2 = tr Lambda = 2.5."""
    value, error = risk.risk(Zero(), LAW, prompts=100_000, length=1, seed=0, name="zero")
    assert abs(value - 2.5) < 5 * error and error < 0.05


def test_standard_error_is_the_spread_of_repeated_estimates():
    estimates = [risk.risk(Zero(), LAW, prompts=500, length=1, seed=s, name="spread") for s in range(200)]
    spread = np.std([e.value for e in estimates], ddof=1)
    assert np.mean([e.standard_error for e in estimates]) == pytest.approx(spread, rel=0.2)


def test_equal_names_pair_the_prompts_and_other_names_do_not():
    def value(step_size, seed, name):
        return risk.risk(OneGradientStep(step_size), LAW, prompts=50, length=3, seed=seed, name=name).value

    assert value(0.1, 0, "a") == value(0.1, 0, "a")
    assert len({value(0.1, 0, "a"), value(0.1, 0, "b"), value(0.1, 1, "a")}) == 3
    zero = risk.risk(Zero(), LAW, prompts=50, length=3, seed=0, name="a").value
    assert value(0.0, 0, "a") == zero


def test_stacked_weights_are_measured_on_the_same_prompts():
    W = torch.randn((2, 3, 3, 3), generator=stream(0, "weights"), dtype=torch.float64)
    arguments = {"prompts": 30, "length": 4, "seed": 0, "name": "stack"}
    stacked = risk.risk(LinearSelfAttention(W[0], W[1]), LAW, **arguments)
    assert stacked.value.shape == stacked.standard_error.shape == (3,)
    for s in range(3):
        alone = risk.risk(LinearSelfAttention(W[0, s], W[1, s]), LAW, **arguments)
        assert stacked.value[s] == pytest.approx(alone.value) and stacked.standard_error[s] == pytest.approx(
            alone.standard_error
        )


def test_log_log_slope_of_a_power():
    x = np.array([0.5, 1.0, 3.0])
    assert log_log_slope(x, np.stack([4 * x**-1.5, x])) == pytest.approx([-1.5, 1.0])


def test_as_many_models_as_prompts_are_measured():
    models = LinearSelfAttention(*torch.zeros(2, 4, 3, 3, dtype=torch.float64))
    assert risk.squared_errors(models, LAW, prompts=4, length=2, seed=0, name="a").shape == (4, 4)
