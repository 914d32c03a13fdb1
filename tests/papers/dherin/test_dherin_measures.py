"""What the rooms of Dherin et al. measure, by hand on small numbers or by a second route: sizes, distances, shares, labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention
from icl_lib.models.contextual.weights import start
from icl_lib.patches.network import forward
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.dherin.all_positions.composition import distances, relative_change
from papers.dherin.architectures import Sizes, architecture
from papers.dherin.generation.stale_trained import off
from papers.dherin.modern_blocks import depth, modern_blocks
from papers.dherin.patch_rules import exact
from papers.dherin.s2_contextual_blocks.conditioning import CONDITIONING
from papers.dherin.s2_contextual_blocks.identity import IDENTITY, additivity
from papers.dherin.s2_contextual_blocks.placebo import swap
from papers.dherin.s2_contextual_blocks.query_dependence import EDGES, QUERY_DEPENDENCE, reads
from papers.dherin.s3_implicit_dynamics import left_consuming, order
from papers.dherin.s3_implicit_dynamics.consumed import random_cases
from papers.dherin.s4_3_convergence.layers_compared import _moved
from papers.dherin.skip_connections import skip_connections
from papers.dherin.theory import dynamics
from papers.dherin.trained import OneBlock, Training, regression, tokens

LIKE = torch.zeros((), dtype=torch.float64)
SIZES = Sizes(width=12, heads=2, hidden=20, experts=4, active=2, vocabulary=19)
SMALL = OneBlock("softmax attention", 2, 8, 2, 16)


def draw(name: str, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def test_distances_are_relative_to_each_token_itself():
    """One long and one short token: the short one's error counts by its own length."""
    built = architecture("Llama", 1, SIZES)
    weights = built.weights(0, 0)
    blocks, alone = built.network.blocks(weights), draw("alone", 2, 3, 1, 12)
    expected = forward(built.network, blocks, alone)[..., 0, :] * torch.tensor([1.0, 2.0, 5.0])[:, None]
    assert distances(built.network, blocks, alone, [expected]) == pytest.approx([4 / 5])


def test_relative_change_by_hand():
    """Two prompts, of which the query comes last: changes of length 3 and 4 of weights of length 5, a bias not counted."""
    old = {"W": torch.tensor([[3.0, 4.0]]), "b": torch.zeros(2)}
    change = torch.zeros(3, 2, 1, 2)
    change[:, 1, 0] = torch.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 10.0]])
    assert relative_change(old, {"W": old["W"] + change, "b": torch.ones(3, 2, 2)}) == pytest.approx(0.8)


def test_distance_of_predictions_by_hand():
    assert off(torch.tensor([4.0, 4.0, 5.0]), torch.tensor([3.0, 4.0, 0.0])) == pytest.approx(1 / (25 / 3) ** 0.5)


def test_the_larger_of_both_errors_counts(monkeypatch):
    """At the logits, and behind the blocks."""
    built = architecture("Llama", 2, SIZES)
    weights = built.weights(0, 0)
    embedded = built.network.embed(weights, torch.arange(6))
    declaration = replace(modern_blocks.MODERN_BLOCKS.quick, tokens=6, sizes=SIZES)
    states, out = built.network.states(weights, embedded)
    text = modern_blocks.Text(built.network, weights, embedded, states, built.network.read(weights, out))
    found = []
    for behind in (7.0, 0.0):
        monkeypatch.setattr(modern_blocks, "behind", lambda *_, behind=behind: torch.tensor([behind]))
        found += [declaration.keep(text, exact(built.site), 0.5, 0, 0)]
    assert found[0] == 7 and 0 < found[1] < 1e-12


def test_depth_takes_the_worst_position(monkeypatch):
    monkeypatch.setattr(depth, "relative", lambda found, expected: torch.arange(len(found), dtype=found.dtype))
    declaration = replace(depth.DEPTH.quick, depths=(1,), sizes=SIZES, tokens=5, positions=3, seeds=1)
    assert [row[0] for row in declaration.read("Llama", 1, 0, 0, "cpu")] == [2.0] * 5


def test_the_nudged_input_meets_the_update_without_epsilon():
    """A nudge of nothing leaves the block exact, however large the epsilon of the padded update."""
    tiny = replace(CONDITIONING.quick, k=(0,), epsilon=1.0, nudge=1e-15, networks=3, N=6, width=8, heads=2, hidden=16)
    dataset = tiny.run(0, "cpu")
    assert dataset.error_nudged.max() < 1e-12 < 1e-3 < dataset.error_epsilon.min()


def test_updates_of_linear_attention_add_up():
    layer = LinearAttention(8, 3, 8)
    weights = start(layer.shapes, stream(0, "additivity"), (4,), LIKE)
    sequence, order = draw("tokens", 4, 7, 3), torch.stack([torch.randperm(6) for _ in range(4)])
    assert additivity(draw("W", 4, 5, 8), layer, weights, sequence, order).max() < 1e-12
    softmax = SoftmaxAttention(2, 4, 3, 8)
    weights = start(softmax.shapes, stream(0, "additivity"), (4,), LIKE)
    assert additivity(draw("W", 4, 5, 8), softmax, weights, sequence, order).min() > 1e-3


def test_first_over_last_by_dropping_tokens():
    tiny = replace(IDENTITY.quick, networks=3, N=5, width=8, heads=2, hidden=16)
    layer = tiny.layer()
    weights = tiny.start(layer.shapes, 0, "layer")
    block, mlp = tiny._block(layer, (tiny.hidden,), 0)
    sequence = tiny.prompts(0, "prompts")
    outputs = [
        block.feed_forward(mlp, layer(weights, part)[:, None])[:, 0]
        for part in (sequence, sequence[:, 1:], torch.cat([sequence[:, :4], sequence[:, 5:]], 1))
    ]
    first, last = ((one - outputs[0]).norm(dim=-1) for one in outputs[1:])
    found = tiny._first_over_last((block, mlp), layer, weights, sequence, layer(weights, sequence))
    assert torch.allclose(found, first / last)


def test_another_task_is_a_whole_task():
    """Its labels fit its inputs, and its weights are another prompt's."""
    prompts = regression(2).sample(stream(0, "swap"), (5,), 6)
    w, other = (torch.linalg.lstsq(each.x, each.y[..., None]).solution[..., 0] for each in (prompts, swap(prompts)))
    assert torch.allclose(other, w.roll(1, 0)) and torch.equal(swap(prompts).x_query, prompts.x_query)


@pytest.fixture(scope="module")
def asked() -> tuple:
    """A declaration with many queries, a random network, its prompts, and what is read of it."""
    training = Training("", SMALL, N=12, every_prefix=False, B=1, rate=1.0, steps=1, replicates=1)
    tiny = replace(QUERY_DEPENDENCE.quick, training=training, contexts=2, queries=8, lengths=(12,), drawn=2)
    network = SMALL.network()
    role = f"query dependence/d={SMALL.d}, N=12"
    weights = {name: w[0] for name, w in network.start(stream(0, f"{role}/drawn"), (2,), LIKE).items()}
    prompts, near = tiny._prompts(0, f"{role}/0")
    return tiny, network, weights, prompts, tiny._one_network(network, weights, prompts, near)


def test_pairs_of_queries_are_binned_by_their_cosine(asked):
    """Counts by np.histogram; the error of a pair is the larger one, of either query with the other's update."""
    tiny, network, weights, prompts, found = asked
    (block,) = network.blocks(weights)
    a, full = reads(network, block, prompts)
    update = redirection(block["W"], a, full)
    cosines, misses = [], []
    for c in range(2):
        outputs = torch.stack(
            [network.block.feed_forward(block | {"W": block["W"] + u}, a[c][:, None])[:, 0, -1] for u in update[c]]
        )
        label = network.block.feed_forward(block, full[c][:, None])[:, 0, -1]
        miss = ((outputs - label).abs() / label.abs()).numpy()
        for i in range(8):
            for j in range(i):
                cosines.append(((update[c, i] * update[c, j]).sum() / update[c, i].norm() / update[c, j].norm()).item())
                misses.append(max(miss[i, j], miss[j, i]))
    cosines, misses = np.array(cosines), np.array(misses)
    assert found["pairs"].tolist() == np.histogram(cosines, EDGES)[0].tolist()
    place = np.clip(((cosines + 1) * 10).astype(int), 0, 19)
    expected = [np.median(misses[place == b]) if (place == b).any() else np.nan for b in range(20)]
    assert np.allclose(found["miss"], expected, equal_nan=True)


def test_excess_is_over_the_squared_cosine_of_the_queries(asked):
    tiny, network, weights, prompts, found = asked
    x = torch.nn.functional.normalize(prompts[..., -1, :-1], dim=-1)
    square = torch.einsum("cid,cjd->cij", x, x).square()
    i, j = np.triu_indices(8, 1)
    cosines, squares = tiny._drawn(0)
    assert cosines[0] == pytest.approx(found["cosine"].mean())
    assert squares[0] == pytest.approx(square[:, i, j].mean().item())


def test_angle_and_rank_of_a_change_by_hand():
    """The change has the patch in it whole: what is left over is at a right angle, the change itself is not."""
    patch = np.array([[[2.0, 0.0], [0.0, 0.0]]])
    change = np.array([[[2.0, 0.0], [0.0, 1.0]]])
    assert left_consuming.angle(change, patch) == pytest.approx([0.0])
    assert left_consuming.angle(change + patch, patch) == pytest.approx([4 / (17**0.5 * 2)])
    assert left_consuming.rank(1e-20 * change).tolist() == [2] and left_consuming.rank(change, 0.6).tolist() == [1]


def test_paths_of_two_orders_against_whole_matrices():
    """The distance of two paths over the sum of their lengths, largest on the way; a third of it where they part by half."""
    case = next(random_cases(SMALL, 1, 2, 5, 0))
    orders = order.context_orders(5, 3, 0)
    W = [case.W + redirection(case.W, case.prefixes()[:, :1], case.along(each).prefixes()) - case.W for each in orders]
    size = [each.flatten(2).norm(dim=-1) for each in W]
    parted = [((each - W[0]).flatten(2).norm(dim=-1) / (one + size[0]))[:, 1:-1] for each, one in zip(W, size, strict=True)]
    _, _, path = order.compare(case, orders)
    assert np.allclose(path, torch.stack(parted).amax((0, 2)))


def test_share_that_two_coordinates_keep_by_the_covariance():
    case = next(random_cases(SMALL, 1, 2, 5, 0))
    orders = order.context_orders(5, 3, 0)
    position, kept = order.coordinates(case, orders)
    a = torch.cat([case.along(each).prefixes()[:1] for each in orders])
    vectors = dynamics.path_vectors(case.W.numpy(), a.numpy()).reshape(-1, 16)
    values = np.linalg.eigvalsh(np.cov(vectors.T))
    assert kept == pytest.approx(values[-2:].sum() / values.sum()) and position.shape == (3, 6, 2)


def test_steps_over_the_spread_by_hand():
    """Two trials in two coordinates: steps of 1 in the later half, ends that spread by 2 in each coordinate."""
    along = torch.tensor([[0.0, 0.0, 1.0, 2.0], [0.0, 0.0, 3.0, 4.0]])[..., None].expand(-1, -1, 2)
    assert _moved(along) == pytest.approx((1 / 2) ** 0.5)


def test_error_of_a_skip_block_is_relative_to_each_prompt():
    declaration = replace(skip_connections.SKIP_CONNECTIONS.quick, width=8, heads=2, hidden=(16,))
    block = declaration.blocks()["x inside, no norm"]
    weights = block.start(stream(0, "skip"), (), LIKE)
    bare = block.mix(weights, tokens(regression(7).sample(stream(0, "skip"), (3,), 4))).at(-1)
    expected = block.feed(weights, bare)[:, 0] * torch.tensor([1.0, 2.0, 5.0])[:, None]
    assert skip_connections.error(block, weights, bare, expected) == pytest.approx([0, 1 / 2, 4 / 5])
