"""The causal decoder against torch's own layers, and what its parts must not see."""

import pytest
import torch
from torch.func import grad, vmap
from torch.nn.functional import gelu

from icl_lib.models.decoder import Decoder, pattern_tokens
from icl_lib.seeds import stream
from icl_lib.tasks import Prompts
from icl_lib.train import Adam, train

LIKE = torch.empty(0, dtype=torch.float64)
DECODER = Decoder(layers=3, heads=2, width=8)


def normal(*shape, name):
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def weights(replicates=4, entries=5, decoder=DECODER):
    """Weights with biases and gains away from 0 and 1, so that a forgotten one shows."""
    start = decoder.start(stream(0, "weights"), replicates, entries, LIKE)
    return {key: W + 0.3 * normal(*W.shape, name=key) if "norm" in key or "bias" in key else W for key, W in start.items()}


def one(many, s):
    return {key: W[s] for key, W in many.items()}


def reference(w, tokens):
    """The same function by torch.nn.TransformerEncoderLayer with a causal mask; logits at all tokens."""
    h, T = tokens @ w["read_in"], tokens.shape[-2]
    mask = torch.full((T, T), -torch.inf, dtype=torch.float64).triu(1)
    for layer in range(DECODER.layers):
        block = torch.nn.TransformerEncoderLayer(
            8, 2, 32, dropout=0.0, activation=lambda x: gelu(x, approximate="tanh"), batch_first=True, norm_first=True
        ).double()
        own = {key: W[layer] for key, W in w.items() if key.split("_bias")[0] in
               ("attention_in", "attention_out", "mlp_in", "mlp_out", "attention_norm", "mlp_norm")}  # fmt: skip
        with torch.no_grad():
            block.self_attn.in_proj_weight.copy_(own["attention_in"].T)
            block.self_attn.in_proj_bias.copy_(own["attention_in_bias"])
            for module, name in (
                (block.self_attn.out_proj, "attention_out"), (block.linear1, "mlp_in"), (block.linear2, "mlp_out"),
                (block.norm1, "attention_norm"), (block.norm2, "mlp_norm"),
            ):  # fmt: skip
                module.weight.copy_(own[name].T if own[name].ndim == 2 else own[name])
                module.bias.copy_(own[f"{name}_bias"])
            h = block(h, src_mask=mask)
    return torch.nn.functional.layer_norm(h, (8,), w["last_norm"], w["last_norm_bias"]) @ w["read_out"]


@pytest.mark.parametrize("T", [1, 2, 7])
def test_against_torch_s_own_layers(T):
    w, tokens = one(weights(), 1), normal(6, T, 5, name="tokens")
    expected = reference(w, tokens)
    assert torch.allclose(DECODER.outputs(w, tokens), expected, rtol=1e-10, atol=1e-12)
    assert torch.allclose(DECODER(w, tokens), expected[:, -1], rtol=1e-10, atol=1e-12)


def test_one_layer_in_plain_numbers():
    """Width 2, one head, no MLP output: h = (3, 1) and (1, 3) have LN (1, -1) and (-1, 1); only values are passed on."""
    decoder = Decoder(layers=1, heads=1, width=2)
    w = {key: torch.zeros_like(W)[0] for key, W in decoder.start(stream(0, "w"), 1, 2, LIKE).items()}
    w["read_in"], w["read_out"] = torch.eye(2).double(), torch.tensor([1.0, 0.0]).double()
    for name in ("attention_norm", "mlp_norm", "last_norm"):
        w[name] = torch.ones_like(w[name])
    w["attention_in"][0, :, 4:] = torch.eye(2)
    w["attention_out"][0] = 2 * torch.eye(2)
    found = decoder.read(w, torch.tensor([[3.0, 1.0], [1.0, 3.0]]).double())
    assert found.attention.tolist() == [[[0.5, 0.5]]]  # all scores 0; the two values cancel and h stays (1, 3)
    assert float(found.logit) == pytest.approx(-1, abs=1e-4)
    alone = decoder.read(w, torch.tensor([[3.0, 1.0]]).double())  # 3, 1 plus 2 (1, -1): LN of (5, -1)
    assert float(alone.logit) == pytest.approx(1, abs=1e-4)


def test_later_tokens_leave_earlier_outputs_alone():
    w, tokens = one(weights(), 0), normal(2, 6, 5, name="tokens")
    moved = tokens.clone()
    moved[:, 3] += 1
    before, after = DECODER.outputs(w, tokens), DECODER.outputs(w, moved)
    assert torch.equal(before[:, :3], after[:, :3])
    assert ((before - after)[:, 3:].abs() > 1e-8).all()


def test_without_positions_the_first_layer_cannot_see_the_order_of_the_contexts():
    """With one layer the query reads a set; with more, the causal mask makes the order visible."""
    shallow = Decoder(layers=1, heads=2, width=8)
    tokens = normal(3, 6, 5, name="tokens")
    turned = torch.cat([tokens[:, :-1].flip(1), tokens[:, -1:]], 1)
    w = one(weights(decoder=shallow), 0)
    assert torch.allclose(shallow(w, tokens), shallow(w, turned), rtol=1e-10)
    assert not torch.allclose(DECODER(one(weights(), 0), tokens), DECODER(one(weights(), 0), turned), rtol=1e-3)


def test_attention_of_the_query_is_a_distribution_over_all_tokens():
    tokens = normal(3, 6, 5, name="tokens")
    found = DECODER.read(one(weights(), 2), tokens)
    assert found.attention.shape == (3, 3, 2, 6)
    assert torch.allclose(found.attention.sum(-1), torch.ones(3, 3, 2, dtype=torch.float64))
    assert (found.attention > 0).all()


def test_a_batch_of_replicates_is_one_after_the_other():
    many, tokens = weights(), normal(4, 3, 6, 5, name="own tokens")
    together = vmap(DECODER)(many, tokens)
    for s in range(4):
        assert torch.allclose(together[s], DECODER(one(many, s), tokens[s]), rtol=1e-10)

    def loss(w, tokens):
        return (1 - DECODER(w, tokens)).relu().mean()

    run = train(loss, many, lambda step: tokens, Adam(0.01), 3)
    alone = one(many, 2)
    rule = Adam(0.01)
    state = rule.start(alone)
    for step in range(3):
        alone, state = rule.step(alone, grad(loss)(alone, tokens[2]), state, step, 1.0)
    for key, W in alone.items():
        assert torch.allclose(run.parameters[key][2], W, rtol=1e-7, atol=1e-10)


def test_start_has_the_stated_variances_and_is_pure_in_its_generator():
    decoder = Decoder(layers=2, heads=4, width=32)
    start = decoder.start(stream(3, "w"), 5, 20, LIKE)
    for name, fan_in in {"read_in": 20, "attention_in": 32, "attention_out": 32, "mlp_in": 32, "mlp_out": 128}.items():
        assert float(start[name].var()) == pytest.approx(1 / fan_in, rel=0.1), name
    assert float(start["mlp_in_bias"].abs().max()) == 0 and float(start["last_norm"].min()) == 1
    again = decoder.start(stream(3, "w"), 5, 20, LIKE)
    assert all(torch.equal(start[key], again[key]) for key in start)


def test_tokens_by_hand():
    prompts = Prompts(*(torch.tensor(part) for part in ([[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0], [5.0, 6.0], 1.0)))
    assert pattern_tokens(prompts, torch.tensor([0.0, 2.0])).tolist() == [[1, 2, 0, 2], [3, 4, 0, -2], [5, 6, 0, 0]]


@pytest.mark.parametrize(("layers", "heads", "width"), [(0, 1, 4), (2, 3, 8), (2, 0, 8)])
def test_heads_divide_the_width(layers, heads, width):
    with pytest.raises(ValueError, match="heads must divide"):
        Decoder(layers, heads, width)
