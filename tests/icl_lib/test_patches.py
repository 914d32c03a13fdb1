"""Patches: the exactness of the theorems on many shapes, the least norm, what a fault would do, and violated hypotheses."""

import pytest
import torch

from icl_lib.models.contextual.blocks import Block, NoSkip, OuterSkip, PreNorm, State
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention, without
from icl_lib.models.contextual.norms import LayerNorm, NoNorm, RMSNorm
from icl_lib.patches.network import forward, patched_block, patched_network
from icl_lib.patches.rank_one import rank_one, redirection
from icl_lib.patches.sites import Bias, Gain, Matrix, MatrixAndGain, Nowhere
from icl_lib.seeds import stream
from papers.dherin.modern_parts import MixtureOfExperts, Parallel, PostNormGatedMLP, RotarySoftmaxAttention, SandwichNorm
from papers.dherin.network import Network, Regression, Vocabulary
from papers.dherin.recurrent_layers import GRU, TanhRNN

LIKE = torch.zeros((), dtype=torch.float64)
D, R = 24, RMSNorm(1e-6)
ROTARY = RotarySoftmaxAttention(heads=3, head_width=8, inputs=D, outputs=D)
SANDWICH = Block(SandwichNorm(ROTARY, R), PostNormGatedMLP(D, 40, "gelu", 1e-6))
ARCHITECTURES = {
    "vanilla, bias": (Block(PreNorm(ROTARY, LayerNorm(1e-5)), MLP(D, (40,), D, "gelu")), Bias("b_out")),
    "vanilla, matrix": (Block(PreNorm(ROTARY, LayerNorm(1e-5)), MLP(D, (40,), D, "gelu")), Matrix("W_out")),
    "no norm, deep MLP": (Block(PreNorm(ROTARY, NoNorm()), MLP(D, (40, 30), D, "relu")), Bias("b_out")),
    "outer skip": (Block(OuterSkip(ROTARY), MLP(D, (40,), D, "tanh")), Bias("b_out")),
    "Llama": (Block(PreNorm(ROTARY, R), GatedMLP(D, 40, "silu")), Matrix("W_down")),
    "Gemma": (SANDWICH, Gain("m_post")),
    "Gemma, well conditioned": (SANDWICH, MatrixAndGain("W_down", "m_post")),
    "parallel": (Block(Parallel(ROTARY, R), GatedMLP(D, 40, "silu")), Matrix("W_down")),
    "experts": (Block(PreNorm(ROTARY, R), MixtureOfExperts(D, 40, 4, 2, "silu")), Matrix("W_down")),
}


def draw(name: str, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return ((found - expected).norm(dim=-1) / expected.norm(dim=-1)).max().item()


def test_the_rank_one_matrix_by_hand():
    """change (2, 4), a = (1, 1): D = [[1, 1], [2, 2]]; it sends a to (2, 4) and (1, -1) to 0."""
    found = rank_one(torch.tensor([2.0, 4.0]), torch.tensor([1.0, 1.0]))
    assert found.tolist() == [[1, 1], [2, 2]]


def test_the_update_has_the_least_norm():
    """Least squares with a pseudo-inverse finds the same matrix: the least-norm solution of D a = W DeltaA."""
    W, a, full = draw("W", 6, 5), draw("a", 5), draw("full", 5)
    update = redirection(W, a, full)
    assert torch.allclose((W + update) @ a, W @ full, rtol=1e-13)
    assert torch.allclose(update, torch.outer(W @ (full - a), torch.linalg.pinv(a[:, None])[0]), rtol=1e-12)
    assert torch.linalg.matrix_rank(update) == 1
    assert torch.allclose(update.norm(), (W @ (full - a)).norm() / a.norm(), rtol=1e-13)


def test_no_epsilon_stands_in_the_denominator():
    """At |a| = 1e-9 an epsilon of 1e-12 would already change the third digit; at a = 0 there is nothing to divide by."""
    W, a, full = draw("W", 6, 5), 1e-9 * draw("a", 5), draw("full", 5)
    assert relative((W + redirection(W, a, full)) @ a, W @ full) < 1e-13
    batch = torch.stack([a, 0 * a])
    with pytest.raises(ValueError, match="1 of 2 vectors that the patched matrix reads are 0"):
        redirection(W, batch, full.expand(2, 5))


@pytest.mark.parametrize("Y", [[], [0], [7, 2, 11], range(12)], ids=["nothing", "one", "three", "all"])
@pytest.mark.parametrize(
    "layer",
    [SoftmaxAttention(1, 5, 9, 16), SoftmaxAttention(4, 3, 9, 16), LinearAttention(4, 9, 16), TanhRNN(9, 16), GRU(9, 16)],
    ids=["one head", "four heads", "linear", "RNN", "GRU"],
)
def test_a_contextual_block_without_part_of_its_context(layer, Y):
    """T_W(C, x) = T_{W + DeltaW(Y)}(C without Y, x) for every layer and subset."""
    block = Block(NoSkip(layer), MLP(16, (20, 11), 9, "gelu"))
    weights, prompts = block.start(stream(0, "block"), (), LIKE), draw("prompts", 6, 13, 9)
    full, bare = (block.mix(weights, tokens).at(-1) for tokens in (prompts, without(prompts, Y)))
    patched = patched_block(block, Nowhere(), weights, bare, full)
    expected = block(weights, prompts)[:, -1]
    assert relative(block(patched, without(prompts, Y))[:, -1], expected) < 1e-13
    update = patched["W"] - weights["W"]
    if len(Y):
        assert relative(block(weights, without(prompts, Y))[:, -1], expected) > 1e-3
        assert (torch.linalg.matrix_rank(update, atol=1e-10) == 1).all()
    else:
        assert not update.any()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_network_without_context_at_every_position(name):
    block, site = ARCHITECTURES[name]
    network = Network(block, 5, Vocabulary(31, D, R))
    weights = network.start(stream(0, name), (), LIKE)
    tokens = network.embed(weights, torch.randint(31, (2, 17), generator=stream(0, "words")))
    states, out = network.states(weights, tokens)
    targets = [type(state)(state.z[..., None, :], state.v[..., None, :]) for state in states]
    patched, left = patched_network(network, site, weights, targets, tokens[..., None, :])
    expected = network.read(weights, out)
    assert relative(network.read(weights, left)[..., 0, :], expected) < 1e-12
    assert relative(network.read(weights, forward(network, patched, tokens[..., None, :]))[..., 0, :], expected) < 1e-12
    unpatched = network.read(weights, forward(network, network.blocks(weights), tokens[..., None, :]))[..., 0, :]
    assert relative(unpatched[:, 1:], expected[:, 1:]) > 0.1 and relative(unpatched[:, 0], expected[:, 0]) < 1e-12


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("kept", [[16], [0, 3, 9, 16], list(range(17))], ids=["none kept", "three kept", "all kept"])
def test_a_network_that_keeps_part_of_its_context(name, kept):
    block, site = ARCHITECTURES[name]
    network = Network(block, 4, Vocabulary(31, D, R))
    weights = network.start(stream(1, name), (), LIKE)
    tokens = network.embed(weights, torch.randint(31, (17,), generator=stream(1, "words")))
    states, out = network.states(weights, tokens)
    positions = torch.tensor(kept)
    patched, left = patched_network(network, site, weights, [state.at(-1) for state in states], tokens[kept], positions)
    assert relative(left[-1], out[-1]) < 1e-12
    assert torch.equal(forward(network, patched, tokens[kept], positions), left)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("vanilla, bias", Nowhere()),
        ("Llama", Nowhere()),
        ("experts", Nowhere()),
        ("parallel", Nowhere()),
        ("Gemma", Nowhere()),
        ("Gemma", Matrix("W_down")),
    ],
)
def test_a_block_needs_its_site(name, wrong):
    """Without the second half of the patch, or with a matrix behind a norm, the output is wrong."""
    block, _ = ARCHITECTURES[name]
    network = Network(block, 4, Vocabulary(31, D, R))
    weights = network.start(stream(2, name), (), LIKE)
    tokens = network.embed(weights, torch.randint(31, (17,), generator=stream(2, "words")))
    states, out = network.states(weights, tokens)
    _, left = patched_network(network, wrong, weights, [state.at(-1) for state in states], tokens[-1:], torch.tensor([16]))
    assert relative(left[-1], out[-1]) > 0.02


def test_long_prompts_deep_networks_and_nine_dimensions():
    """N = 1000, 32 blocks, d = 9, one head."""
    width, norm = 16, RMSNorm(1e-6)
    layer = SoftmaxAttention(heads=1, head_width=16, inputs=width, outputs=width)
    network = Network(Block(PreNorm(layer, norm), GatedMLP(width, 24, "silu")), 32, Regression(10, width, norm))
    weights = network.start(stream(0, "deep"), (), LIKE)
    tokens = network.embed(weights, draw("long", 1001, 10))
    states, out = network.states(weights, tokens)
    _, left = patched_network(network, Matrix("W_down"), weights, [state.at(-1) for state in states], tokens[-1:])
    assert relative(network.read(weights, left), network.read(weights, out[-1:])) < 1e-12


def test_violated_hypotheses_are_named():
    block = Block(NoSkip(SoftmaxAttention(1, 2, 3, 4)), MLP(4, (5,), 3, "relu"))
    weights = block.start(stream(0, "zero"), (), LIKE)
    tokens = draw("tokens", 4, 3)
    tokens[-1] = 0  # A(x) = W_O W_V x = 0
    with pytest.raises(ValueError, match="needs A\\(C without Y, x\\) != 0"):
        patched_block(block, Nowhere(), weights, block.mix(weights, tokens[-1:]).at(-1), block.mix(weights, tokens).at(-1))
    with pytest.raises(ValueError, match="states of 1 and 4 tokens: give those of one token"):
        patched_block(block, Nowhere(), weights, block.mix(weights, tokens[:1]), block.mix(weights, tokens))
    two = block.mix(weights, tokens[:2])
    with pytest.raises(ValueError, match="states of 2 and 1 tokens"):
        patched_block(block, Nowhere(), weights, State(two.z, two.v[:1]), two.at(-1))
    feed_forward = PostNormGatedMLP(4, 6, "gelu", 1e-6)
    weights = Block(NoSkip(SoftmaxAttention(1, 2, 4, 4)), feed_forward).start(stream(0, "post"), (), LIKE)
    z, difference = draw("z", 4), draw("difference", 4)
    dead = {**weights, "W_down": weights["W_down"] * torch.tensor([1, 1, 0, 1])[:, None]}
    with pytest.raises(ValueError, match="no gain can move it"):
        Gain("m_post").absorb(feed_forward, dead, z, difference)
    silent = {**weights, "m_post": weights["m_post"] * torch.tensor([1, 0, 1, 1])}
    with pytest.raises(ValueError, match="a gain or the whole output is 0"):
        MatrixAndGain("W_down", "m_post").absorb(feed_forward, silent, z, difference)


@pytest.mark.parametrize("name", ["Gemma", "Gemma, well conditioned", "Llama", "vanilla, bias", "experts"])
def test_a_site_adds_the_difference_and_nothing_else(name):
    block, site = ARCHITECTURES[name]
    weights = block.start(stream(3, name), (), LIKE)
    z, difference = draw("z", 5, D), draw("difference", 5, D)
    changed = site.absorb(block.feed_forward, weights, z, difference)
    found = block.feed_forward(changed, z[:, None])[:, 0] - block.feed_forward(weights, z[:, None])[:, 0]
    assert relative(found, difference) < 1e-11
