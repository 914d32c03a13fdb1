"""Classes of language models: seats against the classes' own code, the traps, claims on made-up numbers."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

pytest.importorskip("transformers")

from icl_lib.companion import FAILS, HOLDS
from icl_lib.seeds import stream
from papers.dherin.fits import LeastSquares
from papers.dherin.gains import one_factor
from papers.dherin.model_families import FAMILIES, seats
from papers.dherin.passes import Passage, Rule, patched, record, run
from papers.dherin.real_models import claims, figures
from papers.dherin.real_models import recall as looked_up
from papers.dherin.real_models.model_capacity import MODEL_CAPACITY, served
from papers.dherin.real_models.model_classes import MODEL_CLASSES
from papers.dherin.real_models.recall import RECALL
from papers.dherin.real_models.recall_training import GPT, LLAMA, Facts
from papers.dherin.theory import model_classes as theory
from papers.dherin.transformers_models import CLASSES, ModelSizes, blank, made, words
from tests.papers.drawn import drawn

SIZES = ModelSizes(width=16, hidden=24, depth=2, heads=2, vocabulary=31)
LAST = Rule(LeastSquares(), ("last",), one_factor)


def model_of(name: str, sizes: ModelSizes = SIZES) -> torch.nn.Module:
    return made(name, sizes, stream(0, name))


def passages(T: int, M: int = 1, vocabulary: int = 31) -> tuple[Passage, Passage]:
    tokens, positions = words(0, "text", vocabulary, (1, T)), torch.arange(T)[None]
    rows = positions >= T - M
    return Passage(tokens, positions, rows), Passage(tokens[:, -M:], positions[:, -M:], rows[:, -M:])


@pytest.mark.parametrize("name", CLASSES)
def test_last_matrices_times_hidden_vectors_are_what_the_class_computes(name):
    """Of every layer, sparse or dense: |mlp(z) - sum_i W_i h_i| is rounding, up to a bias."""
    model = model_of(name)
    z = torch.randn(5, 16, generator=stream(0, "z"))
    for seat in seats(model):
        h, W = seat.hidden(z), torch.cat([stored.matrix for stored in seat.last], -1)
        own = seat.mlp(z[None])[0].detach()
        bias = getattr(seat.last[0].owner, "bias", None)
        made_here = (h @ W.mT).detach() + (0 if bias is None else bias.detach())
        assert torch.allclose(own, made_here, atol=2e-6)
        assert sum(weight.numel() for weight in seat.mlp.parameters() if weight.dim() > 1) == sum(
            stored.matrix.numel() for stored in (*seat.reads, *seat.last)
        )  # every matrix of the feed-forward part reads z or is a last one


@pytest.mark.parametrize("name", CLASSES)
def test_a_norm_behind_is_found_where_there_is_one(name):
    """What the layer adds to its stream is the norm of u times the gain, offset with it."""
    model, (whole, _) = model_of(name), passages(6)
    seat = seats(model)[0]
    assert bool(seat.norm) == (name in ("Gemma 2", "Gemma 3", "OLMo 2"))
    if seat.norm:
        u = torch.randn(3, 16, generator=stream(0, "u"), dtype=torch.float64)
        n = u / (u.square().mean(-1, keepdim=True) + seat.norm.epsilon).sqrt()
        assert torch.allclose(seat.norm.owner(u.float()).double(), n * seat.norm.gain, atol=1e-5)
    assert set(FAMILIES) >= {model.config.model_type} and run(model, whole).isfinite().all()


def test_a_square_conv1d_is_seen_turned():
    """GPT-2 with a hidden layer as wide as the stream: the shape of a matrix does not show that it is stored turned."""
    model, (whole, left) = model_of("GPT-2", replace(SIZES, hidden=16)), passages(9)
    found = seats(model)
    full = record(model, found, whole)
    z = full.z[0]
    reads = found[0].reads[0]
    assert torch.allclose(z @ reads.matrix.mT + reads.owner.bias, reads.owner(z), atol=1e-5)
    assert not torch.allclose(z @ reads.parameter.mT + reads.owner.bias, reads.owner(z), atol=1e-2)
    with patched(model, found, full, left, LAST):
        again = record(model, found, left)
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in zip(again.out, full.out, strict=True))


def test_dense_and_sparse_layers_are_mixed():
    dense, sparse = seats(model_of("Qwen2-MoE"))
    assert len(dense.last) == 1 and len(sparse.last) == 5  # four experts and one that is always there
    assert len(dense.reads) == 2 and len(sparse.reads) == 1 + 4 + 2 + 1


@pytest.mark.parametrize("name", ["Llama", "GPT-2"])
def test_positions_with_a_gap_and_no_mask_drop_the_kept_tokens(name):
    """No test of exactness can see it; with the mask that ``run`` passes the tokens are there."""
    model = model_of(name)
    tokens, kept = words(0, "text", 31, (1, 12)), torch.tensor([[0, 1, 2, 3, 10, 11]])
    left = Passage(tokens[:, kept[0]], kept, torch.tensor([[False] * 5 + [True]]))
    with torch.no_grad():
        bare = model(input_ids=left.tokens, position_ids=kept, use_cache=False).logits[left.rows]
        dropped = run(model, Passage(left.tokens[:, 4:], kept[:, 4:], left.rows[:, 4:]))
        seen = run(model, left)
        mask = torch.zeros(1, 12).index_fill(1, kept[0], 1).long()
        padded = model(input_ids=tokens, position_ids=torch.arange(12)[None], attention_mask=mask, use_cache=False)
    assert torch.allclose(bare, dropped, atol=1e-5) and not torch.allclose(bare, seen, atol=1e-2)
    assert torch.allclose(padded.logits[:, -1], seen, atol=1e-5)  # the whole text with the others masked


def test_a_token_of_nothing_is_refused():
    """An embedding of 0 in a class without biases gives z = 0, where a quotient would be NaN; GPT-2 has biases and a place."""
    for name, fine in (("Llama", False), ("Qwen3", False), ("GPT-2", True)):
        model, (whole, left) = model_of(name), passages(8)
        with torch.no_grad():
            model.get_input_embeddings().weight[left.tokens[0, 0]] = 0
        full = record(model, seats(model), whole)
        if fine:
            with patched(model, seats(model), full, left, LAST) as size:
                assert size.isfinite().all()
        else:
            refused = pytest.raises(ValueError, match="a token whose embedding is 0 cannot stand for a context")
            with refused, patched(model, seats(model), full, left, LAST):
                pass


def test_types_that_are_not_in_the_table_are_refused():
    with pytest.raises(ValueError, match="no seats are known of 'Linear'"):
        seats(torch.nn.Linear(2, 2))
    assert len(FAMILIES) == 13 and len(CLASSES) == len(MODEL_CLASSES.quick.classes) == 12


def test_without_the_package_a_sentence_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install transformers"):
        blank("Llama", SIZES, {})


def test_making_a_model_leaves_the_generator_of_torch():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    blank("Llama", SIZES, {})
    assert torch.equal(torch.rand(2), expected)
    with pytest.raises(ValueError, match="take an even number"):
        replace(SIZES, heads=3)


def test_gains_by_theory_and_in_a_class():
    """The gain that a patch leaves in Gemma solves the equations of the theory; the matrix makes the target."""
    model, (whole, left) = model_of("Gemma 2", replace(SIZES, width=32, hidden=64, depth=1)), passages(9, 3)
    seat = seats(model)[0]
    full = record(model, (seat,), whole)
    from papers.dherin.gains import solved

    W = seat.last[0].matrix.double()
    h = seat.hidden(record(model, (seat,), left).z[0]).double()
    q = (h @ W.mT).square().mean(-1)
    rho = (q / (q + seat.norm.epsilon)).detach()
    with patched(model, (seat,), full, left, Rule(LeastSquares(), ("last",), solved)):
        gain = seat.norm.gain
        u = (h @ seat.last[0].matrix.double().mT).detach()
    n = u / (u.square().mean(-1, keepdim=True) + seat.norm.epsilon).sqrt()
    y = (gain * n).numpy()
    assert np.allclose(theory.gain_equations(y, 1 / gain.numpy() ** 2, rho.numpy()), 0, atol=1e-3)
    target = theory.normed_target(y[0], gain.numpy(), float(q[0].detach()), seat.norm.epsilon)
    assert np.allclose(u[0].numpy(), target, atol=1e-4)


def test_tiny_declarations():
    classes = replace(MODEL_CLASSES.quick, classes=("Llama", "Gemma 3"), sizes=SIZES, tokens=6).run(0, "cpu")
    assert (classes.error.sel(patch="last alone", precision="float32") < 2e-6).all()
    assert (classes.stream.sel(patch="last block", precision="float32") > 1e-2).all() and (classes.own > 1e-4).all()
    assert drawn(figures.classes, classes) and "Gemma 3" in str(figures.sizes(classes))
    with pytest.raises(ValueError, match="the first of them needs a context"):
        replace(MODEL_CLASSES.quick, tokens=4, queries=4)
    quick = MODEL_CAPACITY.quick
    small = replace(
        quick, shapes=(replace(SIZES, hidden=12),), classes=("GPT-2",), normed=("OLMo 2",), behind=SIZES, rows=(1, 2)
    )
    capacity = small.expect(small.run(0, "cpu"), 0)
    assert capacity.M.values.tolist() == [list(served(12))] == [[6, 11, 12, 13, 24, 36]]
    assert (capacity.capacity == 12).all() and (capacity.capacity_theory == 12).all()
    assert drawn(figures.capacity, capacity)


def test_facts_are_looked_up_by_hand():
    """Tokens are pairs, keys, fillers, values, in this order; a batch asks for what its context has."""
    facts = Facts(keys=5, values=3, pairs=4, fillers=2)
    assert facts.vocabulary == 5 * 3 + 5 + 2 + 3
    training = replace(LLAMA, name="", facts=facts, width=16, hidden=16, asked=2, B=3)
    batch = training.batch(stream(0, "batch"), "cpu")
    for tokens, values in zip(batch.tokens[0].tolist(), batch.values[0].tolist(), strict=True):
        told = {token // 3: token % 3 for token in tokens[:4]}
        assert len(told) == 4
        asked = [tokens[5], tokens[7]]
        assert [told[key - 15] for key in asked] == values and all(20 <= filler < 22 for filler in tokens[4:8:2])
    with pytest.raises(ValueError, match="a context has each key once"):
        Facts(keys=3, values=3, pairs=4, fillers=2)


def test_queries_keep_their_positions_and_ask_for_every_key_with_every_filler():
    looking = looked_up.Looking(None, (), LLAMA, torch.arange(8), torch.arange(8) + 2)
    found = looked_up.passage(looking, (1, 4), (0, 3), (0, 5))
    assert found.positions.tolist() == [[0, 5, 8, 9]] * 4
    assert found.tokens[:, :2].tolist() == [[2, 5 * 16 + 7]] * 4
    assert (found.tokens[:, 2:] - 256).tolist() == [[16, 1], [19, 1], [16, 4], [19, 4]]
    assert found.rows.sum(1).tolist() == [2] * 4 and looked_up.asking(found).rows[:, -1].all()


def test_recall_on_networks_that_were_never_trained(monkeypatch):
    """Accuracies are shares, a fitted patch of a full rank answers its queries, and the weights are as before."""
    monkeypatch.setattr(
        looked_up.RecallTraining, "trained", lambda self, seed, run: made(self.model, self.sizes, stream(run, "w"))
    )
    tiny = replace(RECALL.quick, runs=1, contexts=2, steps=2)
    tiny = replace(tiny, one=replace(LLAMA, name=""), other=replace(GPT, name=""))
    dataset = tiny.expect(tiny.run(0, "cpu"), 0)
    assert ((dataset.accuracy >= 0) & (dataset.accuracy <= 1)).all() and (dataset.accuracy.sel(way="context") < 0.6).all()
    assert (dataset["size"].sel(way=["last alone", "distilled"]) > 0).all() and (dataset.chance == 1 / 16).all()
    assert drawn(figures.recall, dataset)
    with pytest.raises(ValueError, match="of 8 pairs some have to be left"):
        replace(RECALL.quick, asked=8)


def facts_made_up(asked: float, other: float, placebo: float) -> xr.Dataset:
    shape = ("model", "network", "context")
    one = xr.DataArray(np.zeros((2, 3, 4)), dims=shape)
    ways = {"context": (1, 1), "no patch": (0, 0), "placebo": (placebo, 0.1)}
    ways |= dict.fromkeys(("last alone", "all matrices", "distilled"), (asked, other))
    table = xr.DataArray(list(ways.values()), {"way": list(ways), "group": ["asked", "not asked"]}, ("way", "group"))
    return xr.Dataset({"accuracy": one + table})


def test_claims_on_made_up_facts():
    good, bad = facts_made_up(0.9, 0.1, 0.1), facts_made_up(0.9, 0.8, 0.5)
    for claim in (claims.D67, claims.D68, claims.D69, claims.D70):
        assert claim.judge(good).verdict == HOLDS and claim.judge(good).control_verdict == FAILS
    for claim in (claims.D68, claims.D69, claims.D70):
        assert claim.judge(bad).verdict == FAILS
    assert claims.D67.judge(facts_made_up(0.5, 0.1, 0.1)).verdict == FAILS
