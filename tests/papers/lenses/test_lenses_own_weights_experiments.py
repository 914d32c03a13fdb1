"""Own weights: claims hold at another seed and scale, and fail where their controls break the data."""

from dataclasses import replace

import numpy as np
import pytest

from icl_lib.companion import FAILS, HOLDS, Claim
from papers.lenses.s2_own_weights import claims, figures, minute
from papers.lenses.s2_own_weights.head_floor import HEAD_FLOOR
from papers.lenses.s2_own_weights.own_optimum import OWN_OPTIMUM
from papers.lenses.s2_own_weights.read_out_flow import READ_OUT_FLOW
from papers.lenses.s2_own_weights.trained_blocks import TRAINED_BLOCKS
from papers.lenses.theory import own_weights
from tests.papers.drawn import drawn
from tests.papers.other_settings import made

pytestmark = pytest.mark.long

ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    OWN_OPTIMUM: (replace(OWN_OPTIMUM.quick, N=(3, 11), mean=(0.0, 1.4), noise=0.2, starts=8), figures.own_optimum),
    HEAD_FLOOR: (replace(HEAD_FLOOR.quick, N=(3, 9), noise=(0.0, 1.0)), figures.head_floor),
    TRAINED_BLOCKS: (replace(TRAINED_BLOCKS.quick, d=(2, 3), N=(12, 20)), figures.trained_blocks),
    READ_OUT_FLOW: (replace(READ_OUT_FLOW.quick, m=7, scale=(0.05, 0.4)), figures.read_out),
}


@pytest.fixture(scope="module")
def datasets():
    return {experiment.slug: made(experiment, declaration) for experiment, (declaration, _) in OTHER.items()}


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_elsewhere_and_controls_fail(claim, datasets):
    judged = claim.judge(datasets[claim.experiment])
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS), judged.shown_value
    for control in claim.controls.values():
        value = claim.check(control(datasets[claim.experiment].copy(deep=True))).worst()[0]
        assert np.isfinite(value) and value > judged.margin


@pytest.mark.parametrize("experiment", OTHER, ids=lambda experiment: experiment.slug)
def test_figures_are_drawn(experiment, datasets):
    _, drawing = OTHER[experiment]
    assert drawn(drawing, datasets[experiment.slug])


@pytest.mark.parametrize(
    ("name", "experiment", "claim"),
    [("least_risk", OWN_OPTIMUM, claims.S2), ("trap_risk", OWN_OPTIMUM, claims.S2e), ("floor", HEAD_FLOOR, claims.S2g)],
)
def test_a_wrong_formula_fails(monkeypatch, datasets, name, experiment, claim):
    right = getattr(own_weights, name)
    monkeypatch.setattr(own_weights, name, lambda *arguments: 1.01 * right(*arguments))
    declaration, _ = OTHER[experiment]
    assert claim.judge(declaration.expect(datasets[experiment.slug], 1)).verdict == FAILS


def test_shapes_come_in_pairs():
    for quick in (OWN_OPTIMUM.quick, HEAD_FLOOR.quick, TRAINED_BLOCKS.quick):
        with pytest.raises(ValueError, match="take as many of each"):
            replace(quick, N=(5,))


def test_the_box_says_by_what_attention_alone_errs_more(datasets):
    found = minute.minute.numbers(datasets[OWN_OPTIMUM.slug])
    ratio = datasets[OWN_OPTIMUM.slug].attention.sel(mean=1.4) / datasets[OWN_OPTIMUM.slug].block_theory.sel(mean=1.4)
    assert found == {"least": f"{float(min(ratio)):.1f}", "most": f"{float(max(ratio)):.1f}"}
