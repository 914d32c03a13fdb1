"""The decoders of section 4.3: claims on constructed data with planted faults, verdicts of the shipped models, figures."""

import functools

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS, Claim, widened
from icl_lib.seeds import stream
from papers.zhang.s4_3_gpt2 import claims, claims_means
from papers.zhang.s4_3_gpt2 import claims_positions as claims_why
from papers.zhang.s4_3_gpt2.cells import over_trainings
from papers.zhang.s4_3_gpt2.gpt2 import ZHANG_GPT2
from papers.zhang.s4_3_gpt2.gpt2_positions import TABLES
from papers.zhang.s4_3_gpt2.gpt2_prompts import TESTS
from papers.zhang.s4_3_gpt2.gpt2_scale import WAYS

ALL_CLAIMS = [
    value for module in (claims, claims_means, claims_why) for value in vars(module).values() if isinstance(value, Claim)
]

# --- constructed data -----------------------------------------------------------------------------------

FLOORS = {
    "fixed": {"covariance I": 0.05, "c = 1": 0.06, "c = 4": 0.2, "c = 9": 0.5},
    "random": {"covariance I": 0.06, "c = 1": 0.06, "c = 4": 0.1, "c = 9": 0.2},
}
"""Error over that of predicting 0 from d examples on, N = 10."""


@functools.cache
def constructed_curves() -> xr.Dataset:
    """Curves with floors as above, and a jump of 0.8 above N whatever the scale, three times as high for fixed, N = 20."""
    M = np.arange(41)
    zero = np.array([1.0, 1, 4, 9])[:, None, None, None]
    floor = np.array([[FLOORS[trained][test] for trained in FLOORS] for test in TESTS])[:, :, None, None]
    floor = floor * np.array([1.0, 0.8, 0.6])[:, None]
    jump = 0.8 * np.array([[1, 1, 3], [1, 1, 1]])[:, :, None] * (np.array([10, 15, 20])[:, None] < M)
    level = zero * np.maximum(floor, 1 - 0.15 * M) + jump
    spread = 1 + 0.2 * torch.rand((4, 1, 1, 41, 512), generator=stream(0, "spread"), dtype=torch.float64)
    ols = torch.tensor(zero[:, :, 0] * np.maximum(0, 1 - M / 5)).movedim(1, -1).expand(4, 41, 512)
    errors = (torch.tensor(level)[..., None] * spread)[:, :, None].expand(4, 2, 3, 3, 41, 512)
    measured = ZHANG_GPT2.quick.dataset(5, errors, ols, 0)
    return ZHANG_GPT2.quick.expect(measured, 0).assign_attrs(slug="zhang-gpt2")


def constructed_tables() -> xr.Dataset:
    M, row = np.arange(41), np.arange(84)
    level = np.stack([0.05 + 0.9 * (M > 10), 0.05 + 0.8 * (M > 10), 0.05 + 0 * M, 0.9 + 0 * M, 0.055 + 0 * M])
    risk = np.broadcast_to(np.maximum(level, 1 - 0.19 * M), (2, 3, 5, 41))
    jump = risk[..., 11:13].mean(-1) / risk[..., 10]
    moved = np.broadcast_to(1.0 * (row <= 20), (2, 3, 84))
    coords, dims = {"trained": ["fixed", "random"], "table": list(TABLES), "M": M}, ("trained", "run", "table", "M")
    data = {"risk": (dims, risk.copy()), "risk_se": (dims, 0.02 * risk), "row_moved": ((*dims[:2], "row"), moved.copy())}
    data |= {"jump": (dims[:3], jump), "jump_se": (dims[:3], 0.02 * jump), "row_norm": data["row_moved"]}
    return xr.Dataset(data, coords=coords, attrs={"N": 10, "slug": "zhang-gpt2-positions"})


def constructed_scales() -> xr.Dataset:
    c = np.array([1.0, 4, 9])
    ways = np.stack([0.04 * (1 + c), 0.08 * c, 0.02 * (3 + c), 0.08 + 0 * c, 0.09 + 0 * c])
    dims = ("trained", "run", "N", "way", "c")
    risk = np.broadcast_to(ways, (2, 3, 3, 5, 3))
    coords = {"trained": ["fixed", "random"], "N": [10, 15, 20], "way": list(WAYS), "c": c}
    data = {"risk": (dims, risk.copy()), "risk_se": (dims, 0.02 * risk)}
    return xr.Dataset(data, coords=coords, attrs={"slug": "zhang-gpt2-scale"})


CONSTRUCTED = {
    "zhang-gpt2": constructed_curves,
    "zhang-gpt2-positions": constructed_tables,
    "zhang-gpt2-scale": constructed_scales,
}


@pytest.mark.parametrize("claim", ALL_CLAIMS, ids=lambda claim: claim.id)
def test_claims_hold_on_data_made_to_hold(claim):
    judgement = claim.judge(CONSTRUCTED[claim.experiment]())
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), judgement


FAULTS = {
    "ZF1": ({"test": "c = 1", "trained": "random"}, 4.0),
    "ZF1b": ({"test": "covariance I", "trained": "fixed"}, 6.0),
    "ZF2a": ({"test": "c = 1", "trained": "fixed", "N": 15, "M": 15}, 8.0),
    "ZF1c": ({"test": "c = 1", "trained": "random", "N": 20}, 6.0),
    "ZF1d": ({"test": "covariance I", "trained": "fixed"}, 6.0),
    "ZF2b": ({"test": "c = 4", "trained": "fixed", "N": 20}, 0.5),
    "ZF2c": ({"test": "c = 9", "trained": "fixed"}, 0.2),
    "ZF2d": ({"test": "c = 9", "trained": "fixed", "run": 1, "N": 20}, 0.1),
    "ZF4b": ({"test": "c = 9", "trained": "random"}, 0.2),
    "ZF7c": ({"test": "c = 1"}, 2.0, "reach"),
    "ZF4": ({"test": "c = 9", "trained": "random"}, 0.2),
    "ZF5a": ({"test": "c = 1", "trained": "fixed", "N": 15}, 0.1, "jump"),
    "ZF6": ({"test": "c = 1", "trained": "random", "N": 10, "M": 10}, 8.0),
    "ZF7": ({"test": "covariance I", "trained": "fixed", "run": 0, "N": 20}, 0.3),
    "ZF7b": ({"test": "c = 1"}, 2.0, "reach"),
    "ZF8": ({"test": "c = 1", "trained": "random", "N": 20}, 0.05, "jump"),
    "ZF5b": ({"trained": "random", "table": TABLES[4]}, 1.5, "jump"),
    "ZF5d": ({"trained": "fixed", "table": TABLES[1]}, 0.1, "jump"),
    "ZF5e": ({"trained": "fixed", "table": TABLES[3], "M": 10}, 0.05),
    "ZF5f": ({"trained": "fixed", "table": TABLES[2]}, 2.2, "jump"),
    "ZF9a": ({"trained": "fixed", "N": 20, "way": "own size", "c": 9.0}, 2.0),
}
"""The place of a fault, the factor that takes it out of what the claim allows, and the variable if it is not the error."""


@pytest.mark.parametrize("claim_id", FAULTS)
def test_one_bad_place_is_enough(claim_id):
    (claim,) = (each for each in ALL_CLAIMS if each.id == claim_id)
    dataset = CONSTRUCTED[claim.experiment]().copy(deep=True)
    cell, factor, *name = FAULTS[claim_id]
    for each in (*(name or ["risk"]), f"{(name or ['risk'])[0]}_se"):
        dataset[each].loc[cell] *= factor
    assert claim.judge(dataset).verdict == FAILS


def test_a_bad_interval_is_enough():
    dataset = constructed_curves().copy(deep=True)
    dataset.gain.loc[{"test": "c = 4"}] = -1.0
    dataset.gain_lower.loc[{"test": "c = 4"}] = -1.5
    assert claims.ZF3.judge(dataset).verdict == claims_means.ZF3b.judge(dataset).verdict == FAILS


def test_one_bad_pair_is_enough():
    """For the claim on each pair; the mean over seeds is then undecided."""
    dataset = constructed_curves().copy(deep=True)
    dataset.gain.loc[{"test": "c = 4", "run": 1, "N": 15}] = -0.1
    dataset.gain_lower.loc[{"test": "c = 4", "run": 1, "N": 15}] = -0.11
    assert claims_means.ZF3c.judge(dataset).verdict == FAILS != claims_means.ZF3b.judge(dataset).verdict


def test_one_kind_of_trainings_is_no_error_of_another():
    """Two N, 1 and 9, of three seeds that move both by 0.1: the mean is 5, with the scatter of the seeds alone.

    As if the six were independent, it would be less by a factor of √2, and with Student's t of more of them by 2.2.
    """
    value = xr.DataArray([[0.9, 1.0, 1.1], [8.9, 9.0, 9.1]], dims=("N", "run"))
    found = over_trainings(value, 0 * value, "run", "N")
    assert (float(found.value), float(found.two_se)) == pytest.approx((5.0, 2 * widened(3) * 0.1 / 3**0.5))
    single = over_trainings(value.isel(N=[0]), 0 * value.isel(N=[0]), "run")
    assert float(single.two_se[0]) == pytest.approx(2 * widened(3) * 0.1 / 3**0.5)
