"""What is left: claims hold at another seed, and fail where their controls break the data."""

from dataclasses import replace

import numpy as np
import pytest

from icl_lib.companion import FAILS, HOLDS, Claim
from papers.dherin.theory.finetuning import mean_cosine
from papers.dherin.trainings import FOUR_BLOCKS
from papers.lenses.s4_what_is_left import claims, figures, minute, selectivity_alignment
from papers.lenses.s4_what_is_left.any_prior import ANY_PRIOR
from papers.lenses.s4_what_is_left.selectivity_alignment import SELECTIVITY_ALIGNMENT
from papers.lenses.s4_what_is_left.what_is_left import WHAT_IS_LEFT
from papers.lenses.s4_what_is_left.which_vector import WHICH_VECTOR
from tests.papers.drawn import drawn
from tests.papers.other_settings import made

pytestmark = pytest.mark.long

ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    ANY_PRIOR: (replace(ANY_PRIOR.quick, kappa=3.0, noise=0.8), figures.any_prior),
    WHAT_IS_LEFT: (WHAT_IS_LEFT.quick, figures.what_is_left),
    WHICH_VECTOR: (WHICH_VECTOR.quick, figures.which_vector),
    SELECTIVITY_ALIGNMENT: (SELECTIVITY_ALIGNMENT.quick, figures.selectivity_alignment),
}


@pytest.fixture(scope="module")
def datasets():
    return {experiment.slug: made(experiment, declaration) for experiment, (declaration, _) in OTHER.items()}


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_elsewhere_and_controls_fail(claim, datasets):
    judged = claim.judge(datasets[claim.experiment])
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS), judged.shown_value
    for control in claim.controls.values():
        assert np.isfinite(claim.check(control(datasets[claim.experiment].copy(deep=True))).worst()[0])


@pytest.mark.parametrize("experiment", OTHER, ids=lambda experiment: experiment.slug)
def test_figures_are_drawn(experiment, datasets):
    _, drawing = OTHER[experiment]
    assert drawn(drawing, datasets[experiment.slug])


def test_tables_tell_every_network(datasets):
    parts, vectors, beside = (datasets[each.slug] for each in (WHAT_IS_LEFT, WHICH_VECTOR, SELECTIVITY_ALIGNMENT))
    assert len(figures.shares(parts).rows) == parts.sizes["k"]
    assert len(figures.distances(vectors).rows) == vectors.sizes["candidate"]
    assert [row[0] for row in figures.attention(beside).rows].count("decoder, N = 20") == 3


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


def test_declarations_refuse_what_they_cannot_read():
    with pytest.raises(ValueError, match="networks each"):
        replace(WHAT_IS_LEFT.quick, blocks=(FOUR_BLOCKS,))
    with pytest.raises(ValueError, match="four times as many"):
        replace(WHAT_IS_LEFT.quick, queries=10)
    with pytest.raises(ValueError, match="take no more examples"):
        replace(ANY_PRIOR.quick, k=(1, 30))
    with pytest.raises(ValueError, match="one for the decoder"):
        replace(ANY_PRIOR.quick, contexts=(40,))
    with pytest.raises(ValueError, match="beyond which the moments lose digits"):
        replace(WHICH_VECTOR.quick, steps=(1, 6))
    with pytest.raises(ValueError, match="each length once"):
        replace(SELECTIVITY_ALIGNMENT.quick, k=(5, 1))


def test_the_box_tells_shares_over_networks(datasets):
    share = datasets["lenses-what-is-left"].share
    found = minute.minute.numbers(datasets["lenses-what-is-left"])
    assert found["block"] == f"{float(share.sel(network='one block, N = 100', k=100).mean()):.0%}"
    assert found["every"] == f"{float(share.sel(network='one block, every length to 50', k=50).mean()):.0%}"
    assert {*found} == {"block", "every", "first", "most"}
