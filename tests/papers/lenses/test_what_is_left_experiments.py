"""What is left: claims hold at another seed, and fail where their controls break the data."""

from dataclasses import replace

import numpy as np
import pytest

from icl_lib.companion import FAILS, Claim
from papers.dherin.theory.finetuning import mean_cosine
from papers.lenses.s4_what_is_left import claims, minute, selectivity_alignment
from papers.lenses.s4_what_is_left.any_prior import ANY_PRIOR
from papers.lenses.s4_what_is_left.selectivity_alignment import SELECTIVITY_ALIGNMENT
from papers.lenses.s4_what_is_left.what_is_left import WHAT_IS_LEFT
from papers.lenses.s4_what_is_left.which_vector import WHICH_VECTOR
from tests.papers.other_settings import assert_holds, made

pytestmark = pytest.mark.long

ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    ANY_PRIOR: replace(ANY_PRIOR.quick, kappa=3.0, noise=0.8),
    WHAT_IS_LEFT: WHAT_IS_LEFT.quick,
    WHICH_VECTOR: WHICH_VECTOR.quick,
    SELECTIVITY_ALIGNMENT: SELECTIVITY_ALIGNMENT.quick,
}


@pytest.fixture(scope="module")
def datasets():
    return made(OTHER)


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_elsewhere_and_controls_fail(claim, datasets):
    assert_holds(claim, datasets)


def test_no_network_is_asked_beyond_its_training(datasets):
    found = datasets["lenses-what-is-left"].excess.sel(network="decoder, N = 10")
    assert np.isfinite(found.sel(k=slice(1, 10))).all() and np.isnan(found.sel(k=slice(20, 100))).all()


def test_a_wrong_ceiling_fails(monkeypatch, datasets):
    monkeypatch.setattr(selectivity_alignment, "mean_cosine", lambda d: 0.9 * mean_cosine(d))
    wrong = SELECTIVITY_ALIGNMENT.quick.expect(datasets["lenses-selectivity-alignment"], 1)
    assert claims.S4l.judge(wrong).verdict == FAILS


def test_the_line_of_one_step_is_its_excess(datasets):
    found = datasets["lenses-what-is-left"].one_step
    assert found.sel(network="decoder, N = 20", k=3) == pytest.approx(6 / 9 - 2 / 5)
    assert found.sel(network="one block, N = 100", k=100) == pytest.approx(3 / 103)


def test_the_box_tells_shares_over_networks(datasets):
    share = datasets["lenses-what-is-left"].share
    found = minute.minute.numbers(datasets["lenses-what-is-left"])
    assert found["block"] == f"{float(share.sel(network='one block, N = 100', k=100).mean()):.0%}"
    assert found["every"] == f"{float(share.sel(network='one block, every length to 50', k=50).mean()):.0%}"
    assert {*found} == {"block", "every", "first", "most"}
