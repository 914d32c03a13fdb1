"""Own weights: claims hold at another seed and scale, and fail where their controls break the data."""

from dataclasses import replace

import pytest

from icl_lib.companion import FAILS, Claim
from papers.lenses.s2_own_weights import claims, minute
from papers.lenses.s2_own_weights.head_floor import HEAD_FLOOR
from papers.lenses.s2_own_weights.own_optimum import OWN_OPTIMUM
from papers.lenses.s2_own_weights.read_out_flow import READ_OUT_FLOW
from papers.lenses.s2_own_weights.trained_blocks import TRAINED_BLOCKS
from papers.lenses.theory import own_weights
from tests.papers.other_settings import assert_holds, made

pytestmark = pytest.mark.long

ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    OWN_OPTIMUM: replace(OWN_OPTIMUM.quick, N=(3, 11), mean=(0.0, 1.4), noise=0.2, starts=8),
    HEAD_FLOOR: replace(HEAD_FLOOR.quick, N=(3, 9), noise=(0.0, 1.0)),
    TRAINED_BLOCKS: replace(TRAINED_BLOCKS.quick, d=(2, 3), N=(12, 20)),
    READ_OUT_FLOW: replace(READ_OUT_FLOW.quick, m=7, scale=(0.05, 0.4)),
}


@pytest.fixture(scope="module")
def datasets():
    return made(OTHER)


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_elsewhere_and_controls_fail(claim, datasets):
    assert_holds(claim, datasets)


@pytest.mark.parametrize(
    ("name", "experiment", "claim"),
    [("least_risk", OWN_OPTIMUM, claims.S2), ("trap_risk", OWN_OPTIMUM, claims.S2e), ("floor", HEAD_FLOOR, claims.S2g)],
)
def test_a_wrong_formula_fails(monkeypatch, datasets, name, experiment, claim):
    right = getattr(own_weights, name)
    monkeypatch.setattr(own_weights, name, lambda *arguments: 1.01 * right(*arguments))
    assert claim.judge(OTHER[experiment].expect(datasets[experiment.slug], 1)).verdict == FAILS


def test_the_box_says_by_what_attention_alone_errs_more(datasets):
    found = minute.minute.numbers(datasets[OWN_OPTIMUM.slug])
    ratio = datasets[OWN_OPTIMUM.slug].attention.sel(mean=1.4) / datasets[OWN_OPTIMUM.slug].block_theory.sel(mean=1.4)
    assert found == {"least": f"{float(min(ratio)):.1f}", "most": f"{float(max(ratio)):.1f}"}
