"""Section 4.3 of Dherin et al.: the law of the running average by second routes and by hand, and planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.models.contextual.layers import SoftmaxAttention, without
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.dherin.along import states_along
from papers.dherin.s4_3_convergence import along, claims, figures, layers_compared, marginal_updates, rnn_rate
from papers.dherin.s4_3_convergence.endless import endless_context, task_values, tilt
from papers.dherin.s4_3_convergence.heads import heads, sums_along
from papers.dherin.s4_3_convergence.layers_compared import LAYERS_COMPARED, predicted, update_share
from papers.dherin.s4_3_convergence.marginal_updates import MARGINAL_UPDATES
from papers.dherin.s4_3_convergence.rnn_rate import RNN_RATE
from papers.dherin.s4_3_convergence.single_updates import formula
from papers.dherin.theory import convergence
from papers.dherin.trained import OneBlock, Trained, prefix_predictions, regression, start, tokens
from tests.papers.drawn import drawn

TINY = replace(MARGINAL_UPDATES.quick.training, model=OneBlock("softmax attention", 3, 8, 2, 10), N=20, steps=1)
KINDS = {
    kind: replace(TINY, model=replace(TINY.model, layer=name))
    for kind, name in (("attention", "softmax attention"), ("rnn", "tanh RNN"), ("gru", "GRU"))
}


def fresh(training, seed: int, device: str) -> Trained:
    """Weights before any training, in place of shipped ones."""
    weights = {name: w.double() for name, w in start(training, seed + 100, device).items()}
    return Trained(training.model.network(), weights)


@pytest.fixture(autouse=True)
def nothing_is_trained(monkeypatch):
    for module in (marginal_updates, layers_compared, rnn_rate):
        monkeypatch.setattr(module, "trained", fresh)


def one_block(training, trials: int):
    """A network, its block's weights, sequences (trial, T, n) and the tasks' w."""
    network, weights = (found := fresh(training, 0, "cpu")).network, found.replicate(0)
    prompts = regression(training.model.d).sample(stream(0, "contexts"), (trials,), training.N)
    return network, network.blocks(weights)[0], tokens(prompts), torch.linalg.lstsq(prompts.x, prompts.y[..., None])[0][..., 0]


def test_running_average_by_hand():
    scores, values = np.log([1.0, 1.0, 2.0]), np.array([[0.0], [2.0], [4.0]])
    assert np.allclose(convergence.running_average(scores, values), [[0], [1], [2.5]])
    assert np.allclose(convergence.newest_share(scores), [0.5, 0.5])
    assert np.allclose(convergence.increment(scores, values), [[1], [1.5]])


def test_running_average_by_softmax_of_every_prefix():
    generator = np.random.default_rng(0)
    scores, values = 5 * generator.standard_normal((3, 2, 7)), generator.standard_normal((3, 2, 7, 4))
    found, share = convergence.running_average(scores, values), convergence.newest_share(scores)
    for n in range(1, 8):
        softmax = torch.from_numpy(scores[..., :n]).softmax(-1).numpy()
        assert np.allclose(found[..., n - 1, :], (softmax[..., None] * values[..., :n, :]).sum(-2))
        if n > 1:
            assert np.allclose(share[..., n - 2], softmax[..., -1])
    assert np.allclose(convergence.increment(scores, values), np.diff(found, axis=-2))


def test_marginal_updates_against_the_patches():
    """Theory against the torch layer and the patch of every prefix built by hand."""
    network, block, sequence, _ = one_block(replace(TINY, N=5), 3)
    layer = network.block.joint.layer
    a = layer(block, sequence[:, -1:])
    found, late = formula(layer, block, sequence, a)
    for n in range(1, 6):
        updates = [redirection(block["W"], a, layer(block, without(sequence, range(k, 5)))) for k in (n - 1, n)]
        assert torch.allclose(found[:, n - 1], updates[1] - updates[0], rtol=1e-11, atol=1e-14)
    assert not torch.allclose(late, found, rtol=1e-2)


def test_marginal_update_by_hand():
    W, W_O, a = np.diag([1.0, 2.0]), np.ones((2, 1, 1)), np.array([1.0, 1.0])
    found = convergence.marginal_update(W, W_O, np.array([[[2.0], [4.0]]]), a)
    assert found.tolist() == [[[1, 1], [2, 2]], [[2, 2], [4, 4]]]
    with pytest.raises(ValueError, match="no update of W"):
        convergence.marginal_update(W, W_O, np.array([[[2.0]]]), 0 * a)


def test_mean_share_by_draws():
    scores = np.random.default_rng(1).standard_normal((200_000, 5))
    scores[:, 0] = 0.7
    share = convergence.newest_share(scores)
    own = np.exp(0.7) / np.exp(scores).cumsum(-1)[:, 1:]
    for n in range(1, 5):
        assert convergence.mean_share(n, own[:, n - 1].mean()) == pytest.approx(share[:, n - 1].mean(), rel=5e-3)
    assert convergence.mean_share(4, 0.2) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="1 or more tokens"):
        convergence.mean_share(0, 0.2)


def test_limit_and_kappa_by_draws():
    generator = np.random.default_rng(2)
    b, w = 0.25 * generator.standard_normal((2, 3)), generator.standard_normal(3)
    G, x = generator.standard_normal((2, 4, 3)), generator.standard_normal((400_000, 3))
    weight = np.exp(x @ b.T)
    for h in range(2):
        mean = (weight[:, [h]] * np.c_[x, x @ w]).mean(0) / weight[:, h].mean()
        assert np.allclose(convergence.limit(b[h], w), mean, atol=0.02)
    xi = sum(weight[:, [h]] / np.exp(b[h] @ b[h] / 2) * ((x - b[h]) @ G[h].T) for h in range(2))
    assert convergence.kappa(G, b) == pytest.approx(np.square(xi).sum(-1).mean() ** 0.5, rel=0.03)
    assert np.allclose(xi.mean(0), 0, atol=0.03)


def test_kappa_by_hand():
    G = np.array([[[2.0]]])
    assert convergence.kappa(G, np.array([[0.0]])) == 2
    assert convergence.kappa(G, np.array([[1.0]])) == pytest.approx(2 * np.sqrt(2 * np.e))
    two = np.array([[[1.0, 2.0]], [[3.0, 1.0]]])  # b_1 = e_1, b_2 = e_2: e (5 + 1) + e (10 + 1) + 2 (5 + 2 * 3)
    assert convergence.kappa(two, np.eye(2)) == pytest.approx((17 * np.e + 22) ** 0.5)
    assert convergence.limit(np.array([1.0, 2.0]), np.array([3.0, 1.0])).tolist() == [1, 2, 5]


def test_the_endless_context_is_that_of_a_very_long_one():
    training = replace(TINY, N=4000)
    network, block, sequence, w = one_block(training, 2)
    layer = network.block.joint.layer
    kappa = convergence.kappa(task_values(layer, block, w), tilt(layer, block, sequence, w))
    endless = endless_context(layer, block, sequence, w)
    apart = torch.einsum("mk,bk->bm", block["W"], layer(block, sequence) - endless).norm(dim=-1)
    assert (apart.numpy() < 4 * kappa / 4000**0.5).all()
    start_at = torch.einsum("mk,bk->bm", block["W"], layer(block, sequence[:, -1:]) - endless).norm(dim=-1)
    assert (apart < 0.2 * start_at).all()


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
def test_forgetting_by_simulation(p):
    v, s, steps = 1.3 * np.random.default_rng(3).standard_normal((300, 3000)), np.zeros(3000), []
    for row in v:
        steps.append(p * (row - s))
        s = s + steps[-1]
    assert convergence.moving_average_step(p, 1.3) == pytest.approx(np.square(steps[150:]).mean() ** 0.5, rel=0.02)


def test_forgetting_by_hand_and_bad_shares():
    assert convergence.moving_average_step(1.0, 1.0) == pytest.approx(2**0.5)
    for share in (0.0, 1.5):
        with pytest.raises(ValueError, match="share must lie"):
            convergence.moving_average_step(share, 1.0)


def test_large_scores_overflow_nothing():
    assert convergence.newest_share(np.array([999.0, 1000.0])) == pytest.approx(1 / (1 + np.exp(-1)))


def test_marginal_norms_are_those_of_the_matrices():
    network, block, sequence, _ = one_block(TINY, 5)
    a = states_along(network.block.joint.layer, block, sequence)
    marginal, total = along.marginal_norms(block["W"], a)
    updates = redirection(block["W"], a[:, :1].expand_as(a), a)
    assert torch.allclose(marginal, updates.diff(dim=1).flatten(-2).norm(dim=-1), rtol=1e-9)
    assert torch.allclose(total[:, 0], updates[:, -1].flatten(-2).norm(dim=-1))
    with pytest.raises(ValueError, match="A\\(x\\) = 0"):
        along.marginal_norms(block["W"], 0 * a)


def test_sums_by_a_loop():
    network, block, sequence, _ = one_block(replace(TINY, N=4), 1)
    layer = network.block.joint.layer
    assert isinstance(layer, SoftmaxAttention)
    W_Q, W_K, W_V, W_O = heads(layer, block)
    expected = torch.zeros(8, dtype=torch.float64)
    for token in (*sequence[0, :3], sequence[0, -1]):
        for h in range(2):
            score = (W_K[h] @ token) @ (W_Q[h] @ sequence[0, -1]) / layer.head_width**0.5
            expected += W_O[:, h] @ (score * (W_V[h] @ token))
    assert torch.allclose(sums_along(layer, block, sequence)[0, 3], expected, rtol=1e-12)


def test_shares_of_attention_and_gru():
    network, block, sequence, _ = one_block(KINDS["attention"], 4)
    equal = {**block, "W_K": 0 * block["W_K"]}  # uniform attention: 1/(n + 1)
    assert np.allclose(update_share(network, equal, sequence), 1 / np.arange(2, 22))
    network, block, sequence, _ = one_block(KINDS["gru"], 4)
    layer, found = network.block.joint.layer, update_share(network, block, sequence)
    state = torch.zeros(4, 8, dtype=torch.float64)
    for n in range(20):
        after = layer(block, sequence[:, : n + 1])
        r, u, c = (sequence[:, n] @ block["W_x"].mT + block["b_x"]).chunk(3, -1)
        r_s, u_s, c_s = (state @ block["W_s"].mT).chunk(3, -1)
        candidate = (c + (r + r_s).sigmoid() * (c_s + block["b_s"])).tanh()
        share = 1 - (u + u_s).sigmoid()
        assert torch.allclose(after - state, share * (candidate - state), rtol=1e-9, atol=1e-12)
        assert found[n] == pytest.approx(share.mean().item())
        state = after
    assert np.isnan(update_share(*one_block(KINDS["rnn"], 2)[:3])).all()


def test_marginal_updates_on_a_tiny_declaration():
    declaration = replace(MARGINAL_UPDATES.quick, training=TINY, trials=200, N=60, first=8, matrices=2)
    dataset = declaration.expect(declaration.run(0, "cpu"), 0)
    for claim in (claims.D26, claims.D27, claims.D27b):
        judgement = claim.judge(dataset)  # three small networks may leave D26 open
        assert judgement.control_verdict == FAILS and judgement.verdict in (HOLDS, UNDECIDED), claim.id
    assert dataset.formula.max() <= 1e-13 < dataset.formula_late.max()
    assert dataset.excess.max() <= 1e-13 < dataset.excess_turned.max()
    assert (dataset.constant < dataset.constant_untilted).all() and dataset.constant_se.max() < 0.2
    unstretched = replace(declaration, stretch=1.0)
    again = unstretched.expect(unstretched.run(0, "cpu"), 0).constant.isel(part=1).mean("seed")
    for k, name in enumerate(("scaled_late", "apart_late")):  # other prompts, queries as long
        assert again[k].item() == pytest.approx(dataset[name].sel(case="trained").mean().item(), rel=0.25)
    spread = dataset.marginal_se * (3 * declaration.trials) ** 0.5 / dataset.marginal
    assert 0.3 < spread.median() < 3
    ends = dataset.marginal.sel(case="untrained").isel(n=[0, -1])
    assert ends[1] < 0.1 * ends[0] and dataset.sizes["seed"] == 3
    assert drawn(figures.marginal_updates, dataset)
    with pytest.raises(ValueError, match="those of softmax attention"):
        replace(MARGINAL_UPDATES.quick, training=KINDS["gru"]).run(0, "cpu")


def test_a_wrong_share_turns_the_formula_red(monkeypatch):
    declaration = replace(MARGINAL_UPDATES.quick, training=TINY, trials=4, N=20, first=5, matrices=1)
    right = convergence.newest_share
    monkeypatch.setattr(convergence, "newest_share", lambda scores: right(scores) * (1 + 1e-9))
    assert declaration.run(0, "cpu").formula.max() > 1e-13


def test_layers_on_a_tiny_declaration():
    declaration = replace(LAYERS_COMPARED.quick, **KINDS, trials=100, tasks=50, held_out=40, N=30, first=8)
    dataset = declaration.expect(declaration.run(0, "cpu"), 0)
    for claim in (claims.D28, claims.D28b):
        judgement = claim.judge(dataset)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert claims.D29c.judge(dataset).verdict == FAILS  # untrained
    weights = {name: w[1] for name, w in fresh(KINDS["gru"], 0, "cpu").weights.items()}
    network, prompts = KINDS["gru"].model.network(), regression(3).sample(stream(0, "held-out/1"), (50,), 30)
    y = torch.cat([prompts.y, prompts.y_query[:, None]], -1)
    loss = (prefix_predictions(network, weights, prompts) - y).square().mean(0)
    assert np.allclose(dataset.loss.sel(layer="GRU", state="trained").isel(seed=1), loss, rtol=1e-6)
    assert torch.equal(predicted(network, weights, prompts)[7], prefix_predictions(network, weights, prompts)[7])
    assert drawn(figures.layers, dataset)
    with pytest.raises(ValueError, match="as many replicates"):
        replace(declaration, gru=replace(KINDS["gru"], replicates=2)).run(0, "cpu")


def test_layer_claims_on_made_up_numbers():
    layers, states = ["softmax attention", "tanh RNN", "GRU"], ["trained", "untrained"]
    dims, ones = ("layer", "state", "seed"), np.ones((3, 2, 3))
    loss = np.array([[0.05, 2.0], [0.13, 2.1], [0.01, 2.2]])[..., None] * ones
    made_up = xr.Dataset(
        {
            "loss": ((*dims, "N"), np.stack([0.6 * ones, loss], -1)),
            "loss_end": (dims, loss),
            "loss_end_se": (dims, 0.001 * ones),
            "loss_zero": (dims, 2 * ones),
        },
        coords={"layer": layers, "state": states, "N": [2, 50]},
    )
    verdicts = {c.id: c.judge(made_up) for c in (claims.D29, claims.D29b, claims.D29c, claims.D29d)}
    assert [v.verdict for v in verdicts.values()] == [NOT_REPRODUCED, HOLDS, HOLDS, HOLDS]
    assert {v.control_verdict for v in verdicts.values()} == {FAILS}
    assert verdicts["D29b"].value == pytest.approx(-0.04) and verdicts["D29"].value == pytest.approx(0.02)


def test_rates_on_a_tiny_declaration():
    training = replace(KINDS["rnn"], N=12)
    declaration = replace(
        RNN_RATE.quick, training=training, faster=training, attention=replace(TINY, N=12), trials=60, tasks=40, first=3
    )
    dataset = declaration.run(0, "cpu")
    assert np.allclose(dataset.loss_rnn, dataset.loss_rnn_faster)
    assert abs(xr.concat([dataset.slope_rnn, dataset.slope_rnn_faster], "rate")).max() <= 0.2
    assert abs(dataset.slope_attention).min() > 0.2
    made_up = dataset.assign(
        loss_rnn_faster=0 * dataset.loss_rnn + [0.3, 0.02, 0.9], loss_attention=0.04 + 0 * dataset.loss_rnn
    )
    judgement = claims.D29f.judge(made_up)
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS) and judgement.value == pytest.approx(0.5)
    with pytest.raises(ValueError, match="share N, d"):
        replace(declaration, faster=KINDS["rnn"]).run(0, "cpu")
