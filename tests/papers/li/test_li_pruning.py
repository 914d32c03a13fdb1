"""Section 3.4 of Li et al., experiments: networks, tiny declarations, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS
from papers.li.classification import hinge, wrong
from papers.li.evaluate import combined, out_of_domain
from papers.li.odr import ODRPatterns
from papers.li.pruning import prune
from papers.li.s3_4_pruning import claims, figures
from papers.li.s3_4_pruning import pruning as experiment
from papers.li.s3_4_pruning.magnitudes import MAGNITUDES, activity, averages, silent_share, train_each
from papers.li.s3_4_pruning.pruning import PRUNING, deleted_margins, first, shares
from papers.li.s3_4_pruning.pruning_reasons import PRUNING_REASONS
from papers.li.s3_4_pruning.pruning_shares import PRUNING_SHARES
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.task_sets import task_set
from papers.li.theory import pruning
from papers.li.theory.floor import vote_error
from papers.li.trained import A, Trained, train_models
from tests.papers.drawn import drawn

TINY = replace(A, tasks="cyclic 1", xi=0.05, T=20, B=32, M1=4, M2=3, d_Y=2, m=12, l=8)


@pytest.fixture(scope="module")
def trained() -> Trained:
    return train_models((TINY,), 3, 0, "cpu", (0,))[20][0]


def test_change_bound_by_hand_and_against_a_network(trained):
    assert pruning.change_bound(np.array([0.5, -0.5]), np.array([[2.0, -3.0], [1.0, 4.0]])).tolist() == [1.0, 2.5]
    model = trained.model()
    deleted = torch.arange(TINY.m) % 3 == 0
    law = TINY.law(task_set("all", TINY.M1), 0.8)
    prompts = law.sample(torch.Generator().manual_seed(0), (3, 50), 8)
    less = replace(model, W_O=prune(model.W_O, deleted.expand(3, -1)))
    change = abs(model(prompts) - less(prompts)).numpy()
    average = torch.einsum("sbl,sblj->sbj", model.attention(prompts), model.contexts(prompts))
    values = torch.einsum("smv,svj,sbj->sbm", model.W_O, model.W_V, average).numpy()
    bound = pruning.change_bound(model.a[deleted].numpy(), values[..., deleted.numpy()])
    assert (change <= bound + 1e-12).all()
    assert change.max() > 0.3 * bound.max() > 0


def test_a_silent_row_does_not_move():
    """The gradient of a row that no prompt of the batch activates is 0 to the bit, others move."""
    generator = torch.Generator().manual_seed(1)
    law = TINY.law(task_set("all", TINY.M1), 0.8)
    start = train_models((TINY,), 1, 0, "cpu", (0,))[0][0].model()
    W_O = start.W_O[0].clone()
    W_O[3] = -abs(W_O[3]) @ torch.diag(torch.tensor([1.0] * 4 + [0.0] * 5).double())  # against every pattern, deaf to the rest
    W_O.requires_grad_()
    one = SoftmaxAttentionMLP(start.W_Q[0], start.W_K[0], start.W_V[0], W_O, start.a, start.q)
    prompts = law.sample(generator, (64,), 8)
    hinge(prompts.y_query * one(prompts)).mean().backward()
    moved = W_O.grad.abs().amax(-1)
    assert moved[3] == 0 and (moved > 0).sum() >= 8


def test_one_pass_for_all_deletions_is_pruning(trained):
    kept = torch.rand(3, 4, 12, generator=torch.Generator().manual_seed(2)) < 0.6
    patterns = combined(trained, 1.0, count=3, distractors=2, draws=2, seed=0, name="patterns")
    probe = dict(alpha=0.6, length=6, prompts=50, seed=0, name="prompts")
    at_once = deleted_margins(trained, kept, patterns, task_set("all", 3), **probe)
    for k in range(4):
        W_O = prune(trained.parameters["W_O"], ~kept[:, k])
        apart = out_of_domain(trained._replace(parameters=trained.parameters | {"W_O": W_O}), patterns, **probe)
        assert torch.allclose(at_once[:, k], apart.margin.flatten(1), atol=1e-12)


def test_shares_are_those_of_the_contributions(trained):
    kept = torch.rand(3, 5, 12, generator=torch.Generator().manual_seed(4)) < 0.5
    model, mean = trained.model(), TINY.beta / TINY.M1
    for label, found in zip((1, -1), shares(trained, kept), strict=True):
        point = torch.tensor([mean] * 4 + [0.0] * 3 + [label * TINY.q, 0.0]).double()
        value = (model.W_O @ (model.W_V @ point)[..., None])[..., 0].relu() * (model.a.sign() == label)
        expected = (value[:, None] * kept).sum(-1) / value.sum(-1)[:, None]
        assert np.allclose(found[..., 0], expected, equal_nan=True)


def test_first_marks_the_highest():
    assert first(torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([2])).tolist() == [[True, False, True]]


def test_training_together_or_apart_gives_one_answer_per_setting():
    settings = (replace(TINY, T=5), replace(TINY, T=5, m=6), replace(TINY, T=5, xi=0.3))
    found = train_each(settings, 2, 0, "cpu", (0,))
    assert [models[5].setting for models in found] == list(settings)
    alone = train_models((settings[1],), 2, 0, "cpu")[5][0]
    assert torch.equal(found[1][5].parameters["W_O"], alone.parameters["W_O"])


def test_averages_and_silence_against_the_model(trained):
    law = TINY.law(task_set(TINY.tasks, TINY.M1), TINY.alpha)
    one = Trained(TINY, {name: value[:1] for name, value in trained.parameters.items()}, trained.losses)
    model = one.model()
    p_bar, z = averages(model.on(law.patterns), law, TINY, torch.Generator().manual_seed(5), 300)
    neurons = torch.einsum("mv,vj->mj", model.W_O[0], model.W_V[0])[:, : TINY.M1 + TINY.M2 + 1]  # along axes and label
    hidden = (p_bar @ neurons.mT).relu()
    codes = law.codes(torch.Generator().manual_seed(5), (1, 300), TINY.l)
    assert torch.allclose(hidden @ model.a, model.on(law.patterns)(codes)[0], atol=1e-12)
    assert torch.equal(z, codes.y[0, :, -1])
    rarely = ((hidden > 0).double().mean(0) < 0.02).double().mean().item()
    assert silent_share(one, 2000, 0)[0] == pytest.approx(rarely, abs=0.17)


def test_activity_by_hand(trained):
    model, values = trained.model(), activity(trained)
    point = torch.zeros(9).double()
    point[2], point[7] = TINY.beta, -TINY.q  # (mu_3, -q): wrong for a_0 > 0, right for a_1 < 0
    heard = model.W_O[1] @ (model.W_V[1] @ point)
    assert torch.allclose(values[1, 1, 0, 2], heard[0]) and torch.allclose(values[1, 0, 1, 2], heard[1])


def tiny(experiment, **changes):
    sizes = dict(
        odr=ODRPatterns(count=3, distractors=3, draws=2),
        setting=TINY,
        contrast=replace(TINY, xi=0.3),
        settings=(("A", TINY), ("m = 20", TINY), ("m = 10", TINY)),
    )
    declaration = experiment.quick
    return replace(declaration, **{k: v for k, v in (sizes | changes).items() if hasattr(declaration, k)})


def result(declaration) -> xr.Dataset:
    return declaration.expect(declaration.run(0, "cpu"), 0)


def test_magnitudes_on_a_tiny_declaration(trained):
    two = (("A", TINY), ("long", replace(TINY, xi=0.3)))
    dataset = result(tiny(MAGNITUDES, settings=two, seeds=3, marks=(0, 10, 20), prompts=50, rows=40, batch=16, steps=5))
    batch = train_models((TINY, two[1][1]), 3, 0, "cpu", (0, 10, 20))[20]
    for k, model in enumerate(batch):
        length = model.parameters["W_O"].norm(dim=-1)
        assert np.allclose(dataset.small[k], (length < length.amax(-1, keepdim=True) / 2).double().mean(-1))
        assert np.allclose(dataset.length[k], length.sort(-1).values)
    assert (dataset.at_rest.isel(step=-1).fillna(1) == 1).all() and (dataset.at_rest_long.isel(step=0) < 0.5).all()
    assert (dataset.rows.sum("kind") == TINY.m).all() and (dataset.rows_small <= dataset.rows).all()
    assert drawn(figures.magnitudes, dataset)


def test_pruning_on_a_tiny_declaration():
    sizes = dict(seeds=3, R=(0.0, 0.5, 0.9, 1.0), P=(0.0, 0.5), prompts=60, length=8)
    dataset = result(tiny(PRUNING, **sizes))
    model = train_models((TINY, replace(TINY, xi=0.3)), 3, 0, "cpu")[20][0]
    patterns = combined(model, 1.1, count=3, distractors=3, draws=2, seed=0, name="patterns")
    assert patterns.irrelevant.shape[2] == 3
    whole = dataset.sel(R=0)
    for loss in (whole.hinge_of_shares, whole.hinge_restored):
        assert np.allclose(whole.hinge, loss, atol=1e-6)
    assert np.allclose(dataset.error.sel(R=0, order="random"), dataset.error_shortest.sel(P=0))
    assert drawn(figures.pruning, dataset)


def test_reasons_on_a_tiny_declaration():
    sizes = dict(seeds=3, R=(0.0, 0.5, 0.9), repeats=2, prompts=60, length=8)
    dataset = result(tiny(PRUNING_REASONS, **sizes))
    assert dataset.error.dims == ("setting", "order", "R", "seed")
    assert np.allclose(dataset.error.sel(R=0, order="random"), dataset.error.sel(R=0, order="largest first"))
    assert (dataset.lost.diff("R") >= 0).all() and (dataset.lost.sel(R=0) == 0).all()
    assert drawn(figures.reasons, dataset)


def test_shares_on_a_tiny_declaration():
    """Without a deletion all orders are the whole network; the law is that of section 3.2."""
    sizes = dict(seeds=3, prompts=60, length=8)
    whole, pruned = (result(tiny(PRUNING_SHARES, R=R, **sizes)) for R in (0.0, 0.5))
    assert (whole.error == whole.error.sel(deleted="none")).all()
    assert np.array_equal(pruned.error.sel(deleted="none"), whole.error.sel(deleted="none"))
    assert pruned.error_theory.values == pytest.approx([vote_error(8, alpha) for alpha in (0.6, 0.8, 1.0)])
    law = pruned.assign(error=0 * pruned.error + pruned.error_theory)
    assert [claims.L12i.judge(each).verdict for each in (law, law.assign(error=0 * law.error + 0.1))] == [HOLDS, FAILS]


def test_wrong_shares_turn_the_formula_red(monkeypatch):
    """Counts in place of contributions: the planted fault must be seen by L12e."""
    declaration = tiny(PRUNING, seeds=3, R=(0.0, 0.5, 1.0), P=(0.0,), prompts=100, length=8)
    good = claims.L12e.check(declaration.run(0, "cpu")).worst()[0]
    monkeypatch.setattr(experiment, "shares", lambda trained, kept: (kept.double().mean(-1, keepdim=True).numpy() ** 2,) * 2)
    assert claims.L12e.check(declaration.run(0, "cpu")).worst()[0] > 5 * good


def test_claims_on_made_up_numbers():
    steps, seeds = [0, 50, 100], 4
    size = xr.DataArray([[0.1] * seeds, [0.95] * seeds, [1.0] * seeds], dims=("step", "seed"))
    base = xr.Dataset(
        {
            "small": (("setting", "seed"), [[0.15, 0.14, 0.16, 0.15], [0.0, 0.01, 0.0, 0.0]]),
            "ratio": (("setting", "seed"), [[0.3] * seeds, [0.8] * seeds]),
            "long_size": size,
            "at_rest": size,
            "at_rest_long": 0 * size,
            "rows": (("kind", "seed"), np.full((4, seeds), 10)),
            "rows_small": (("kind", "seed"), np.array([[1] * seeds, [2] * seeds, [9] * seeds, [9] * seeds])),
        },
        coords={"step": steps, "kind": ["right label only", "both labels", "wrong label only", "neither label"]},
    )
    for claim in (claims.L11, claims.L11b, claims.L11c, claims.L11d):
        judgement = claim.judge(base)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert claims.L11d.judge(base).value == pytest.approx(-0.8)
    assert claims.L11.judge(base.assign(small=base.small + 0.3)).verdict == FAILS


def test_error_of_a_silent_network_is_a_half():
    assert wrong(torch.zeros(4)).tolist() == [0.5] * 4


def test_bad_declarations_are_refused(trained):
    with pytest.raises(ValueError, match="R is .* at most 1"):
        tiny(PRUNING, R=(0.0, 1.5))
    with pytest.raises(ValueError, match="must begin with 0"):
        tiny(PRUNING_REASONS, R=(0.5,))
    with pytest.raises(ValueError, match="settings is .* 2 or more"):
        tiny(MAGNITUDES, settings=(("A", TINY),))
    with pytest.raises(ValueError, match="must rise from 0"):
        tiny(MAGNITUDES, settings=(("A", TINY), ("long", TINY)), marks=(10, 20))
    with pytest.raises(ValueError, match="must be steps from 0 to T"):
        tiny(MAGNITUDES, settings=(("A", TINY), ("long", TINY)), seeds=2, marks=(0, 90)).run(0, "cpu")


def test_what_the_formula_of_random_deletion_neglects_goes_with_mixed_prompts():
    """The miss where no label can be lost; other cells do not count."""
    names, seeds = ["m = 10", "m = 10, r = 1"], 3
    missed = np.array([0.001, 0.01])[:, None, None] * np.array([0.0, 1.0, 30.0])[:, None] * np.array([0.9, 1.0, 1.1])
    base = xr.Dataset(
        {
            "error": (("order", "setting", "R", "seed"), (0.02 + missed)[None]),
            "error_theory": (("setting", "R", "seed"), np.full((2, 3, seeds), 0.02)),
            "lost": (("setting", "R", "seed"), np.broadcast_to([[0.0], [0.0], [0.5]], (2, 3, seeds))),
        },
        coords={"order": ["random"], "setting": names, "R": [0.0, 0.4, 0.9]},
    )
    judgement = claims.L12j.judge(base)
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS)
    assert judgement.value == pytest.approx(0.001 - 0.25 * 0.01)
