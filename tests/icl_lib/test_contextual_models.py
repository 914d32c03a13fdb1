"""Contextual layers, feed-forward parts, joints and networks against PyTorch's own, other routes, and cases done by hand."""

import dataclasses

import pytest
import torch
from torch.nn.functional import gelu, layer_norm, rms_norm, silu

from icl_lib.models.contextual.blocks import Block, NoSkip, OuterSkip, PreNorm
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention, without
from icl_lib.models.contextual.norms import LayerNorm, NoNorm, RMSNorm
from icl_lib.models.contextual.weights import linear, start
from icl_lib.seeds import stream
from papers.dherin.along import states_along
from papers.dherin.modern_parts import MixtureOfExperts, Parallel, PostNormGatedMLP, RotarySoftmaxAttention, SandwichNorm
from papers.dherin.network import LastEntry, Network, Regression, Vocabulary
from papers.dherin.recurrent_layers import GRU, TanhRNN

LIKE = torch.zeros((), dtype=torch.float64)
LAYERS = [
    SoftmaxAttention(heads=4, head_width=3, inputs=5, outputs=7),
    LinearAttention(width=4, inputs=5, outputs=7),
    TanhRNN(inputs=5, outputs=7),
    GRU(inputs=5, outputs=7),
]


def draw(name: str, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def weights_of(part, name: str = "weights") -> dict[str, torch.Tensor]:
    return start(part.shapes, stream(0, name), (), LIKE)


def rows(T: int) -> torch.Tensor:
    return torch.arange(T)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_the_three_ways_to_ask_a_layer_agree(layer):
    """A at the last token, at every token and after every prefix are one function; batches go entry by entry."""
    weights, tokens = weights_of(layer), draw("tokens", 2, 6, 5)
    everywhere = layer.everywhere(weights, tokens, rows(6))
    for t in range(6):
        assert torch.allclose(layer(weights, tokens[:, : t + 1]), everywhere[:, t], rtol=1e-13, atol=1e-14)
    queries = draw("queries", 2, 6, 5)
    found = layer.prefixes(weights, tokens[:, :5], queries)
    for i in range(6):
        prompt = torch.cat([tokens[:, :i], queries[:, i : i + 1]], 1)
        assert torch.allclose(layer(weights, prompt), found[:, i], rtol=1e-13, atol=1e-14)
    assert torch.allclose(layer(weights, tokens[0]), everywhere[0, -1])
    assert layer.prefixes(weights, tokens[:, :0], queries[:, :1]).shape == (2, 1, 7)
    along = states_along(layer, weights, tokens)
    for i in range(6):
        prompt = torch.cat([tokens[:, :i], tokens[:, -1:]], 1)
        assert torch.allclose(layer(weights, prompt), along[:, i], rtol=1e-12, atol=1e-13)
    assert torch.allclose(states_along(layer, weights, 30 * tokens[0])[2], layer(weights, 30 * tokens[0, [0, 1, 5]]), rtol=1e-9)


def test_softmax_attention_is_pytorchs():
    layer = SoftmaxAttention(heads=4, head_width=2, inputs=8, outputs=8)
    weights, tokens = weights_of(layer), draw("tokens", 3, 9, 8)
    other = torch.nn.MultiheadAttention(8, 4, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        other.in_proj_weight.copy_(torch.cat([weights[name] for name in ("W_Q", "W_K", "W_V")]))
        other.out_proj.weight.copy_(weights["W_O"])
    mask = torch.ones(9, 9, dtype=torch.bool).triu(1)
    assert torch.allclose(other(tokens, tokens, tokens, attn_mask=mask)[0], layer.everywhere(weights, tokens, rows(9)))
    free = dataclasses.replace(layer, causal=False)
    assert torch.allclose(other(tokens, tokens, tokens)[0], free.everywhere(weights, tokens, rows(9)))


@pytest.mark.parametrize(("layer", "other"), [(TanhRNN(5, 7), torch.nn.RNN), (GRU(5, 7), torch.nn.GRU)])
def test_recurrent_layers_are_pytorchs(layer, other):
    weights, tokens = weights_of(layer), draw("tokens", 3, 9, 5)
    module = other(5, 7, batch_first=True, dtype=torch.float64)
    candidate = torch.cat([torch.zeros(14, dtype=torch.float64), weights["b_s"]]) if "b_s" in weights else torch.zeros(7)
    with torch.no_grad():
        for name, value in zip(
            ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"),
            (weights["W_x"], weights["W_s"], weights["b_x"], candidate),
            strict=True,
        ):
            getattr(module, name).copy_(value)
    assert torch.allclose(module(tokens)[0], layer.everywhere(weights, tokens, rows(9)))


def test_one_head_by_hand():
    """Tokens 0 and the query ln 2, all weights 1: scores 0 and (ln 2)^2, no more than one channel."""
    layer = SoftmaxAttention(heads=1, head_width=1, inputs=1, outputs=1)
    weights = {name: torch.ones(1, 1, dtype=torch.float64) for name in layer.shapes}
    q = torch.tensor(2.0, dtype=torch.float64).log()
    share = (q * q).exp() / (1 + (q * q).exp())
    assert layer(weights, torch.stack([0 * q, q])[:, None]).item() == pytest.approx((share * q).item(), rel=1e-15)


def test_linear_attention_by_hand():
    """Keys and values of the tokens 1, 2 and the query 3, all weights 1: 1*3*1 + 2*3*2 + 3*3*3 = 42."""
    layer = LinearAttention(width=1, inputs=1, outputs=1)
    weights = {name: torch.ones(1, 1, dtype=torch.float64) for name in layer.shapes}
    assert layer(weights, torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)).item() == 42


def test_rotary_attention_knows_differences_of_positions_alone():
    layer = RotarySoftmaxAttention(heads=2, head_width=4, inputs=8, outputs=8)
    weights, tokens = weights_of(layer), draw("tokens", 6, 8)
    here = layer.everywhere(weights, tokens, rows(6))
    assert torch.allclose(here, layer.everywhere(weights, tokens, rows(6) + 100), rtol=1e-10)
    assert torch.allclose(here[-1], layer(weights, tokens))
    assert not torch.allclose(here, layer.everywhere(weights, tokens, rows(6) * 2))
    plain = SoftmaxAttention(heads=2, head_width=4, inputs=8, outputs=8)
    assert torch.allclose(layer.everywhere(weights, tokens, 0 * rows(6)), plain.everywhere(weights, tokens, rows(6)))
    turned = layer._placed(torch.tensor([[[1.0, 0, 0, 0]]], dtype=torch.float64), torch.tensor([1]))
    assert torch.allclose(turned.flatten(), torch.tensor([0.5403023058681398, 0, 0.8414709848078965, 0]).double())
    with pytest.raises(ValueError, match="even"):
        RotarySoftmaxAttention(heads=2, head_width=3, inputs=8, outputs=8)
    with pytest.raises(NotImplementedError, match="everywhere"):
        layer.prefixes(weights, tokens, tokens)


def test_tokens_are_left_out_by_place():
    tokens = draw("tokens", 2, 5, 3)
    assert torch.equal(without(tokens, []), tokens)
    assert torch.equal(without(tokens, range(4)), tokens[:, -1:])
    assert torch.equal(without(tokens, (2, 0)), tokens[:, [1, 3, 4]])
    for bad in ([4], [-1], [1, 1]):
        with pytest.raises(ValueError, match="0 to 3"):
            without(tokens, bad)


def test_an_mlp_of_any_depth():
    one = MLP(inputs=3, widths=(4,), outputs=2, activation="gelu")
    weights, z = weights_of(one), draw("z", 5, 3)
    by_hand = gelu(z @ weights["W"].mT + weights["b"]) @ weights["W_out"].mT + weights["b_out"]
    assert torch.allclose(one(weights, z), by_hand)
    deep = MLP(inputs=3, widths=(4, 6, 5), outputs=2, activation="relu")
    weights = weights_of(deep)
    h = z
    for place in ("", "_2", "_3"):
        h = (h @ weights[f"W{place}"].mT + weights[f"b{place}"]).relu()
    assert torch.allclose(deep.hidden(weights, z), h)
    assert torch.allclose(deep(weights, z), h @ weights["W_out"].mT + weights["b_out"])
    with pytest.raises(ValueError, match="unknown activation"):
        MLP(3, (4,), 2, "sigmoid")


def test_gated_mlps_and_their_post_norm():
    z = draw("z", 5, 6)
    plain = GatedMLP(width=6, hidden_width=9, activation="silu")
    weights = weights_of(plain)
    by_hand = (silu(z @ weights["W_gate"].mT) * (z @ weights["W_up"].mT)) @ weights["W_down"].mT
    assert torch.allclose(plain(weights, z), by_hand)
    normed = PostNormGatedMLP(width=6, hidden_width=9, activation="silu", epsilon=1e-6)
    weights |= {"m_post": draw("gain", 6)}
    assert torch.allclose(normed(weights, z), rms_norm(by_hand, (6,), weights["m_post"], 1e-6))


def test_experts_by_a_loop_over_tokens():
    moe = MixtureOfExperts(width=6, hidden_width=5, experts=4, active=2, activation="silu")
    weights, z = weights_of(moe), draw("z", 7, 6)
    for token, found in zip(z, moe(weights, z), strict=True):
        scores = weights["W_router"] @ token
        top = scores.topk(2)
        expected = torch.zeros(6, dtype=torch.float64)
        for share, e in zip(top.values.softmax(0), top.indices.tolist(), strict=True):
            part = slice(5 * e, 5 * e + 5)
            h = silu(weights["W_gate"][part] @ token) * (weights["W_up"][part] @ token)
            expected += share * (weights["W_down"][:, part] @ h)
        assert torch.allclose(found, expected)
    assert torch.allclose(moe.shares(weights, z).sum(-1), torch.ones(7, dtype=torch.float64))
    with pytest.raises(ValueError, match="active experts"):
        MixtureOfExperts(6, 5, 4, 5, "silu")


def test_norms_are_pytorchs():
    x = draw("x", 5, 6)
    weights = {"m_a": draw("m", 6), "b_a": draw("b", 6)}
    assert torch.allclose(LayerNorm(1e-5)(weights, "a", x), layer_norm(x, (6,), weights["m_a"], weights["b_a"], 1e-5))
    assert torch.allclose(RMSNorm(1e-6)(weights, "a", x), rms_norm(x, (6,), weights["m_a"], 1e-6))
    assert torch.equal(NoNorm()({}, "a", x), x)


def test_joints_by_their_formulas():
    layer = SoftmaxAttention(heads=2, head_width=3, inputs=6, outputs=6)
    x, at, R = draw("x", 4, 6), rows(4), RMSNorm(1e-6)
    joints = [NoSkip(layer), OuterSkip(layer), PreNorm(layer, R), SandwichNorm(layer, R), Parallel(layer, R)]
    found = []
    for joint in joints:
        weights = weights_of(joint)
        found.append((weights, joint(weights, x, at)))
    weights, (z, v) = found[0]
    assert torch.equal(z, layer.everywhere(weights, x, at)) and not v.any()
    weights, (z, v) = found[1]
    assert torch.allclose(v, x + layer.everywhere(weights, x, at)) and torch.allclose(z, v - x)
    weights, (z, v) = found[2]
    inner = layer.everywhere(weights, rms_norm(x, (6,), weights["m_mix"], 1e-6), at)
    assert torch.allclose(v, x + inner) and torch.allclose(z, rms_norm(x + inner, (6,), weights["m_feed"], 1e-6))
    weights, (z, v) = found[3]
    inner = layer.everywhere(weights, rms_norm(x, (6,), weights["m_mix"], 1e-6), at)
    assert torch.allclose(v, x + rms_norm(inner, (6,), weights["m_mixed"], 1e-6))
    assert torch.allclose(z, rms_norm(v, (6,), weights["m_feed"], 1e-6))
    weights, (z, v) = found[4]
    assert torch.allclose(z, rms_norm(x, (6,), weights["m_mix"], 1e-6))
    assert torch.allclose(v, x + layer.everywhere(weights, z, at))


def test_a_network_is_its_blocks_one_after_another():
    layer = SoftmaxAttention(heads=2, head_width=3, inputs=6, outputs=6)
    block = Block(PreNorm(layer, RMSNorm(1e-6)), GatedMLP(6, 8, "silu"))
    network = Network(block, 3, Regression(inputs=2, width=6, norm=RMSNorm(1e-6)))
    weights, inputs = network.start(stream(0, "network"), (), LIKE), draw("inputs", 2, 4, 2)
    x = inputs @ weights["ends.W_in"].mT
    for each in network.blocks(weights):
        state = block.mix(each, x)
        x = state.v + block.feed_forward(each, state.z)
    expected = rms_norm(x, (6,), weights["ends.m_last"], 1e-6) @ weights["ends.W_read"][0]
    assert torch.allclose(network(weights, inputs), expected)
    states, last = network.states(weights, network.embed(weights, inputs))
    assert len(states) == 3 and torch.allclose(last, x)
    assert torch.equal(states[0].at(-1).z, states[0].z[:, -1:]) and states[0].at([0, 2]).v.shape == (2, 2, 6)


def test_words_come_in_and_logits_go_out():
    ends = Vocabulary(size=5, width=3, norm=NoNorm())
    weights = weights_of(ends)
    token = ends.embed(weights, torch.tensor([4, 0]))
    assert torch.equal(token, weights["E"][[4, 0]])
    assert torch.allclose(ends.read(weights, token), token @ weights["W_read"].mT)
    assert LastEntry().read({}, token).tolist() == token[:, -1].tolist()


def test_weights_start_as_described():
    drawn = start({"W": (50, 400), "b": (1000,), "m": (1000,), "E": (30, 40)}, stream(0, "start"), (3,), LIKE)
    assert {name: tuple(w.shape) for name, w in drawn.items()} == {
        "W": (3, 50, 400),
        "b": (3, 1000),
        "m": (3, 1000),
        "E": (3, 30, 40),
    }
    spread = {name: (w.mean().item(), w.std().item()) for name, w in drawn.items()}
    for name, (mean, std) in {"W": (0, 0.05), "b": (0, 0.1), "m": (1, 0.1), "E": (0, 1)}.items():
        assert spread[name] == pytest.approx((mean, std), rel=0.05, abs=5 * std / drawn[name].numel() ** 0.5)


def test_leading_dimensions_of_weights_meet_those_of_tokens():
    weights, x = {"W": draw("W", 2, 3, 4), "b": draw("b", 2, 3)}, draw("x", 2, 5, 4)
    each = torch.stack([x[k] @ weights["W"][k].mT + weights["b"][k] for k in range(2)])
    assert torch.allclose(linear(weights, "W", x, "b"), each)


@pytest.mark.parametrize("bad", [dict(heads=0), dict(head_width=0), dict(outputs=0)])
def test_impossible_attention_is_refused(bad):
    with pytest.raises(ValueError, match="1 or more"):
        SoftmaxAttention(**(dict(heads=1, head_width=1, inputs=1, outputs=1) | bad))
