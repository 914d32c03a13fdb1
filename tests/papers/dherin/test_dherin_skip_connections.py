"""The appendix on skip connections: theory against the patches' code and by hand, the experiment, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

from icl_lib.companion import FAILS, HOLDS, Claim
from icl_lib.models.contextual.blocks import Block, OuterSkip, PreNorm
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import SoftmaxAttention, without
from icl_lib.models.contextual.norms import LayerNorm
from icl_lib.patches.network import patched_block
from icl_lib.patches.rank_one import redirection
from icl_lib.patches.sites import Bias
from papers.dherin.recurrent_layers import GRU
from papers.dherin.skip_connections import claims
from papers.dherin.skip_connections import skip_connections as experiment
from papers.dherin.skip_connections.skip_connections import SKIP_CONNECTIONS
from papers.dherin.theory import skip_connections as skip

TINY = replace(
    SKIP_CONNECTIONS.quick,
    layers=("softmax attention", "GRU"),
    d=1,
    N=5,
    width=6,
    heads=2,
    hidden=(7, 5),
    shares=(0.0, 0.4),
    networks=1,
    prompts=3,
)
LEAST = replace(TINY, layers=("softmax attention",), shares=(), prompts=1)
ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(scope="module")
def dataset():
    return TINY.run(0, "cpu")


def test_updates_by_hand():
    x, full, a, one, zero = np.array([1.0, 0]), np.array([1.0, 2]), np.array([2.0, 0]), np.eye(2), np.zeros(2)
    update = skip.weight_update(one, a, full)
    assert update.tolist() == [[-0.5, 0], [1, 0]]
    assert skip.bias_update(x + a, x + full).tolist() == [-1, 2]
    whole = skip.outer_skip_block(x, full, one, zero, one, zero)
    assert whole == pytest.approx([2 + np.tanh(1), 2 + np.tanh(2)])
    assert skip.outer_skip_block(x, a, one + update, zero, one, skip.bias_update(a, full)) == pytest.approx(whole)
    assert skip.layer_norm(np.array([3.0, 0.0]), np.ones(2), zero, 0.0).tolist() == [1, -1]


def test_updates_are_the_patches():
    """numpy's formula and the library's torch code, written apart."""
    W, z, full = draw(0, 7, 6), draw(1, 4, 6), draw(2, 4, 6)
    assert np.allclose(skip.weight_update(W.numpy(), z.numpy(), full.numpy()), redirection(W, z, full), rtol=1e-13)
    least = torch.linalg.lstsq(z[0][None], ((full - z)[0] @ W.mT)[None], driver="gelsd").solution.mT
    assert np.allclose(skip.weight_update(W.numpy(), z[0].numpy(), full[0].numpy()), least, atol=1e-13)


def test_the_block_of_the_appendix_is_the_librarys():
    """Formula for one token against Block(OuterSkip), and the theorem without the library's patches."""
    block = Block(OuterSkip(SoftmaxAttention(2, 3, 6, 6)), MLP(6, (7,), 6, "tanh"))
    weights = block.start(torch.Generator().manual_seed(3), (), draw(0))
    prompt, Y = draw(4, 9, 6), [0, 3, 4]
    W, b, W_out, b_out = (weights[name].numpy() for name in ("W", "b", "W_out", "b_out"))
    full, a = (block.joint.layer(weights, tokens).numpy() for tokens in (prompt, without(prompt, Y)))
    x = prompt[-1].numpy()
    whole = skip.outer_skip_block(x, full, W, b, W_out, b_out)
    assert np.allclose(whole, block(weights, prompt)[-1], rtol=1e-13)
    update, shift = skip.weight_update(W, a, full), skip.bias_update(x + a, x + full)
    assert np.allclose(skip.outer_skip_block(x, a, W + update, b, W_out, b_out + shift), whole, rtol=1e-13)
    assert np.allclose(shift, full - a, atol=1e-15)
    assert not np.allclose(skip.outer_skip_block(x, a, W + update, b, W_out, b_out), whole, rtol=1e-3)


def test_the_factor_of_the_outer_formula_without_norms():
    """(W + DeltaW) z = W z + W DeltaA (a.z)/|a|^2: right where x is orthogonal to a."""
    W, x, a, full = (draw(k, *shape).numpy() for k, shape in enumerate([(7, 6), (6,), (6,), (6,)]))
    z = x + a
    found = (W + skip.weight_update(W, a, full)) @ z
    assert np.allclose(found, W @ z + W @ (full - a) * (1 + a @ x / (a @ a)))
    x = x - (x @ a) / (a @ a) * a
    assert np.allclose((W + skip.weight_update(W, a, full)) @ (x + a), W @ (x + full))


def test_layer_norm_is_the_librarys():
    weights = {"m_feed": draw(1, 6), "b_feed": draw(2, 6)}
    x = draw(3, 5, 6)
    found = skip.layer_norm(x.numpy(), weights["m_feed"].numpy(), weights["b_feed"].numpy(), 1e-5)
    assert np.allclose(found, LayerNorm(1e-5)(weights, "feed", x), rtol=1e-13)


def test_the_usual_block_from_the_formulas_alone():
    block = Block(PreNorm(GRU(6, 6), LayerNorm(1e-5)), MLP(6, (7, 4), 6, "relu"))
    weights = block.start(torch.Generator().manual_seed(5), (), draw(0))
    prompt, Y = draw(6, 8, 6), [1, 6]
    full, bare = (block.mix(weights, tokens).at(-1) for tokens in (prompt, without(prompt, Y)))
    update = skip.weight_update(weights["W"].numpy(), bare.z[0].numpy(), full.z[0].numpy())
    shift = skip.bias_update(bare.v[0].numpy(), full.v[0].numpy())
    changed = {**weights, "W": weights["W"] + torch.from_numpy(update), "b_out": weights["b_out"] + torch.from_numpy(shift)}
    assert torch.allclose(block(changed, without(prompt, Y))[-1], block(weights, prompt)[-1], rtol=1e-12)
    library = patched_block(block, Bias("b_out"), weights, bare, full)
    assert torch.allclose(library["W"], changed["W"]) and torch.allclose(library["b_out"], changed["b_out"])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="is 0 for one of the prompts"):
        skip.weight_update(np.eye(2), np.zeros(2), np.ones(2))
    with pytest.raises((ValueError, TypeCheckError), match="linear attention"):  # the hook is the first to see a bad Literal
        replace(TINY, layers=("LSTM",)).run(0, "cpu")
    for bad, text in ((dict(shares=(0.5, 1.5)), "at least 0 and of at most 1"), (dict(N=0), "at least 1")):
        with pytest.raises(ValueError, match=text):
            replace(TINY, **bad).run(0, "cpu")


def test_experiment_on_a_tiny_declaration(dataset):
    assert dataset.share.values.tolist() == [0, 0.4, 1] and dataset["size"].values.tolist() == [0, 2, 5]
    assert dataset.error.sel(way="both parts").max() < 1e-13
    assert dataset.error.sel(way="no patch", share=0.0).max() == 0
    assert (dataset.error >= dataset["median"]).all()
    plain = dataset.sel(block="x inside, no norm")
    assert plain.error.sel(way=["one symbol, z", "one symbol, v"]).max() < 1e-13


def test_no_patch_is_the_block_without_Y(dataset):
    """The reading 'no patch' by another route: the network rebuilt from its streams, run without its context."""
    name = "softmax attention"
    block = TINY.blocks()[name]
    found = np.concatenate(list(TINY.errors(name, block, [5], 0)), 2)[experiment.WAYS.index("no patch"), 0]
    weights = block.start(experiment.stream(0, f"weights/{name}/0"), (), draw(0))
    drawn = experiment.tokens(experiment.regression(1).sample(experiment.stream(0, f"prompts/{name}/0"), (3,), 5))
    embedding = torch.randn(6, 2, generator=experiment.stream(0, f"embedding/{name}/0"), dtype=torch.float64) / 2**0.5
    prompt = drawn @ embedding.mT
    whole, alone = block(weights, prompt)[:, -1], block(weights, prompt[:, -1:])[:, -1]
    assert np.allclose(found[:3], (alone - whole).norm(dim=1) / whole.norm(dim=1))


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_and_their_controls_fail(claim, dataset):
    judged = claim.judge(dataset.assign_attrs(slug=claim.experiment))
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS)


def test_an_epsilon_in_the_denominator_is_seen(monkeypatch):
    def soft(change, a):
        return torch.einsum("...m,...n->...mn", change, a / (a.square().sum(-1, keepdim=True) + 1e-8))

    monkeypatch.setattr("icl_lib.patches.rank_one.rank_one", soft)
    assert claims.D35.check(LEAST.run(0, "cpu")).verdict(claims.D35.margin) == FAILS


def test_a_bias_of_the_wrong_sign_is_seen(monkeypatch):
    def absorb(self, feed_forward, weights, z, difference):
        return {**weights, self.name: weights[self.name] - difference}

    monkeypatch.setattr(Bias, "absorb", absorb)
    broken = LEAST.run(0, "cpu")
    for claim in (claims.D35, claims.D35c):
        assert claim.check(broken).verdict(claim.margin) == FAILS
