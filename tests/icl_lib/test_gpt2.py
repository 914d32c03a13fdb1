"""The decoder against Hugging Face's GPT2Model in both directions, and what its parts must not see."""

import pytest
import torch
from torch import nn

from icl_lib.models.gpt2 import GPT2, INPUTS, LAST, InContextGPT2, interleaved_tokens, pattern_tokens
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from icl_lib.train.loop import replicated, summed, train
from icl_lib.train.optimizers import Adam, FusedAdam
from papers.engine.gpt2_state import from_state_dict, state_dict
from papers.li.s5_experiments.decoder_training import start_by_fan_in

LIKE = torch.empty(0, dtype=torch.float64)
DECODER = GPT2(layers=3, heads=2, width=8, entries=5, positions=9)


def normal(*shape, name):
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def weights(models=4, decoder=DECODER):
    """Weights with every entry away from its start, so that a forgotten one shows."""
    start = start_by_fan_in(decoder, stream(0, "weights"), models, LIKE)
    return {key: W + 0.3 * normal(*W.shape, name=key) for key, W in start.items()}


def one(many, s):
    return {key: W[s : s + 1] for key, W in many.items()}


def hugging_face(decoder):
    """A GPT2Model of the same shape between linear read-in and read-out, with weights of its own, all away from 0 and 1."""
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_positions=decoder.positions,
        n_embd=decoder.width,
        n_layer=decoder.layers,
        n_head=decoder.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        use_cache=False,
        vocab_size=1,
    )
    parts = {
        "_read_in": nn.Linear(decoder.entries, decoder.width),
        "_backbone": transformers.GPT2Model(config),
        "_read_out": nn.Linear(decoder.width, 1),
    }
    model = nn.ModuleDict(parts).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.add_(0.05 * torch.randn(p.shape, generator=stream(1, name)))
    return model


def run_hugging_face(model, tokens):
    with torch.no_grad():
        hidden = model["_backbone"](inputs_embeds=model["_read_in"](tokens)).last_hidden_state
        return model["_read_out"](hidden)[..., 0]


SIZES = [(1, 1, 4, 3, 7), (3, 2, 64, 5, 41), (6, 4, 128, 10, 41), (5, 3, 48, 7, 30), (12, 8, 256, 20, 81)]


@pytest.mark.parametrize(("layers", "heads", "width", "entries", "positions"), SIZES)
def test_weights_of_hugging_face_give_its_outputs(layers, heads, width, entries, positions):
    shape = GPT2(layers, heads, width, entries, positions)
    theirs = hugging_face(shape)
    decoder, own = from_state_dict(dict(theirs.state_dict()), heads)
    assert decoder == shape
    tokens = normal(2, positions - 1, entries, name="tokens").float()
    expected = run_hugging_face(theirs, tokens)
    assert (decoder(own, tokens[None])[0] - expected).abs().max() < 1e-5
    assert (decoder(own, tokens[None], INPUTS)[0] - expected[:, ::2]).abs().max() < 1e-5


@pytest.mark.parametrize(("layers", "heads", "width", "entries", "positions"), SIZES)
def test_hugging_face_with_our_weights_gives_our_outputs(layers, heads, width, entries, positions):
    decoder = GPT2(layers, heads, width, entries, positions)
    start = decoder.start(stream(0, "weights"), 2, LIKE)
    own = {key: (W + 0.05 * normal(*W.shape, name=key)).float() for key, W in start.items()}
    theirs = hugging_face(decoder)
    found = theirs.load_state_dict(state_dict(own, model=1), strict=False)
    assert not found.unexpected_keys and found.missing_keys == ["_backbone.wte.weight"]
    tokens = normal(2, positions, entries, name="tokens").float()
    ours = decoder(own, tokens.expand(2, -1, -1, -1))[1]
    assert (run_hugging_face(theirs, tokens) - ours).abs().max() < 1e-5


def test_the_transfer_is_exact_in_float64():
    theirs = hugging_face(GPT2(6, 4, 128, 10, 41)).double()
    decoder, own = from_state_dict(dict(theirs.state_dict()), 4)
    tokens = normal(2, 41, 10, name="tokens")
    assert (decoder(own, tokens[None])[0] - run_hugging_face(theirs, tokens)).abs().max() < 1e-12


def test_a_transferred_model_without_positions_is_one_with_a_table_of_zeros():
    bare = GPT2(2, 2, 8, 5)
    own = weights(1, bare)
    frozen = GPT2(2, 2, 8, 5, positions=6)
    tokens = normal(1, 3, 6, 5, name="tokens")
    padded = own | {"positions": torch.zeros(1, 6, 8).double()}
    assert torch.equal(bare(own, tokens), frozen(padded, tokens))
    assert "_backbone.wpe.weight" not in state_dict(own)
    assert from_state_dict(state_dict(own), 2)[0] == bare


def test_a_state_dict_of_something_else_is_refused():
    state = state_dict(weights(1))
    for key in ("_read_out.bias", "_backbone.h.1.mlp.c_fc.weight"):
        with pytest.raises(ValueError, match=key):
            from_state_dict({k: v for k, v in state.items() if k != key}, 2)
    with pytest.raises(ValueError, match="no decoder"):
        from_state_dict({"weight": torch.zeros(2)}, 2)


def test_the_number_of_heads_matters_in_the_transfer():
    tokens = normal(1, 2, 7, 5, name="tokens")
    decoder, own = from_state_dict(state_dict(weights(1)), heads=4)
    assert (decoder(own, tokens) - DECODER(weights(1), tokens)).abs().max() > 1e-2


def test_one_layer_in_plain_numbers():
    """Width 2, one head, no MLP output: h = (3, 1) and (1, 3) have LN (1, -1) and (-1, 1); only values are passed on."""
    decoder = GPT2(layers=1, heads=1, width=2, entries=2)
    w = {key: torch.zeros_like(W) for key, W in decoder.start(stream(0, "w"), 1, LIKE).items()}
    w["read_in"][0], w["read_out"][0] = torch.eye(2), torch.tensor([1.0, 0.0])
    for name in ("attention_norm", "mlp_norm", "last_norm"):
        w[name] = torch.ones_like(w[name])
    w["attention_in"][0, 0, :, 4:] = torch.eye(2)
    w["attention_out"][0, 0] = 2 * torch.eye(2)
    found = decoder.attention(w, torch.tensor([[[[3.0, 1.0], [1.0, 3.0]]]]).double())
    assert found.attention.tolist() == [[[[[0.5, 0.5]]]]]  # all scores 0; the two values cancel and h stays (1, 3)
    assert float(found.output) == pytest.approx(-1, abs=1e-4)
    alone = decoder(w, torch.tensor([[[[3.0, 1.0]]]]).double())  # 3, 1 plus 2 (1, -1): LN of (5, -1)
    assert float(alone) == pytest.approx(1, abs=1e-4)


def test_later_tokens_leave_earlier_outputs_alone():
    w, tokens = one(weights(), 0), normal(1, 2, 6, 5, name="tokens")
    moved = tokens.clone()
    moved[:, :, 3] += 1
    before, after = DECODER(w, tokens), DECODER(w, moved)
    assert torch.allclose(before[..., :3], after[..., :3], rtol=1e-12, atol=1e-14)
    assert ((before - after)[..., 3:].abs() > 1e-8).all()


def test_positions_tell_the_order_which_one_layer_without_them_cannot_see():
    shallow, placed = GPT2(1, 2, 8, 5), GPT2(1, 2, 8, 5, positions=6)
    tokens = normal(1, 3, 6, 5, name="tokens")
    turned = torch.cat([tokens[:, :, :-1].flip(2), tokens[:, :, -1:]], 2)
    w = weights(1, shallow)
    assert torch.allclose(shallow(w, tokens, LAST), shallow(w, turned, LAST), rtol=1e-10)
    w = weights(1, placed)
    assert not torch.allclose(placed(w, tokens, LAST), placed(w, turned, LAST), rtol=1e-3)
    w = one(weights(), 0)  # with more layers the causal mask makes the order visible
    assert not torch.allclose(DECODER(w, tokens, LAST), DECODER(w, turned, LAST), rtol=1e-3)


@pytest.mark.parametrize("read", [slice(None), INPUTS, LAST])
def test_reading_fewer_tokens_changes_no_output(read):
    w, tokens = weights(2), normal(2, 3, 7, 5, name="tokens")
    assert torch.allclose(DECODER(w, tokens, read), DECODER(w, tokens)[:, :, read], rtol=1e-12, atol=1e-14)


def test_attention_is_that_of_the_last_row():
    """A distribution over all tokens, and the one by which the values are summed: one layer redone by hand."""
    tokens = normal(2, 3, 6, 5, name="tokens")
    found = DECODER.attention(weights(2), tokens)
    assert found.attention.shape == (2, 3, 3, 2, 6)
    assert torch.allclose(found.attention.sum(-1), torch.ones(2, 3, 3, 2).double())
    assert torch.allclose(found.output, DECODER(weights(2), tokens, LAST)[..., 0], rtol=1e-12)
    single = GPT2(1, 2, 8, 5)
    w = weights(1, single)
    moved = w | {"mlp_out": 0 * w["mlp_out"], "mlp_out_bias": 0 * w["mlp_out_bias"]}
    h = (tokens[0] @ w["read_in"][0] + w["read_in_bias"][0])[..., -1, :]
    attention = single.attention(w, tokens[:1]).attention[0, :, 0]
    normed = nn.functional.layer_norm(tokens[0] @ w["read_in"][0] + w["read_in_bias"][0], (8,))
    normed = normed * w["attention_norm"][0, 0] + w["attention_norm_bias"][0, 0]
    values = (normed @ w["attention_in"][0, 0, :, 16:] + w["attention_in_bias"][0, 0, 16:]).unflatten(-1, (2, 4))
    gathered = torch.einsum("bht,bthc->bhc", attention, values).flatten(-2)
    h = h + gathered @ w["attention_out"][0, 0] + w["attention_out_bias"][0, 0]
    h = nn.functional.layer_norm(h, (8,)) * w["last_norm"][0] + w["last_norm_bias"][0]
    assert torch.allclose(h @ w["read_out"][0] + w["read_out_bias"][0], single(moved, tokens[:1], LAST)[0, :, 0])


def test_a_batch_of_models_is_one_after_the_other():
    many, tokens = weights(), normal(4, 3, 6, 5, name="own tokens")
    together = DECODER(many, tokens)
    for s in range(4):
        assert torch.allclose(together[s], DECODER(one(many, s), tokens[s : s + 1])[0], rtol=1e-10)

    def loss(w, tokens):
        return (1 - DECODER(w, tokens)).relu().mean((1, 2))

    run = train(loss, many, lambda step: tokens, Adam(0.01), 3, differentiate=summed)
    alone = train(loss, one(many, 2), lambda step: tokens[2:3], FusedAdam(0.01), 3, differentiate=summed)
    for key, W in alone.parameters.items():
        assert torch.allclose(run.parameters[key][2], W[0], rtol=1e-7, atol=1e-10), key
    assert torch.allclose(run.losses[:, 2], alone.losses[:, 0])


def test_the_gradient_of_the_sum_is_that_of_torch_func():
    many, tokens = weights(3), normal(3, 2, 6, 5, name="tokens")

    def of_one(w, tokens):
        return DECODER({k: W[None] for k, W in w.items()}, tokens[None]).square().mean()

    def of_all(w, tokens):
        return DECODER(w, tokens).square().mean((1, 2))

    mapped, value = replicated(of_one)(many, tokens)
    direct, same = summed(of_all)(many, tokens)
    assert torch.allclose(value, same, rtol=1e-12)
    for key in many:
        assert torch.allclose(mapped[key], direct[key], rtol=1e-8, atol=1e-12), key


def test_start_has_the_stated_variances_and_is_pure_in_its_generator():
    decoder = GPT2(layers=2, heads=4, width=64, entries=20, positions=50)
    start = decoder.start(stream(3, "w"), 5, LIKE)
    for name, deviation in {
        "attention_in": 0.02,
        "mlp_in": 0.02,
        "attention_out": 0.01,
        "mlp_out": 0.01,
        "positions": 0.02,
    }.items():
        assert float(start[name].std()) == pytest.approx(deviation, rel=0.05), name
    for name, fan_in in {"read_in": 20, "read_out": 64}.items():
        assert float(start[name].std()) == pytest.approx((3 * fan_in) ** -0.5, rel=0.1), name
        assert float(start[name].abs().max()) <= fan_in**-0.5
    assert float(start["mlp_in_bias"].abs().max()) == 0 and float(start["last_norm"].min()) == 1
    again = decoder.start(stream(3, "w"), 5, LIKE)
    assert all(torch.equal(start[key], again[key]) for key in start)
    by_fan_in = start_by_fan_in(decoder, stream(3, "w"), 5, LIKE)
    for name, fan_in in {"read_in": 20, "attention_in": 64, "mlp_in": 64, "mlp_out": 256}.items():
        assert float(by_fan_in[name].var()) == pytest.approx(1 / fan_in, rel=0.1), name


def test_the_start_has_the_law_of_hugging_face():
    transformers = pytest.importorskip("transformers")
    decoder = GPT2(layers=4, heads=2, width=64, entries=8, positions=60)
    config = transformers.GPT2Config(n_positions=60, n_embd=64, n_layer=4, n_head=2, vocab_size=1)
    theirs = {f"_backbone.{name}": p for name, p in transformers.GPT2Model(config).state_dict().items()}
    ours = state_dict(decoder.start(stream(0, "w"), 1, torch.zeros(())))
    for name in set(ours) & set(theirs):
        assert float(ours[name].std()) == pytest.approx(float(theirs[name].std()), rel=0.1, abs=1e-6), name
        assert float(ours[name].mean()) == pytest.approx(float(theirs[name].mean()), abs=2e-3), name


def test_tokens_by_hand():
    prompts = Prompts(*(torch.tensor(part) for part in ([[1.0, 2.0], [3.0, 4.0]], [1.0, -1.0], [5.0, 6.0], 1.0)))
    assert interleaved_tokens(prompts).tolist() == [[1, 2], [1, 0], [3, 4], [-1, 0], [5, 6]]
    assert pattern_tokens(prompts, torch.tensor([0.0, 2.0])).tolist() == [[1, 2, 0, 2], [3, 4, 0, -2], [5, 6, 0, 0]]


def test_predictions_after_every_number_of_examples_see_those_alone():
    own = weights(2, GPT2(2, 2, 8, entries=3, positions=12))
    model = InContextGPT2(GPT2(2, 2, 8, entries=3, positions=12), own)
    prompts = LinearRegression(torch.eye(3, dtype=torch.float64)).sample(stream(0, "prompts"), (4,), 5)
    found = model.prefixes(prompts)
    assert found.shape == (2, 4, 6)
    for k in range(6):
        query = prompts.x_query if k == 5 else prompts.x[:, k]
        shorter = Prompts(prompts.x[:, :k], prompts.y[:, :k], query, prompts.y_query)
        assert torch.allclose(model(shorter), found[..., k], rtol=1e-10)
    each = Prompts(*(torch.stack([part, part.flip(0)]) for part in (prompts.x, prompts.y, prompts.x_query, prompts.y_query)))
    assert torch.allclose(model.prefixes(each), torch.stack([found[0], found[1].flip(0)]), rtol=1e-10)


def test_longer_prompts_than_positions_are_refused():
    with pytest.raises(ValueError, match="9 positions"):
        DECODER(weights(1), normal(1, 1, 10, 5, name="tokens"))


@pytest.mark.parametrize(("layers", "heads", "width"), [(0, 1, 4), (2, 3, 8), (2, 0, 8)])
def test_heads_divide_the_width(layers, heads, width):
    with pytest.raises(ValueError, match="heads must divide"):
        GPT2(layers, heads, width, entries=5)
