"""Generation: theory by second routes and by hand, decoding by another loop, tiny declarations, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from torch.utils.flop_counter import FlopCounterMode

from icl_lib.companion import FAILS, HOLDS
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.dherin.architectures import Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.generation import claims, figures, stale_trained
from papers.dherin.generation.costs import COSTS
from papers.dherin.generation.generation import GENERATION, gumbel
from papers.dherin.generation.stale_patches import STALE_PATCHES, errors
from papers.dherin.generation.stale_trained import STALE_TRAINED
from papers.dherin.modern_parts import RotarySoftmaxAttention
from papers.dherin.patched_generation import Stale, generate, greedy, reuse, sampled, with_context, with_patches
from papers.dherin.theory import generation as theory
from papers.dherin.trained import Trained
from tests.papers.drawn import drawn

SIZES = Sizes(width=12, heads=2, hidden=20, experts=3, active=2, vocabulary=19)
BUILT = architecture("Llama", 3, SIZES)
WEIGHTS = BUILT.weights(0, 0)


def draw(name: str, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def test_costs_by_hand():
    D, H, L, V, t = 2, 3, 1, 5, 4
    assert (theory.token_cost(D, H), theory.score_cost(D, t)) == (68, 32)
    assert (theory.full_cost(D, H, L, V, t), theory.cached_cost(D, H, L, V, t)) == (420, 120)
    assert (theory.patch_cost(D, H, L, V), theory.patch_products(D, H, L, V), theory.outer_products(D, H, L)) == (176, 140, 36)
    assert theory.outer_products(D, H, 7) == 252
    assert theory.cost_ratio(D, H, L, V, t, cache=False) == pytest.approx(1 + 176 / 420)
    assert theory.cost_ratio(D, H, L, V, t, cache=True) == pytest.approx(1 + 176 / 120)
    assert theory.break_even(D, H, L, V) == 11 == (14 * H + 2) / 4
    for beyond, cheaper in ((10, False), (12, True)):
        assert (theory.patch_cost(D, H, L, V) < theory.cached_cost(D, H, L, V, beyond)) == cheaper


@pytest.mark.parametrize("T", [2, 9])
def test_costs_are_what_pytorch_counts(T):
    counts = []
    for step in (with_context(BUILT.network, WEIGHTS), with_patches(BUILT.network, BUILT.site, WEIGHTS)):
        with FlopCounterMode(display=False) as counter:
            step(words(0, "text", SIZES, T))
        counts.append(counter.get_total_flops())
    full = theory.full_cost(12, 20, 3, 19, T)
    assert counts == [full, full - 2 * 12 * 19 + theory.patch_products(12, 20, 3, 19)]


def test_rotary_positions_by_hand_and_against_the_layer():
    assert np.allclose(theory.turned(np.array([1.0, 0.0]), 1), [np.cos(1), np.sin(1)])
    layer, rows = RotarySoftmaxAttention(1, 6, 6, 6), draw("rows", 3, 1, 6)
    placed = layer._placed(rows, torch.tensor([0, 4, 11]))[:, 0]
    assert np.allclose(placed, np.stack([theory.turned(row.numpy(), p) for row, p in zip(rows[:, 0], (0, 4, 11), strict=True)]))
    q, k = rows[0, 0].numpy(), rows[1, 0].numpy()
    assert theory.turned(q, 3) @ theory.turned(k, 5) == pytest.approx(theory.turned(q, 10) @ theory.turned(k, 12), rel=1e-12)


def test_a_stale_input_patch_by_hand_and_by_the_library():
    W, z, z_C = np.array([[1.0, 1.0]]), np.array([1.0, 0.0]), np.array([3.0, 0.0])
    assert theory.stale_input(W, z, z_C, np.array([2.0, 0.0])) == 6 and theory.stale_input(W, z, z_C, np.array([0.0, 2.0])) == 2
    W, z, z_C, other = draw("W", 4, 5), draw("z", 5), draw("z_C", 5), draw("other", 5)
    found = (W + redirection(W, z, z_C)) @ other
    assert np.allclose(found, theory.stale_input(*(each.numpy() for each in (W, z, z_C, other))), rtol=1e-12)


def test_decoding_by_a_plain_loop():
    prompt = words(0, "prompt", SIZES, 2, 4)
    found = generate(with_context(BUILT.network, WEIGHTS), prompt, 5, greedy)
    for row, text in zip(prompt.tolist(), found.tokens, strict=True):
        for _ in range(5):
            row.append(BUILT.network(WEIGHTS, torch.tensor(row))[-1].argmax().item())
        assert row == text.tolist()
    for window in (0, 2, 50):
        patched = generate(with_patches(BUILT.network, BUILT.site, WEIGHTS, window), prompt, 5, greedy)
        assert torch.equal(patched.tokens, found.tokens) and relative(patched.logits, found.logits).max() < 1e-13


def test_gumbel_noise_draws_from_the_softmax():
    logits, noise = torch.tensor([0.0, 1.0, -1.0]).double(), gumbel(0, "noise", 40_000, 3)
    choose = sampled(noise[:, None], temperature=0.5)
    share = torch.bincount(choose(logits.expand(40_000, 3), 0), minlength=3) / 40_000
    assert torch.allclose(share.double(), (logits / 0.5).softmax(-1), atol=0.01)
    assert sampled(torch.zeros(1, 3))(logits, 0) == greedy(logits, 0) == 1


def test_stale_patches_one_by_one_and_all_at_once():
    text = words(1, "text", SIZES, 5)
    at_once = errors(BUILT, WEIGHTS, text, 0)
    step = Stale(BUILT.network, BUILT.site, WEIGHTS)
    expected = BUILT.network(WEIGHTS, text)
    for t in range(5):
        assert relative(step(text[: t + 1]), expected[t]).item() == pytest.approx(at_once[2, t].item(), rel=1e-9, abs=1e-13)
    assert at_once[:2].max() < 1e-13 and at_once[2, 0] < 1e-13 and at_once[2:, 1:].min() > 1e-2
    own = reuse(BUILT.network, WEIGHTS, BUILT.network.blocks(WEIGHTS), text, window=4)
    assert relative(own, expected[-1]) < 1e-14  # the whole context in the window: nothing to patch


@pytest.fixture(scope="module")
def decoded():
    tiny = replace(GENERATION.quick, sizes=SIZES, depth=2, prompt=3, steps=3, window=2, architectures=("Llama", "Gemma"))
    return tiny.run(0, "cpu")


def test_generation_on_a_tiny_declaration(decoded):
    assert decoded.error.sel(patches="recomputed").max() <= 1e-12 < decoded.error.sel(patches="none").min()
    assert decoded.error.sel(patches="last block without", architecture="Gemma").max() > 1e-12
    assert claims.D50.judge(decoded).verdict == HOLDS
    assert not decoded.differ.sel(patches=["recomputed", "with a window"]).any()
    assert (decoded.distinct >= 1).all() and (decoded.distinct <= 3).all()
    assert drawn(figures.decoding, decoded)


def test_one_wrong_token_turns_the_claim_red(decoded):
    wrong = decoded.copy(deep=True)
    wrong.differ.loc[dict(architecture="Llama", patches="recomputed", choice="greedy")] = 1 / 6
    assert claims.D50.judge(wrong).verdict == FAILS


def test_stale_patches_on_a_tiny_declaration():
    tiny = replace(
        STALE_PATCHES.quick, sizes=SIZES, depth=2, prompt=8, steps=3, kept=3, seeds=2, architectures=("Llama", "Gemma")
    )
    dataset = tiny.run(0, "cpu")
    assert dataset.error.sel(patches="first block without").max() <= 1e-12 < dataset.error.sel(patches="stale").min()
    renumbered = dataset.renumbered.sel(architecture="Llama")
    assert renumbered.sel(place=["alone", "window"]).max() <= 1e-12 < renumbered.sel(place="scattered").max()
    assert dataset.sizes["token"] == 3 and dataset.renumbered.sel(place="window").max() < 1e-6
    assert drawn(figures.stale, dataset)


def test_stale_patches_of_a_regression_network(monkeypatch):
    """A network with random weights stands in for the shipped one."""
    small = replace(STALE_TRAINED.quick.training, model=replace(STALE_TRAINED.quick.training.model, depth=2))
    network = small.model.network()
    weights = network.start(stream(0, "random"), (1,), torch.zeros((), dtype=torch.float64))
    monkeypatch.setattr(stale_trained, "trained", lambda *_: Trained(network, weights))
    dataset = replace(STALE_TRAINED.quick, training=small, N=6, prompts=8, draws=2).run(0, "cpu")
    median = dataset.error.mean("draw")
    assert median.sel(patches="recomputed") < 1e-13 and median.sel(patches=["stale", "none"]).min() > 1e-3
    made_up = xr.Dataset(
        {"error": (("draw", "patches"), [[0.0, 0.5, 1.0]] * 3)}, coords={"patches": list(stale_trained.PATCHES)}
    )
    assert (claims.D53c.judge(made_up).verdict, claims.D53c.judge(made_up).control_verdict) == (HOLDS, FAILS)


def test_costs_on_a_tiny_declaration():
    declaration = replace(COSTS.quick, sizes=SIZES, depth=2, lengths=(3, 6), repeats=1)
    dataset = declaration.expect(declaration.run(0, "cpu"), 0)
    assert (claims.D52.judge(dataset).verdict, claims.D52.judge(dataset).control_verdict) == (HOLDS, FAILS)
    assert np.allclose(dataset.operations, dataset.operations_theory, rtol=1e-12, atol=0)
    counted, read_out = dataset.operations.sel(decoding="context"), 2 * 12 * 19
    cached = (counted - read_out) / dataset.length + read_out  # of all tokens' operations, those of the last one
    patch = dataset.operations.sel(decoding="patches") - (counted - read_out) + theory.outer_products(12, 20, 2)
    assert np.allclose(dataset.ratio_cached, 1 + patch / cached, rtol=1e-12, atol=0)
    assert (dataset.seconds > 0).all() and drawn(figures.costs, dataset)


def test_stale_claims_on_made_up_numbers():
    error = np.full((1, 3, 4, 5), 1e-15)
    error[:, :, 2:] = 1.0
    base = xr.Dataset(
        {
            "error": (("architecture", "seed", "patches", "token"), error),
            "same": (("architecture", "seed"), [[0.2, 0.21, 0.19]]),
            "different": (("architecture", "seed"), [[1.0, 1.1, 0.9]]),
            "without": (("architecture", "seed"), [[1.0, 1.0, 1.0]]),
        },
        coords={"architecture": ["Llama"], "patches": ["recomputed", "first block without", "stale", "none"]},
    )
    for claim in (claims.D53, claims.D53b):
        assert (claim.judge(base).verdict, claim.judge(base).control_verdict) == (HOLDS, FAILS), claim.id
    assert claims.D53b.judge(base.assign(same=base.without * 0.7)).verdict == FAILS


def test_bad_input_is_named():
    for call, text in (
        (lambda: generate(with_context(BUILT.network, WEIGHTS), words(0, "p", SIZES, 3), 0, greedy), "1 step or more"),
        (
            lambda: generate(with_context(BUILT.network, WEIGHTS), words(0, "p", SIZES, 2, 3)[:, :0], 1, greedy),
            "1 token or more and 1 step or more, not 0 and 1",
        ),
        (lambda: theory.stale_input(np.eye(2), np.zeros(2), np.ones(2), np.ones(2)), "z = 0"),
        (lambda: theory.turned(np.ones(3), 1), "an even number"),
        (lambda: replace(GENERATION.quick, temperature=0.0).run(0, "cpu"), "temperature is 0.0"),
        (lambda: replace(STALE_PATCHES.quick, kept=50).run(0, "cpu"), "twice as many tokens as kept"),
        (lambda: replace(COSTS.quick, lengths=(1,)).run(0, "cpu"), "of at least 2"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
