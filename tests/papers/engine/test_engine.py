"""The engine's page: counts and both loops are checked exactly, times only for being times."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.companion import Checkpoint
from icl_lib.models.gpt2 import GPT2
from icl_lib.seeds import stream
from icl_lib.train.loop import summed, train
from icl_lib.train.optimizers import FusedAdam
from papers.engine import one_layer, reference, roofline, speed, traffic
from papers.engine.gpt2_state import BLOCK, state_dict
from papers.engine.sizes import STANDARD, TINY, Size, count_step
from papers.engine.theory import operations as theory
from papers.regression.decoders import prefix_loss

TOY = Size("toy", layers=2, heads=2, width=8, d=3, N=4, B=4, every=1)
SMALL_ROOFLINE = roofline.Roofline(sizes=(TOY, TINY), models=2, together=3, laps=1, repeats=1, side=64, copied=2**12)


# --- counts -------------------------------------------------------------------------------------------------------


def test_operations_by_hand():
    """L = 1, D = 2, d = 1, N = 1, B = 1: T = 3 and r = 2, so F = 12 + 72 + 72 + 144 + 8 and a step has 3F - 12."""
    assert theory.forward_operations(1, 2, 1, 1, 1) == 308
    assert theory.step_operations(1, 2, 1, 1, 1) == 912


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "models"), [(TINY, 1), (STANDARD, 1), (replace(TOY, layers=1, N=7, d=5), 3), (replace(TOY, B=5), 2)]
)
def test_operations_are_those_that_pytorch_counts(size, models):
    assert count_step(size, models, "cpu").operations == size.operations(models)


def test_traffic_by_hand():
    """In float32: 2x3 @ 3x4 moves 6 + 12 + 8 numbers; +1 in place 8 twice; a copy 8 twice; its transpose none."""

    def work():
        product = torch.empty(2, 3) @ torch.empty(3, 4)
        product.add_(1)
        torch.empty(2, 4).copy_(product).T.view(-1, 2)[1:]

    assert traffic.count(work).traffic == 4 * (26 + 16 + 16)
    assert traffic.count(work).operations == 2 * 2 * 3 * 4


def test_an_expanded_tensor_is_read_once():
    assert traffic.count(lambda: torch.empty(1).expand(1000) + torch.empty(1000)).traffic == 4 * (1 + 1000 + 1000)


def test_kept_bytes_by_hand():
    """exp keeps its result, a product both factors, of which one is that result; what a graph does not need is not kept."""

    def work():
        x = torch.empty(5, requires_grad=True)
        return x.exp() * torch.empty(5, requires_grad=True) + torch.empty(5).exp()

    assert traffic.count(work).kept == 4 * (5 + 5)


def test_what_is_kept_is_what_the_hooks_of_a_real_step_see():
    decoder, kept = TOY.training(1, 1).decoder(), {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    weights = {k: w.requires_grad_() for k, w in decoder.start(stream(0, "w"), 1, torch.zeros(())).items()}
    prompts = TOY.training(1, 1).prompts(0, 0, "cpu")
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        prefix_loss(decoder)(weights, prompts).sum()
    assert count_step(TOY, 1, "cpu").kept == sum(t.untyped_storage().nbytes() for t in kept.values())


def test_the_roof_has_a_slope_and_a_level():
    assert theory.attainable(100.0, 10.0, np.array([1.0, 10.0, 50.0])).tolist() == [10.0, 100.0, 100.0]


# --- the plain loop -----------------------------------------------------------------------------------------------


def test_a_stopwatch_changes_no_training():
    declared, watch = TOY.training(3, 4), speed.Stopwatch(2)
    timed, plain = declared.run(5, "cpu", watch), declared.run(5, "cpu")
    assert torch.equal(timed.losses, plain.losses) and len(watch.marks) == 2
    assert all(torch.equal(timed.parameters[k], plain.parameters[k]) for k in plain.parameters)


def gradients(size, dtype=torch.float64):
    """Loss and gradient of both loops by Garg et al.'s names, on the same weights, away from their start, and prompts."""
    declared, like = size.training(1, 1), torch.zeros((), dtype=dtype)
    decoder = declared.decoder()
    weights = decoder.start(stream(0, "weights"), 1, like)
    weights = {k: (w + 0.1 * torch.randn(w.shape, generator=stream(0, k), dtype=dtype)) for k, w in weights.items()}
    prompts = type(p := declared.prompts(0, 0, "cpu"))(*(part.to(dtype) for part in p))
    leaves = {k: w.requires_grad_() for k, w in weights.items()}
    ours = prefix_loss(decoder)(leaves, prompts).sum()
    ours.backward()
    plain = reference.Reference(decoder).to(dtype)
    found = plain.load_state_dict(state_dict(weights), strict=False)
    assert not found.unexpected_keys and found.missing_keys == ["_backbone.wte.weight"]
    xs, ys = reference.inputs_and_labels(prompts)
    theirs = (plain(xs, ys) - ys).square().mean()
    theirs.backward()
    gradient = state_dict({k: w.grad for k, w in leaves.items()})
    return (ours, gradient), (theirs, {k: p.grad for k, p in plain.named_parameters() if p.grad is not None})


@pytest.mark.parametrize("size", [TOY, replace(TINY, B=4)])
def test_both_loops_have_the_same_loss_and_gradient(size):
    pytest.importorskip("transformers")
    (ours, gradient), (theirs, theirs_gradient) = gradients(size)
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-12)
    assert set(gradient) == set(theirs_gradient) and len(gradient) == 7 + 2 * len(BLOCK) * size.layers
    for name, expected in theirs_gradient.items():
        assert torch.allclose(gradient[name], expected, rtol=1e-9, atol=1e-12), name


def test_both_loops_take_the_same_steps():
    """With a constant rate, from the same start on the same prompts, in float32."""
    pytest.importorskip("transformers")
    declared, watch = replace(TOY.training(1, 6), rate=0.01), speed.Stopwatch(2)
    decoder = declared.decoder()
    start = decoder.start(stream(2, "weights"), 1, torch.zeros(()))
    ours = train(
        prefix_loss(decoder), start, lambda step: declared.prompts(2, step, "cpu"), FusedAdam(0.01), 6, differentiate=summed
    )
    theirs = reference.train_plainly(declared, 2, "cpu", watch)
    assert theirs == pytest.approx(ours.losses[:, 0].tolist(), rel=1e-4) and len(watch.marks) == 3


def test_a_stopped_training_goes_on_bit_for_bit(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4)
    one_layer.one_layer_training(3, 9, 0, "cpu", checkpoint)
    assert checkpoint.load()["step"] == 8
    resumed, whole = (one_layer.one_layer_training(3, 20, 0, "cpu", each) for each in (checkpoint, None))
    assert torch.equal(resumed.losses, whole.losses)
    assert all(torch.equal(resumed.parameters[k], whole.parameters[k]) for k in whole.parameters)


def test_the_plain_loop_leaves_the_global_generator_alone():
    pytest.importorskip("transformers")
    before = torch.get_rng_state()
    reference.started_as_the_engine(TOY.training(1, 1).decoder(), 0)
    assert torch.equal(before, torch.get_rng_state())


def test_the_plain_loop_says_what_it_needs(monkeypatch):
    with pytest.raises(ValueError, match="table of positions"):
        reference.Reference(GPT2(1, 1, 4, entries=2))
    monkeypatch.setattr(reference.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install transformers"):
        reference.Reference(GPT2(1, 1, 4, entries=2, positions=4))


# --- the page -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dataset():
    return replace(roofline.ENGINE_ROOFLINE, quick=SMALL_ROOFLINE).run("quick", 0)


@pytest.mark.long
def test_the_dataset_has_counts_and_times(dataset):
    assert dataset.size.values.tolist() == ["toy", "tiny"] and dataset.models.values.tolist() == [1, 2]
    assert (dataset.operations == dataset.operations_theory).all()
    assert (dataset.operations.sel(models=2) == 2 * dataset.operations.sel(models=1)).all()
    for name in ("traffic", "kept", "seconds", "products_rate", "peak", "bandwidth", "one_layer_seconds", "threads"):
        assert (dataset[name] > 0).all(), name
    assert dataset.seconds.attrs["units"] == "s" and dataset.traffic.attrs["units"] == "B"


@pytest.mark.parametrize(
    ("change", "words"),
    [({"models": 1}, "models is 1: .* at least 2"), ({"laps": 0}, "laps is 0: .* at least 1"), ({"sizes": ()}, "1 or more")],
)
def test_a_roofline_of_nothing_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        replace(SMALL_ROOFLINE, **change)


def test_a_size_has_heads_that_divide_its_width():
    with pytest.raises(ValueError, match="heads must divide the width"):
        replace(TOY, heads=3)


def test_without_transformers_the_plain_loop_is_left_out(monkeypatch):
    monkeypatch.setattr(roofline, "installed", lambda: False)
    dataset = roofline.Roofline((TOY,), 2, 2, 1, 1, 16, 64).run(0, "cpu")
    assert np.isnan(dataset.plain_seconds).all() and bool((dataset.seconds > 0).all())
