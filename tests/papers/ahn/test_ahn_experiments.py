"""Depth: claims hold at another seed and other sizes, and fail where their controls break the data."""

from dataclasses import replace

import numpy as np
import pytest

from icl_lib.companion import FAILS, Claim
from papers.ahn import published
from papers.ahn.depth import claims
from papers.ahn.depth.depth import DEPTH
from papers.ahn.depth.free_features import FREE_FEATURES
from papers.ahn.depth.many_dimensions import MANY_DIMENSIONS
from papers.ahn.depth.random_covariances import RANDOM_COVARIANCES
from papers.ahn.depth.trained import TRAINED
from papers.ahn.theory import depth, free_features, wishart
from papers.ahn.theory import random_covariances as random
from tests.papers.other_settings import assert_holds, made

pytestmark = pytest.mark.long

ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    DEPTH: replace(DEPTH.quick, d=(2, 4), N=(14, 16)),
    MANY_DIMENSIONS: replace(MANY_DIMENSIONS.quick, rho=(0.25, 0.5), d=(40, 160), layers=3),
    RANDOM_COVARIANCES: replace(RANDOM_COVARIANCES.quick, d=(2, 4), N=(8, 5), long=(80, 200)),
    TRAINED: replace(TRAINED.quick, d=(2, 4), N=(12, 15)),
    FREE_FEATURES: replace(FREE_FEATURES.quick, contexts=40_000, layers=(3,), small_d=(2, 5), small_N=(9, 16)),
}


@pytest.fixture(scope="module")
def datasets():
    return made(OTHER)


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_elsewhere_and_controls_fail(claim, datasets):
    assert_holds(claim, datasets)


@pytest.mark.parametrize(
    ("module", "name", "experiment", "claim", "factor"),
    [
        (depth, "least_error", DEPTH, claims.A1, 1.03),
        (depth, "limit_error", MANY_DIMENSIONS, claims.A2, 1.2),
        (depth, "limit_equal", MANY_DIMENSIONS, claims.A2b, 1.2),
        (depth, "least_error", RANDOM_COVARIANCES, claims.A3, 1.1),
        (random, "limit_error", RANDOM_COVARIANCES, claims.A3b, 1.5),
        (depth, "step_sizes", TRAINED, claims.A4d, 1.1),
        (free_features, "loss", FREE_FEATURES, claims.A5b, 0.05),
        (free_features, "loss", FREE_FEATURES, claims.A5c, 1.3),
    ],
)
def test_a_wrong_formula_fails(monkeypatch, datasets, module, name, experiment, claim, factor):
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *arguments: factor * right(*arguments))
    assert claim.judge(OTHER[experiment].expect(datasets[experiment.slug], 1)).verdict == FAILS


def test_another_shape_has_no_printed_losses():
    other = replace(FREE_FEATURES.quick, N=30, contexts=2000, batches=2, prompts=100, layers=(2, 3), starts=2)
    assert np.isnan(other.expect(other.run(0, "cpu"), 0).printed).all()
    ours = FREE_FEATURES.quick
    assert (ours.d, ours.N, ours.prompts) == (published.SHAPE["d"], published.SHAPE["N"], published.PROMPTS)


def test_the_fit_is_no_better_than_the_least_mean_over_all_prompts(datasets):
    three = datasets[FREE_FEATURES.slug].sel(layers=3)
    assert three.whole.sel(which="least") < three.whole.sel(which="fitted")
    labels = 5 * depth.least_error(wishart.moments(5, 20, 6), 3)
    assert float(three.labels) == pytest.approx(labels) and three.whole.sel(which="least") < labels / 100
