"""Formulas about Li et al. are judged at the resolution of their data; laws behind them by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from papers import registry
from papers.li.counted import counted
from papers.li.s1_introduction.nonlinearity import _pooled
from papers.li.s3_2_data_and_tasks import floor
from papers.li.s3_2_data_and_tasks.floor import FLOOR
from papers.li.s3_4_pruning import magnitudes
from papers.li.theory import prompt_length, pruning
from papers.li.trained import train_models

APPROXIMATIONS = [each.id for each in registry.CLAIMS.values() if each.paper == "li" and each.kind == "approximation"]


@pytest.mark.parametrize("claim_id", APPROXIMATIONS)
def test_an_approximation_says_what_it_neglects(claim_id):
    assert registry.CLAIMS[claim_id].told["Neglects"]


def test_hinge_bounds_by_hand():
    assert pruning.hinge_bounds(np.array([0.5, 2.0]), 0.25) == pytest.approx((1 / 16, 7 / 16))


def test_attention_mass_by_hand():
    assert prompt_length.attention_mass(0.0, 1.0, 2) == pytest.approx(2 / 3)  # (1/2 · 1/2 + 1/4 · 1) / (3/4)


def test_counted_errors_have_the_standard_error_of_the_law_and_leave_rare_cells_out():
    law = xr.DataArray([0.5, 0.1, 0.001], dims="l")
    errors = xr.DataArray([[0.4, 0.6], [0.1, 0.2], [0.0, 0.0]], dims=("l", "seed"))
    found = xr.Dataset().assign(counted("error", errors, law, {"twice": 2 * law}, prompts=50, least=0.05))
    assert found.error.values == pytest.approx([0.5, 0.15])
    assert found.error_se.values == pytest.approx([0.05, 0.03])
    assert found.error_se.attrs["blocks"] == 100
    assert found.error_near.sel(mistake="twice").values == pytest.approx([1.0, 0.2])


def test_a_pooled_ratio_by_hand():
    found = xr.Dataset().assign(_pooled(np.array([[1.0, 1.2], [0.9, 0.9]]), {"a tenth less": 0.9}))
    assert found.margin_ratio.values == pytest.approx([1.0, 0.2])
    assert found.margin_ratio_se.values == pytest.approx([0.05, 0.1])  # the rows have variances of the mean 0.01 and 0
    assert found.margin_ratio_se.attrs["blocks"] == 2


def test_a_row_is_silent_by_its_share_of_prompts():
    active = torch.zeros(100, 3, dtype=torch.bool)  # prompts by rows
    active[:1, 1] = active[:2, 2] = True
    assert magnitudes._rarely(active).tolist() == [True, True, False]


def test_the_best_predictor_is_measured_and_not_summed():
    declared = replace(FLOOR.quick, base=replace(FLOOR.quick.base, M1=4), best_prompts=50)
    found = [declared._best(0.5, 2, seed) for seed in range(3)]
    assert len(set(found)) > 1 and all(2 * 50 * each == round(2 * 50 * each) for each in found)


def test_a_share_of_half_alpha_is_what_the_query_is_guaranteed(monkeypatch):
    def lost_with_one_context(model, codes):
        own = (codes.pattern[:, :, :-1] == codes.pattern[:, :, -1:]).sum(-1)
        return (own == 1).double(), own

    monkeypatch.setattr(floor, "_lost", lost_with_one_context)
    setting = replace(FLOOR.quick.base, M1=4, T=0)
    start = train_models((setting,), FLOOR.quick.seeds, 0, "cpu")[0][0]
    _, guaranteed = FLOOR.quick._errors(start, 0.6, 2, 2000, 0)  # one context or two, n binomial (2, 0.3)
    assert guaranteed.mean() == pytest.approx(0.42 / 0.51, abs=0.03)
