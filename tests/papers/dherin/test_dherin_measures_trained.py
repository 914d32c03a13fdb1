"""Measures on trained networks of Dherin et al., on planted answers and by hand: differences, standard errors, sizes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.s3_implicit_dynamics.linear_loss import LINEAR_LOSS
from papers.dherin.s4_1_agreement import agreement, agreement_deep
from papers.dherin.s4_3_convergence import layers_compared, rnn_rate
from papers.dherin.static_patches.static_deep import STATIC_DEEP
from papers.dherin.static_patches.static_one_block import STATIC_ONE_BLOCK
from papers.dherin.trained import ManyBlocks, OneBlock, Trained, Training, predictions, regression, tokens

LIKE = torch.zeros((), dtype=torch.float64)
TINY = Training("", OneBlock("softmax attention", 2, 8, 2, 16), 6, every_prefix=False, B=4, rate=1e-2, steps=2, replicates=2)
DEEP = replace(TINY, model=ManyBlocks(depth=2, d=2, width=8, heads=2, hidden=12), replicates=1)


def untrained(training: Training, seed: int, *_) -> Trained:
    """Networks as they start stand in for trained ones."""
    network = training.model.network()
    return Trained(network, network.start(stream(seed, "untrained"), (training.replicates,), LIKE))


def test_differences_from_the_context_by_hand(monkeypatch):
    """The largest |difference| over prompts, over the root mean square with the context; losses over that of 0."""
    exact = torch.tensor([[3.0, 1.0], [3.0, 1.5], [2.0, 1.0], [3.0, 1.0], [3.0, 1.0]], dtype=torch.float64)
    monkeypatch.setattr(
        agreement, "answers", lambda network, weights, prompts, before: (exact.to(prompts.y), torch.zeros(2, 1, 1))
    )
    prompts = regression(2).sample(stream(0, "compare"), (2,), 6)._replace(y_query=torch.tensor([2.0, 2.0]).double())
    found, _ = agreement.compare(TINY.model.network(), {"W": LIKE}, prompts, None)
    size = 5**0.5  # (9 + 1)/2
    assert found["difference"] == pytest.approx([0, 0.5 / size, 1 / size, 0, 0])
    assert found["difference_single"] == pytest.approx([0, 0.5 / size, 1 / size, 0, 0])
    loss = np.array([1.0, 0.625, 0.5, 1.0, 1.0])
    assert found["loss"] == pytest.approx(loss) and found["loss_zero"] == 4
    assert found["gap"] == pytest.approx((1 - loss) / 4) and found["gap_single"] == pytest.approx((1 - loss) / 4)


def test_standard_error_of_a_deep_network_is_that_of_a_mean():
    found = untrained(DEEP, 0)
    prompts = regression(2).sample(stream(0, "deep"), (9,), 6)
    square = (found.network(found.replicate(0), tokens(prompts))[:, -1] - prompts.y_query).square().numpy()
    errors = agreement_deep.errors(found.network, found.replicate(0), prompts)
    assert errors["loss"] == pytest.approx(square.mean()) and errors["loss_se"] == pytest.approx(square.std(ddof=1) / 3)


def test_size_of_a_patch_by_hand():
    """Patches of length 1, 2 and 10 of a matrix of length 5: the median is 2/5."""
    W = torch.tensor([[3.0, 4.0]])
    changed = W + torch.tensor([[[1.0, 0.0]], [[0.0, 2.0]], [[6.0, 8.0]]])
    assert agreement_deep._size(changed, W) == pytest.approx(0.4)


def test_steps_that_raise_the_error_are_counted():
    """Over all tasks and steps, one network: by a loop over the predictions after 0 .. N tokens."""
    declaration = replace(LINEAR_LOSS.quick, training=TINY, N=4, prompts=2, tasks=5, slope_at=(1.0,))
    found, prompts = untrained(TINY, 0), regression(2).sample(stream(0, "up"), (5,), 4)
    measured = declaration.measure(found, "untrained", tokens(prompts), prompts.y_query)
    for s in range(2):
        after = []
        for i in range(5):
            cut = torch.cat([tokens(prompts)[:, :i], tokens(prompts)[:, -1:]], 1)
            after.append((found.network(found.replicate(s), cut)[:, -1] - prompts.y_query).square())
        rising = [bool(after[i + 1][k] > after[i][k]) for k in range(5) for i in range(4)]
        assert 0 < sum(rising) < 20 and sum(rising) != 10 and measured["up_error"][s] == pytest.approx(np.mean(rising))


def test_standard_error_at_the_end_is_that_of_a_mean():
    declaration = replace(layers_compared.LAYERS_COMPARED.quick, trials=3, tasks=3, held_out=16, N=6, first=2)
    found = untrained(TINY, 0)
    measured = declaration.read(found.network, found.replicate(0), 2, 0, 0)
    end = regression(2).sample(stream(0, "end/0"), (16,), 6)
    square = (predictions(found.network, found.replicate(0), end) - end.y_query).square().numpy()
    assert measured["loss_end"] == pytest.approx(square.mean())
    assert measured["loss_end_se"] == pytest.approx(square.std(ddof=1) / 4)


def test_each_rate_has_its_own_networks(monkeypatch):
    """The training's rate stands for the networks that it makes."""
    tiny = replace(TINY, N=5)
    declaration = replace(
        rnn_rate.RNN_RATE.quick,
        training=tiny,
        faster=replace(tiny, rate=2e-2),
        attention=replace(tiny, rate=3e-2),
        trials=2,
        tasks=2,
        first=2,
    )
    monkeypatch.setattr(rnn_rate, "trained", lambda training, *_: untrained(training, round(100 * training.rate)))
    monkeypatch.setattr(
        rnn_rate.RNNRate, "read", lambda self, networks, s, *_: (float(networks.weights["blocks.W"][s].sum()), 0.0)
    )
    dataset = declaration.run(0, "cpu")
    for kind, seed in (("rnn", 1), ("rnn_faster", 2), ("attention", 3)):
        W = untrained(tiny, seed).weights["blocks.W"]
        assert dataset[f"loss_{kind}"].values == pytest.approx(W.flatten(1).sum(-1).numpy())


def test_directions_above_the_ridge_by_eigenvalues():
    """Those of H^T H above lambda_0 |H^T H|_F^2 / tr(H^T H), block after block, for the queries alone."""
    declaration = replace(STATIC_DEEP.quick, training=DEEP, deeper=DEEP, N=6, contexts=6, queries=3, K=(1, 9), strength=0.03)
    found = untrained(DEEP, 0)
    network, weights = found.network, found.replicate(0)
    asked = declaration.ask(network, weights, DEEP, 0)
    ranks, alone = [], asked.alone[:, :9]
    for block in network.blocks(weights):
        state = network.block.mix(block, alone)
        H = network.block.feed_forward.hidden(block, state.z)[..., 0, :].numpy()
        values = [np.linalg.eigvalsh(each.T @ each) for each in H]
        ranks.append([(each > 0.03 * (each**2).sum() / each.sum()).sum() for each in values])
        alone = network.block.feed(block, state)
    assert declaration.rank(network, weights, asked).tolist() == ranks and np.min(ranks) < 9


def test_wrong_targets_are_those_of_another_context_at_the_same_queries():
    """Row by row: behind the context before, the state of a query, and what it adds to W's product in one block."""
    declaration = replace(STATIC_DEEP.quick, training=DEEP, deeper=DEEP, N=6, contexts=6, queries=3, K=(1, 2))
    found = untrained(DEEP, 0)
    network, weights = found.network, found.replicate(0)
    asked = declaration.ask(network, weights, DEEP, 0)
    before = tokens(regression(2).sample(stream(0, f"contexts/{DEEP!r}"), (6,), 6))[:, :-1].roll(1, 0)
    for c, q in ((0, 1), (3, 4)):
        joined = torch.cat([network.embed(weights, before)[c], asked.alone[c, q]])[None]
        for state, expected in zip(asked.elsewhere, network.states(weights, joined)[0], strict=True):
            assert torch.allclose(state.z[c, q], expected.at(-1).z[0])

    one = replace(STATIC_ONE_BLOCK.quick, training=TINY, N=6, contexts=6, queries=3, K=(1, 2))
    found = untrained(TINY, 0)
    network, block = found.network, found.network.blocks(found.replicate(0))[0]
    asked = one.ask(network, block, 2, 2, "0", 0)
    before = tokens(regression(2).sample(stream(0, "contexts/0"), (6,), 6))[:, :-1].roll(1, 0)
    x = normal(stream(0, "queries/0"), (6, 5, 2), before)
    layer = network.block.joint.layer
    for c, q in ((0, 1), (3, 4)):
        query = torch.cat([x[c, q], torch.zeros(1, dtype=x.dtype)])[None]
        change = layer(block, torch.cat([before[c], query])[None]) - layer(block, query[None])
        assert torch.allclose(asked.elsewhere[c, q], (change @ block["W"].mT)[0])
