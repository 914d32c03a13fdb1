"""All positions and all blocks: theory by second routes and by hand, tiny experiments, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr
from jaxtyping import TypeCheckError

from icl_lib.companion import FAILS, HOLDS
from icl_lib.patches.network import patched_block
from papers.dherin.all_positions import claims, figures, positions_training
from papers.dherin.all_positions import positions as experiment
from papers.dherin.all_positions.composition import COMPOSITION
from papers.dherin.all_positions.position_blocks import VARIANTS, Architecture, draw, states, theory_output, variants
from papers.dherin.all_positions.positions import POSITIONS
from papers.dherin.all_positions.positions_training import POSITIONS_TRAINING
from papers.dherin.all_positions.update_alignment import UPDATE_ALIGNMENT, cosine_matrix, groups
from papers.dherin.theory import positions
from tests.papers.drawn import drawn

TINY = Architecture(d=2, heads=3, blocks=2)


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def attention(weights: dict[str, np.ndarray], heads: int, tokens: np.ndarray, causal: bool) -> np.ndarray:
    """Softmax attention at every token, head by head and token by token in plain loops."""
    c, out = len(weights["W_Q"]) // heads, []
    for i, token in enumerate(tokens):
        parts = []
        for h in range(heads):
            rows = slice(h * c, (h + 1) * c)
            q, seen = weights["W_Q"][rows] @ token, tokens[: i + 1] if causal else tokens
            score = np.exp(np.array([q @ (weights["W_K"][rows] @ other) for other in seen]) / np.sqrt(c))
            parts.append(sum(s * (weights["W_V"][rows] @ other) for s, other in zip(score / score.sum(), seen, strict=True)))
        out.append(weights["W_O"] @ np.concatenate(parts))
    return np.array(out)


@pytest.mark.parametrize("name", VARIANTS)
def test_theory_and_patches_agree_in_every_variant(name):
    """numpy attention, norm and formulas on one side, models and patches on the other; then the block's outputs."""
    shape = variants(TINY, (name,))[name]
    network, weights, sequence = draw(shape, 6, 1, "test", 0)
    block, plain = network.blocks(weights)[0], {}
    plain = {key: value.numpy() for key, value in block.items()}
    z = sequence[0].numpy()

    def norm(rows: np.ndarray, place: str) -> np.ndarray:
        return positions.layer_norm(rows, plain[f"m_{place}"], plain[f"b_{place}"], 1e-5) if shape.norms else rows

    carried = attention(plain, 3, norm(z, "mix"), shape.causal)
    alone = attention(plain, 3, norm(z[-1:], "mix"), shape.causal)[0]
    if shape.skips:
        carried, alone = carried + z, alone + z[-1]
    read, base = norm(carried, "feed"), norm(alone, "feed")
    pair = states(network.block, block, sequence, sequence[:, -1:])
    patched = patched_block(network.block, shape.site(), block, *pair)
    assert np.allclose((patched["W"] - block["W"])[0].numpy(), positions.weight_update(plain["W"], read, base), atol=1e-13)
    if shape.skips:
        expected = positions.bias_update(carried, alone)
        assert np.allclose((patched["b_out"] - block["b_out"])[0].numpy(), expected, atol=1e-13)
    out = theory_output(network.block, shape.site(), block, pair)
    assert torch.allclose(out, network.block(block, sequence), rtol=1e-12, atol=1e-13)


def test_weight_update_by_hand_and_as_least_squares():
    W, base, read = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 1.0]), np.array([3.0, 1.0])
    assert positions.weight_update(W, read, base).tolist() == [[1, 1], [1, 1]]
    rng = generator()
    W, read, base = rng.standard_normal((5, 4)), rng.standard_normal((3, 4)), rng.standard_normal(4)
    for i in range(3):
        least = np.outer(W @ (read[i] - base), np.linalg.pinv(base[:, None])[0])
        assert np.allclose(positions.weight_update(W, read, base)[i], least)
    assert positions.bias_update(np.array([3.0, 1.0]), np.array([1.0, 1.0])).tolist() == [2, 0]


def test_layer_norm_against_pytorch_and_by_hand():
    rows = generator().standard_normal((4, 6))
    gain, bias = generator().standard_normal(6), generator().standard_normal(6)
    expected = torch.nn.functional.layer_norm(
        *(torch.from_numpy(rows), (6,), torch.from_numpy(gain), torch.from_numpy(bias), 1e-3)
    )
    assert np.allclose(positions.layer_norm(rows, gain, bias, 1e-3), expected.numpy())
    assert np.allclose(positions.layer_norm(np.array([1.0, 3.0]), np.ones(2), np.zeros(2), 0.0), [-1, 1])


def test_epsilon_by_hand_and_in_the_update():
    assert positions.missing_share(1e-8, 1e-8) == 0.5
    rng = generator()
    W, read, base = rng.standard_normal((5, 4)), rng.standard_normal((3, 4)), 1e-3 * rng.standard_normal(4)
    exact, damped = (positions.weight_update(W, read, base, epsilon) @ base for epsilon in (0.0, 1e-6))
    share = 1 - np.linalg.norm(damped, axis=-1) / np.linalg.norm(exact, axis=-1)
    assert np.allclose(share, positions.missing_share((base**2).sum(), 1e-6), rtol=1e-9)


def test_sum_and_alignment_against_whole_matrices():
    rng = generator()
    W, read, base = rng.standard_normal((5, 4)), rng.standard_normal((7, 4)), rng.standard_normal(4)
    each = positions.weight_update(W, read, base)
    summed = positions.summed_update(W, read, base)
    assert np.allclose(summed, each.sum(0)) and np.linalg.matrix_rank(summed) == 1
    flat = each.reshape(7, -1)
    assert np.allclose(positions.alignment(W, read, base), 1 - np.array([[_cosine_distance(a, b) for a in flat] for b in flat]))
    two = positions.alignment(np.eye(2), np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, 1.0]))
    assert np.allclose(two, np.eye(2))  # (2, 0) and (0, 1)


def _cosine_distance(a: np.ndarray, b: np.ndarray) -> float:
    return 1 - float(a @ b) / float(np.sqrt((a @ a) * (b @ b)))


def test_shared_base_alignment_by_draws_and_by_hand():
    assert positions.shared_base_alignment(np.eye(3), np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 1.0, 0.0])) == pytest.approx(
        1 / 3
    )
    rng = generator()
    W, S, B = rng.standard_normal((4, 3)), np.diag([1.0, 2.0, 0.5]), np.diag([3.0, 0.1, 1.0])
    one, two, base = (rng.standard_normal((200_000, 3)) @ np.sqrt(moment) for moment in (S, S, B))
    left, right = (one - base) @ W.T, (two - base) @ W.T
    found = (left * right).sum(-1).mean() / (left**2).sum(-1).mean()
    assert found == pytest.approx(positions.shared_base_alignment(W, S, B), abs=0.01)


def test_the_query_is_its_own_base():
    """In the first token of a causal block nothing is added by the context when that token is the base itself."""
    network, weights, sequence = draw(TINY, 4, 2, "own", 0)
    pair = states(network.block, network.blocks(weights)[0], sequence, sequence[:, :1])
    assert torch.equal(pair.full.z[:, 0], pair.bare.z[:, 0])


def tiny(exp, **changes):
    return replace(exp.quick, architecture=TINY, **changes)


@pytest.fixture(scope="module")
def exact() -> xr.Dataset:
    names = ("skips", "skips, norms", "no skips", "not causal")
    declaration = tiny(POSITIONS, N=7, variants=names, shapes=((5, 2, 4),), networks=2, prompts=2)
    return declaration.expect(declaration.run(0, "cpu"), 0)


def test_positions_on_a_tiny_declaration(exact):
    for claim in (claims.D36, claims.D36b, claims.D38, claims.D38b):
        judgement = claim.judge(exact)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert exact.error_exact.max() <= 1e-13 < exact.error_epsilon.max()
    assert exact.by_position.max() <= exact.error.isel(variant=0).max()
    assert drawn(figures.positions, exact)


@pytest.mark.parametrize("fault", ["epsilon", "token before", "transposed"])
def test_a_planted_fault_turns_positions_red(monkeypatch, fault):
    def wrong(block, site, weights, pair):
        patched = patched_block(block, site, weights, *pair)
        update = patched["W"] - weights["W"]
        square = pair.bare.z.square().sum(-1)[..., None]
        changed = {
            "epsilon": update * square / (square + 1e-8),
            "token before": update.roll(1, 1),
            "transposed": update.flip(-1),
        }[fault]
        return block.feed({**patched, "W": weights["W"] + changed}, pair.bare)[..., 0, :]

    monkeypatch.setattr(experiment, "theory_output", wrong)
    dataset = tiny(POSITIONS, N=5, variants=("skips",), shapes=(), networks=1, prompts=2).run(0, "cpu")
    assert claims.D36.judge(dataset).verdict == FAILS


def test_alignment_on_a_tiny_declaration():
    sizes = dict(N=12, variants=("skips", "skips, norms", "no skips"), networks=12, prompts=6)
    declaration = tiny(UPDATE_ALIGNMENT, **sizes)
    dataset = declaration.expect(declaration.run(0, "cpu"), 0)
    network, weights, sequence = draw(TINY, 12, 6, "skips/0", 0)
    block = network.blocks(weights)[0]
    pair = states(network.block, block, sequence, sequence[:, -1:])
    update = patched_block(network.block, TINY.site(), block, *pair)["W"] - block["W"]
    flat = torch.nn.functional.normalize(update.flatten(-2), dim=-1)
    assert torch.allclose(cosine_matrix(block, pair), flat @ flat.mT, atol=1e-10)
    assert np.allclose(dataset.alignment.isel(variant=0, block=0, base=0, seed=0), groups(flat @ flat.mT))
    judgement = claims.D39.judge(dataset)
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS)
    assert drawn(figures.alignment, dataset)


def test_groups_by_hand():
    cosines = torch.tensor([[[1.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 1.0]]])
    assert groups(cosines) == pytest.approx([0.5, 0.2])


def test_composition_on_a_tiny_declaration():
    dataset = replace(
        COMPOSITION.quick,
        architectures=("skips", "RMS norm, gated", "GRU"),
        depth=3,
        width=6,
        heads=2,
        N=5,
        prompts=2,
        networks=1,
    ).run(0, "cpu")
    judgement = claims.D40.judge(dataset)
    assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS)
    assert dataset.difference.max() <= 1e-9 < dataset.difference_alone.max()
    assert dataset.error_last.isel(block=-1).max() <= 1e-12 < dataset.error_none.isel(block=-1).max()
    assert drawn(figures.composition, dataset)


def test_training_on_a_tiny_declaration():
    dataset = tiny(POSITIONS_TRAINING, N=10, variants=("skips",), networks=2, B=16, steps=4, marks=3, tests=16).run(0, "cpu")
    for claim in (claims.D37, claims.D37b):
        judgement = claim.judge(dataset)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert dataset.step.values.tolist() == [0, 2, 4] and (dataset.difference > 0).any()
    assert (dataset.loss.isel(step=0) != dataset.loss.isel(step=-1)).all()
    assert drawn(figures.training, dataset)


def test_likeness_is_that_of_context_tokens_first(monkeypatch):
    monkeypatch.setattr(positions_training, "groups", lambda cosines: [0.25, 0.75])
    dataset = tiny(POSITIONS_TRAINING, N=4, variants=("skips",), networks=1, B=2, steps=1, marks=2, tests=2).run(0, "cpu")
    assert (dataset.others == 0.25).all() and (dataset["last"] == 0.75).all()


def test_bad_declarations_are_refused():
    with pytest.raises(ValueError, match="heads must divide d \\+ 1"):
        replace(TINY, heads=2).network()
    with pytest.raises((ValueError, TypeCheckError), match="not causal, norms"):  # the hook is the first to see a bad Literal
        tiny(POSITIONS, variants=("skip",)).run(0, "cpu")
    with pytest.raises(ValueError, match="prompts is 1: take a whole number of at least 2"):
        tiny(UPDATE_ALIGNMENT, prompts=1).run(0, "cpu")
    with pytest.raises(ValueError, match="marks is 1: take a whole number of at least 2"):
        tiny(POSITIONS_TRAINING, marks=1).run(0, "cpu")
    with pytest.raises(ValueError, match="marks must be from 2 to steps"):
        tiny(POSITIONS_TRAINING, steps=3, marks=5).run(0, "cpu")
    with pytest.raises(ValueError, match="heads must divide d \\+ 1"):
        tiny(POSITIONS, shapes=((5, 4, 7),)).run(0, "cpu")
    with pytest.raises((ValueError, TypeCheckError), match="layer norm, last matrix"):
        replace(COMPOSITION.quick, architectures=("LSTM",)).run(0, "cpu")
    with pytest.raises(ValueError, match="heads must divide the width"):
        replace(COMPOSITION.quick, heads=5).run(0, "cpu")
