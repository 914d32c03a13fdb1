"""Sections 4.1 and 4.2 of Dherin et al.: one gradient step by a second route, patches along a training, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS
from icl_lib.models.baselines import OneGradientStep
from icl_lib.patches.sites import Bias
from icl_lib.seeds import stream
from papers.dherin.s4_1_agreement import agreement as experiment
from papers.dherin.s4_1_agreement import agreement_deep as deep_experiment
from papers.dherin.s4_1_agreement import claims, figures
from papers.dherin.s4_1_agreement import plateau as plateau_experiment
from papers.dherin.s4_1_agreement.agreement import AGREEMENT, WAYS, answers
from papers.dherin.s4_1_agreement.agreement_deep import AGREEMENT_DEEP
from papers.dherin.s4_1_agreement.plateau import PLATEAU
from papers.dherin.theory import agreement
from papers.dherin.trained import ManyBlocks, Trained, predictions, regression, start, tokens
from tests.papers.drawn import drawn

TINY = replace(AGREEMENT.quick.training, N=6, B=8, steps=4, replicates=2)
TINY_DEEP = replace(AGREEMENT_DEEP.quick.four, model=ManyBlocks(depth=3, d=3, width=12, heads=2, hidden=10), N=9, steps=1)


def fresh(training, seed: int, device: str) -> Trained:
    """Weights before any training, in place of shipped ones."""
    weights = {name: w.double() for name, w in start(training, seed, device).items()}
    return Trained(training.model.network(), weights)


@pytest.fixture(scope="module")
def dataset() -> xr.Dataset:
    return replace(AGREEMENT.quick, training=TINY, every=2, tasks=24).run(0, "cpu")


@pytest.mark.parametrize("N, d, eta", [(4, 1, 0.7), (7, 3, 0.4), (50, 2, 0.9)])
def test_step_risk_by_simulation(N, d, eta):
    prompts = regression(d).sample(stream(0, "risk"), (60_000,), N)
    square = (OneGradientStep(eta)(prompts) - prompts.y_query).square()
    assert agreement.step_risk(N, d, eta) == pytest.approx(square.mean().item(), abs=4 * square.std().item() / 60_000**0.5)


def test_best_step_by_hand_and_by_search():
    assert (agreement.best_step(2, 1), agreement.best_step_risk(2, 1)) == (0.5, 0.5)
    assert agreement.step_risk(2, 1, 0.5) == 0.5 and agreement.best_step_risk(100, 2) == pytest.approx(6 / 103)
    etas = np.linspace(0.01, 1.2, 5000)
    risks = np.array([agreement.step_risk(9, 3, float(eta)) for eta in etas])
    assert etas[risks.argmin()] == pytest.approx(agreement.best_step(9, 3), abs=1e-3)
    assert risks.min() == pytest.approx(agreement.best_step_risk(9, 3), abs=1e-6)
    assert agreement.best_step_risk(0, 5) == 5  # no example: the prediction 0


def test_answers_against_prediction_and_a_loop():
    network, weights = (found := fresh(TINY, 0, "cpu")).network, found.replicate(1)
    prompts = regression(2).sample(stream(0, "answers"), (5,), 6)
    found, update = answers(network, weights, prompts, None)
    assert torch.allclose(found[0], predictions(network, weights, prompts), rtol=1e-13)
    block, layer = network.blocks(weights)[0], network.block.joint.layer
    for k in range(5):
        a, full = layer(block, tokens(prompts)[k, -1:]), layer(block, tokens(prompts)[k])
        assert torch.allclose(update[k], torch.outer(block["W"] @ (full - a), a) / (a @ a), rtol=1e-12, atol=1e-14)
        for way, W in (("no patch", block["W"]), ("another task's patch", block["W"] + update[k - 1])):
            hidden = (W @ a + block["b"]).relu()
            expected = (block["W_out"] @ hidden + block["b_out"])[-1]
            assert found[WAYS.index(way), k].item() == pytest.approx(expected.item(), rel=1e-12)
    assert found[-1].isnan().all()
    again, _ = answers(network, weights, prompts, update)
    assert torch.allclose(again[-1], again[1], rtol=1e-12)  # the mark before, had the weights not moved


def test_a_training_and_its_marks(dataset):
    assert dataset.step.values.tolist() == [0, 2, 4]
    assert dataset.difference.sel(way="context").max() == 0 and 0 < dataset.difference.sel(way="patch").max() < 1e-13
    assert dataset.difference_single.dtype == np.float32 and 1e-9 < dataset.difference_single.sel(way="patch").max() < 1e-5
    assert dataset.difference.sel(way="the last mark's patch").isel(step=0).isnull().all()
    untrained = fresh(TINY, 0, "cpu")
    prompts = regression(2).sample(stream(0, "held-out"), (2, 24), 6)
    own = type(prompts)(*(part[0] for part in prompts))
    loss = (predictions(untrained.network, untrained.replicate(0), own) - own.y_query).square().mean()
    assert dataset.loss.sel(way="context").isel(step=0, seed=0).item() == pytest.approx(loss.item())
    for claim in (claims.D21, claims.D21c):
        judgement = claim.judge(dataset)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert (dataset.loss.sel(way="context") > 0.1 * dataset.loss_zero).all()  # four steps teach nothing
    assert drawn(figures.training, dataset)


@pytest.mark.parametrize("fault", ["epsilon", "transposed"])
def test_faulty_patches_turn_the_identity_red(monkeypatch, fault):
    right = experiment.patched_block

    def wrong(block, site, weights, bare, full):
        patched = right(block, site, weights, bare, full)
        update = patched["W"] - weights["W"]
        a = bare.z[..., 0, :].square().sum(-1)[:, None, None]
        return {**patched, "W": weights["W"] + (update * a / (a + 1e-8) if fault == "epsilon" else update.flip(-1))}

    monkeypatch.setattr(experiment, "patched_block", wrong)
    broken = replace(AGREEMENT.quick, training=replace(TINY, steps=1), every=1, tasks=24).run(0, "cpu")
    assert claims.D21.judge(broken).verdict == FAILS


def test_deep_networks_on_a_tiny_declaration(monkeypatch):
    monkeypatch.setattr(deep_experiment, "trained", fresh)
    four, ten = TINY_DEEP, replace(TINY_DEEP, model=replace(TINY_DEEP.model, depth=5, heads=1))
    declaration = replace(AGREEMENT_DEEP.quick, four=four, ten=ten, tasks=6, held_out=20)
    found = declaration.expect(declaration.run(0, "cpu"), 0)
    for claim in (claims.D24b, claims.D25, claims.D25d):
        judgement = claim.judge(found)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert found.largest.sel(way="patch").max() <= 1e-13 and found.mean_single.sel(way="patch").max() <= 1e-6
    assert claims.D24.judge(found).verdict == FAILS and (found.loss > 0.25 * found.loss_step).all()  # untrained
    assert found["size"].isnull().sum() == 2 * 3 and found.loss_step.values == pytest.approx(12 / 13)
    network, weights = (made := fresh(four, 0, "cpu")).network, made.replicate(0)
    prompts = regression(3).sample(stream(0, "held-out"), (20,), 9)
    loss = (network(weights, tokens(prompts))[:, -1] - prompts.y_query).square().mean().item()
    assert found.loss[0].item() == pytest.approx(loss)
    assert drawn(figures.deep, found)
    monkeypatch.setattr(deep_experiment, "Matrix", lambda name: Bias("b_nowhere"))
    with pytest.raises(ValueError, match="b_nowhere must be among"):
        declaration.run(0, "cpu")


def test_plateau_on_a_tiny_declaration(monkeypatch):
    monkeypatch.setattr(plateau_experiment, "trained", fresh)
    declaration = replace(PLATEAU.quick, training=replace(TINY, N=20), tasks=400, contexts=20_000)
    found = declaration.expect(declaration.run(0, "cpu"), 0)
    assert np.allclose(found.loss, found.loss_untrained) and found.loss_ols.max() < 1e-20
    assert found.loss_step.mean().item() == pytest.approx(agreement.best_step_risk(20, 2), rel=0.2)
    assert claims.D23b.judge(found).verdict == FAILS  # untrained
    assert claims.D23d.check(found).verdict(0.05) == HOLDS
    both = found.alike * (found.loss * found.loss_step) ** 0.5  # mean product of the two errors
    assert np.allclose(found.distance, found.loss + found.loss_step - 2 * both)
    step = found.assign(loss=found.loss_step, alike=1 + 0 * found.alike)
    for claim in (claims.D23b, claims.D23c):
        judgement = claim.judge(step)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id


def test_bad_declarations_are_refused():
    with pytest.raises(ValueError, match="marks every 9 steps do not fit into 4 steps"):
        replace(AGREEMENT.quick, training=TINY, every=9, tasks=4)
    for bad, text in ((dict(training=replace(TINY_DEEP, steps=50)), "OneBlock"), (dict(tasks=1), "at least 2")):
        with pytest.raises(ValueError, match=text):
            replace(AGREEMENT.quick, **bad)
    with pytest.raises(ValueError, match="different depth"):
        replace(AGREEMENT_DEEP.quick, ten=AGREEMENT_DEEP.quick.four)


def test_all_near_misses_of_one_gradient_step_are_seen(stored):
    plateau = stored("dherin-plateau")
    for mistake in plateau.mistake.values:
        wrong = plateau.assign(step_risk_theory=plateau.step_risk_near.sel(mistake=mistake))
        assert claims.D23d.judge(wrong).verdict == FAILS, mistake
