"""Sequel 2: theory by second routes and by hand, a foreign block, experiments on tiny declarations, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.feed_forward import GatedMLP
from icl_lib.models.contextual.weights import linear
from icl_lib.patches.network import patched_block
from icl_lib.patches.rank_one import redirection
from icl_lib.patches.sites import Gain, Matrix, MatrixAndGain, Nowhere
from icl_lib.seeds import stream
from papers.dherin.architectures import SITES, EachExpert, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.modern_blocks import claims, figures
from papers.dherin.modern_blocks import modern_blocks as experiment
from papers.dherin.modern_blocks.depth import DEPTH
from papers.dherin.modern_blocks.gemma import GEMMA, Toward, decode
from papers.dherin.modern_blocks.modern_blocks import MODERN_BLOCKS, Text, changes, damped, each_alone, everywhere, exact
from papers.dherin.modern_parts import MixtureOfExperts, PostNormGatedMLP
from papers.dherin.theory import modern_blocks as theory
from tests.papers.drawn import drawn

SIZES = Sizes(width=12, heads=2, hidden=20, experts=4, active=2, vocabulary=19)
RNG = np.random.default_rng(0)


def draw(name: str, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def test_updates_by_hand_and_against_the_library():
    W, z, z_C = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 0.0]), np.array([0.0, 2.0])
    assert theory.input_update(W, z, z_C).tolist() == [[-1, 0], [1, 0]]
    assert theory.output_update(np.array([2.0, -1.0]), np.array([1.0, 1.0])).tolist() == [[1, 1], [-0.5, -0.5]]
    W, z, z_C = draw("W", 6, 5), draw("z", 5), draw("z_C", 5)
    assert np.allclose(theory.input_update(W.numpy(), z.numpy(), z_C.numpy()), redirection(W, z, z_C), rtol=1e-13)
    feed_forward = GatedMLP(5, 7, "silu")
    weights = {name: draw(name, *shape) for name, shape in feed_forward.shapes.items()}
    h, d = feed_forward.hidden(weights, z[None])[0], draw("d", 5)
    changed = Matrix("W_down").absorb(feed_forward, weights, z, d)["W_down"] - weights["W_down"]
    assert np.allclose(theory.output_update(d.numpy(), h.numpy()), changed, atol=1e-14)


def test_the_ratio_of_the_experts_is_that_of_the_two_changes():
    assert theory.expert_ratio(np.array([0.5, 0.5]), np.array([1.0, 2.0])) == pytest.approx(1.25)
    feed_forward, z, d = MixtureOfExperts(5, 7, 4, 2, "silu"), draw("ze", 5), draw("de", 5)
    weights = {name: draw(name + "e", *shape) for name, shape in feed_forward.shapes.items()}
    norms = [
        (site.absorb(feed_forward, weights, z, d)["W_down"] - weights["W_down"]).norm().item()
        for site in (EachExpert("W_down"), Matrix("W_down"))
    ]
    shares = feed_forward.shares(weights, z[None])[0]
    active = shares > 0
    parts = feed_forward.hidden(weights, z[None])[0].unflatten(-1, (4, 7)) / shares[:, None]
    expected = theory.expert_ratio(shares[active].numpy(), parts[active].norm(dim=-1).numpy())
    assert norms[0] / norms[1] == pytest.approx(expected, rel=1e-12) and expected > 1
    found = feed_forward(EachExpert("W_down").absorb(feed_forward, weights, z, d), z[None])[0]
    assert relative(found, feed_forward(weights, z[None])[0] + d) < 1e-14


def test_norm_and_gain_by_hand_and_against_the_library():
    u, d, m = np.array([1.0, -1.0]), np.array([-2.0, 4.0]), np.ones(2)
    n = theory.normalised(u, 0.0)
    assert n.tolist() == [1, -1] and theory.gain_change(d, n).tolist() == [-2, -4]
    assert theory.target(d, n, m).tolist() == [-1, 3] and theory.rms(np.array([1.0, 7.0])) == 5
    turned, factor = theory.conditioned(u, d, m, 0.0)
    assert np.allclose(turned, np.array([-1, 3]) / 5**0.5) and factor == pytest.approx(5**0.5)
    assert theory.scale_bound(d, n, m) == pytest.approx(10**0.5)
    assert theory.last_bit(1.0, 1e-3, 2.0**-9) == pytest.approx(1.953, abs=1e-3)
    feed_forward, z, d = PostNormGatedMLP(6, 9, "gelu", 1e-2), draw("zg", 6), draw("dg", 6)
    weights = {name: draw(name + "g", *shape) for name, shape in feed_forward.shapes.items()}
    m = weights["m_post"].numpy()
    u = (weights["W_down"] @ feed_forward.hidden(weights, z[None])[0]).numpy()
    n = theory.normalised(u, 1e-2)
    assert np.allclose(n, feed_forward.normalised(weights, z[None])[0], rtol=1e-13)
    gain = Gain("m_post").absorb(feed_forward, weights, z, d)["m_post"].numpy()
    assert np.allclose(gain - m, theory.gain_change(d.numpy(), n), rtol=1e-12)
    both = MatrixAndGain("W_down", "m_post").absorb(feed_forward, weights, z, d)
    turned, factor = theory.conditioned(u, d.numpy(), m, 1e-2)
    assert np.allclose(both["W_down"] @ feed_forward.hidden(weights, z[None])[0], turned, rtol=1e-12)
    assert np.allclose(both["m_post"], factor * m, rtol=1e-12)
    none = {**weights, "W_down": torch.stack([weights["W_down"], 0 * weights["W_down"]])}
    with pytest.raises(ValueError, match="the whole output is 0"):
        MatrixAndGain("W_down", "m_post").absorb(feed_forward, none, torch.stack([z, z]), torch.stack([d, d]))
    assert abs(factor - 1) <= theory.scale_bound(d.numpy(), n, m) <= abs(gain / m - 1).max()


def test_nearest_against_a_general_minimiser():
    m, t = RNG.normal(1, 0.3, 5), 2 * RNG.normal(size=5)
    s = theory.nearest(m, t)
    ball = {"type": "ineq", "fun": lambda s: 1 - (s**2).mean()}
    found = minimize(lambda s: ((m * (s - t)) ** 2).sum(), 0 * t, constraints=ball, tol=1e-14)
    assert np.allclose(s, found.x, atol=1e-6) and theory.rms(s) == pytest.approx(1, abs=1e-12)
    assert theory.nearest(m, 0.1 * t / theory.rms(t)).tolist() == (0.1 * t / theory.rms(t)).tolist()
    assert np.allclose(theory.nearest(np.ones(2), np.array([3.0, 4.0])), np.array([3, 4]) / 12.5**0.5)


def test_tail_against_draws_and_by_hand():
    n = RNG.normal(size=(200_000, 8))
    n /= theory.rms(n)[:, None]
    d = RNG.normal(size=n.shape)
    assert theory.tail_share((2 / np.pi) ** 0.5, 8, 30.0) == pytest.approx((abs(d / n) > 30).mean(), rel=0.03)
    assert theory.sphere_density(2) == pytest.approx(1 / (np.pi * 2**0.5))  # n_1 = sqrt(2) cos(angle)
    assert theory.sphere_density(3) == pytest.approx(0.5 / 3**0.5)  # Archimedes: uniform between -sqrt(3) and sqrt(3)
    assert theory.sphere_density(10**6) == pytest.approx((2 * np.pi) ** -0.5, rel=1e-5)


class Foreign(nn.Module):
    """A pre-norm block made of PyTorch's own modules."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width, bias=False)

    def attended(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(tokens.shape[-2], tokens.shape[-2], dtype=torch.bool).triu(1)
        return tokens + self.attention(tokens, tokens, tokens, attn_mask=mask, need_weights=False)[0]

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        v = self.attended(tokens)
        return v + self.down(nn.functional.gelu(self.up(self.norm(v))))


class ForeignFeedForward:
    """Its second half in the words of the protocol; weights are PyTorch's named parameters."""

    reads = ("up.weight",)

    def hidden(self, weights, z):
        return nn.functional.gelu(linear(weights, "up.weight", z, "up.bias"))

    def __call__(self, weights, z):
        return linear(weights, "down.weight", self.hidden(weights, z))


class ForeignBlock:
    """The whole block in the words of the protocol; nothing of it comes from this library."""

    def __init__(self, module: Foreign):
        self.module, self.feed_forward = module, ForeignFeedForward()

    def mix(self, weights, tokens, positions=None):
        v = self.module.attended(tokens)
        return State(self.module.norm(v), v)

    def feed(self, weights, state):
        return state.v + self.feed_forward(weights, state.z)


def test_a_block_of_pytorch_modules_is_patched_exactly():
    module = Foreign(8, 12).double()
    for k, parameter in enumerate(module.parameters()):
        parameter.data = 0.5 * draw(f"foreign/{k}", *parameter.shape)
    block = ForeignBlock(module)
    with torch.no_grad():
        weights, tokens = {name: weight.detach() for name, weight in module.named_parameters()}, draw("foreign tokens", 1, 9, 8)
        expected = module(tokens)[:, -1]
        assert torch.allclose(block.feed(weights, block.mix(weights, tokens))[:, -1], expected, rtol=1e-13)
        full, bare = block.mix(weights, tokens).at(-1), block.mix(weights, tokens[:, -1:])
        patched = patched_block(block, Matrix("down.weight"), weights, bare, full)
        assert relative(block.feed(patched, bare)[:, 0], expected) < 1e-14
        half = patched_block(block, Nowhere(), weights, bare, full)
        assert relative(block.feed(half, bare)[:, 0], expected) > 0.05


def test_every_architecture_by_name():
    for name in SITES:
        built = architecture(name, 2, SIZES)
        weights, text = built.weights(0, 0), words(0, "text", SIZES, 7)
        assert built.network(weights, text).shape == (7, 19)
    same = [architecture(name, 2, SIZES).weights(3, 1) for name in ("experts", "experts, each")]
    assert all(torch.equal(same[0][key], same[1][key]) for key in same[0])
    with pytest.raises((ValueError, TypeError), match="GPT"):
        replace(DEPTH.quick, architectures=("GPT",))
    with pytest.raises(ValueError, match="even, whole number of channels"):
        replace(SIZES, heads=5)
    with pytest.raises(ValueError, match="active of at most experts"):
        replace(SIZES, active=SIZES.experts + 1)


@pytest.fixture(scope="module")
def blocks():
    return replace(MODERN_BLOCKS.quick, sizes=SIZES, depth=2, tokens=5, kept=(0.0, 0.5), seeds=1).run(0, "cpu")


def test_the_claims_hold_on_a_tiny_declaration(blocks):
    for claim in (claims.D41, claims.D42, claims.D43, claims.D44, claims.D45, claims.D48):
        judgement = claim.judge(blocks)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    inner, outer = blocks.size_in.sel(architecture="parallel"), blocks.size_out
    assert inner.max() <= 1e-13 < blocks.size_in.sel(architecture="Llama").max()
    assert (outer.sel(architecture="experts") <= (1 + 1e-9) * outer.sel(architecture="experts, each")).all()
    assert (blocks.agreement == 1).all() and blocks.error_kept.sel(kept=0.0).max() < 1e-13
    one = blocks.isel(architecture=[3])
    assert claims.D42.judge(one).verdict == HOLDS and claims.D44.judge(one).verdict == FAILS  # not run: no number


def test_a_transposed_target_or_a_wrong_chunk_would_show(blocks, monkeypatch):
    built = architecture("Llama", 3, SIZES)
    weights = built.weights(0, 0)
    tokens = built.network.embed(weights, words(0, "text", SIZES, 9))
    states, out = built.network.states(weights, tokens)
    expected = built.network.read(weights, out)
    text = Text(built.network, weights, tokens, states, expected)
    whole = everywhere(text, exact(built.site), 0, changes)
    monkeypatch.setattr(experiment, "CHUNK", 4)
    chunked = everywhere(text, exact(built.site), 0, changes)
    assert len(whole["error"]) == len(chunked["error"]) == 9
    assert whole["error"].max() < 1e-14 and chunked["error"].max() < 1e-14
    assert torch.allclose(whole["size_in"], chunked["size_in"])
    targets = [each_alone(state, torch.arange(9)) for state in states]
    for epsilon, least, most in ((0.0, 0, 1e-14), (1e-8, 1e-12, 1e-6)):
        _, left = damped(built.site, epsilon)(built.network, weights, targets, tokens[:, None])
        assert least <= relative(built.network.read(weights, left)[:, 0], expected).max() < most


def test_depth_on_a_tiny_declaration():
    tiny = replace(DEPTH.quick, sizes=SIZES, depths=(1, 3), tokens=8, positions=2, seeds=1)
    dataset = tiny.run(0, "cpu")
    assert np.allclose(dataset.error.sel(depth=1, patched="all but the last"), dataset.error.sel(depth=1, patched="none"))
    assert [claim.judge(dataset).verdict for claim in (claims.D46, claims.D46b)] == [HOLDS, HOLDS]
    assert drawn(figures.depth, dataset)
    with pytest.raises(ValueError, match="positions from 1 to tokens - 1"):
        replace(tiny, positions=8).run(0, "cpu")


def test_gemma_on_a_tiny_declaration():
    declaration = replace(GEMMA.quick, sizes=SIZES, depth=2, tokens=8, x=(3.0,), seeds=2)
    dataset = declaration.expect(declaration.run(0, "cpu"), 0)
    assert max(dataset.gap.sel(alone="nearest").max(), dataset.below.max()) <= 1e-9 < dataset.gap.sel(alone="turned").max()
    over = dataset.over
    assert over.sel(form="conditioned").max() <= 1 + 1e-9 and over.sel(form="published").min() >= 1 - 1e-9
    assert claims.D48c.judge(dataset).verdict == NOT_REPRODUCED and (dataset.floor.sel(precision="float64") == 0).all()
    assert claims.D47.judge(dataset).value < 0 and claims.D47.judge(dataset).control_verdict == FAILS
    assert (dataset.miss.sel(alone="nearest") <= dataset.miss.sel(alone="turned")).all()
    for figure in (figures.gemma, figures.alone):
        assert drawn(figure, dataset)
    with pytest.raises((ValueError, TypeError), match="float16"):
        replace(GEMMA.quick, precisions=("float16",)).run(0, "cpu")


def test_what_w_down_alone_reaches_inside_the_ball():
    """A target of RMS below 1 is reached to rounding, by an output u that is small against epsilon."""
    feed_forward, z = PostNormGatedMLP(6, 9, "gelu", 1e-6), draw("inside", 6)
    weights = {name: draw(name + "inside", *shape) for name, shape in feed_forward.shapes.items()}
    s = 0.7 * feed_forward.normalised(weights, z[None])[0].flip(0)
    changed = Toward("W_down", s).absorb(feed_forward, weights, z, torch.zeros(6, dtype=torch.float64))
    assert relative(feed_forward.normalised(changed, z[None])[0], s) < 1e-9


def test_patches_made_ahead_differ_from_those_made_in_place():
    built = architecture("Gemma", 3, SIZES)
    weights, text = built.weights(0, 0), words(0, "text", SIZES, 12)
    for dtype, made, most in ((torch.float64, "ahead", 1e-13), (torch.float32, "in place", 1e-5)):
        found, expected = decode(built, weights, text, dtype, made)
        assert relative(found, expected).max() < most


def test_bad_input_is_named():
    zero = np.zeros(2)
    for call, words_ in (
        (lambda: theory.input_update(np.eye(2), zero, zero), "z = 0"),
        (lambda: theory.output_update(zero, zero), "h = 0"),
        (lambda: theory.gain_change(zero, zero), "an entry of n is 0"),
        (lambda: theory.sphere_density(1), "D must be 2 or more"),
        (lambda: replace(MODERN_BLOCKS.quick, kept=(1.5,)).run(0, "cpu"), "at least 0 and of at most 1"),
    ):
        with pytest.raises(ValueError, match=words_):
            call()
