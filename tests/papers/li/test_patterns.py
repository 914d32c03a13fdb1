"""Pattern prompts: frequencies, geometry, task sets, and what is refused."""

import numpy as np
import pytest
import torch

from icl_lib.seeds import stream
from papers.li.patterns import (
    Codes,
    PatternClassification,
    Patterns,
    combined_patterns,
    orthogonal_patterns,
    orthonormal_rows,
    rescaled_patterns,
    rotated_patterns,
    write,
)
from papers.li.task_sets import all_tasks, covers, cyclic_tasks, label_counts, one_sided_tasks, task_set, unseen_tasks

PATTERNS = orthogonal_patterns(4, 3, 7, 2.0)


def law(alpha=0.6, tasks=None, K=0.5, patterns=PATTERNS) -> PatternClassification:
    return PatternClassification(patterns, torch.tensor([[1, 3]]) if tasks is None else tasks, alpha, K)


@pytest.fixture(scope="module")
def codes() -> Codes:
    return law().codes(stream(0, "codes"), (20_000,), 6)


def test_contexts_come_with_the_stated_probabilities(codes):
    """alpha = 0.6: 0.3 for each of the task's patterns 1 and 3, 0.2 for each of the other two."""
    shares = torch.bincount(codes.pattern[:, :-1].reshape(-1), minlength=4) / codes.pattern[:, :-1].numel()
    assert shares.numpy() == pytest.approx([0.2, 0.3, 0.2, 0.3], abs=0.006)  # five standard errors


def test_labels_follow_the_task_and_are_coins_elsewhere(codes):
    pattern, y = codes.pattern[:, :-1], codes.y[:, :-1]
    assert (y[pattern == 1] == 1).all() and (y[pattern == 3] == -1).all()
    coins = y[(pattern == 0) | (pattern == 2)]
    assert set(coins.tolist()) == {-1.0, 1.0} and abs(float(coins.mean())) < 0.025
    mixed = (((pattern == 0) & (y > 0)).any(-1) & ((pattern == 0) & (y < 0)).any(-1)).float().mean()
    assert mixed > 0.05  # one coin an example, not one a pattern


def test_the_query_is_one_of_the_two_and_carries_its_label(codes):
    assert set(codes.pattern[:, -1].tolist()) == {1, 3}
    assert (codes.y[:, -1] == torch.where(codes.pattern[:, -1] == 1, 1.0, -1.0)).all()
    assert float(codes.y[:, -1].mean()) == pytest.approx(0, abs=0.035)


def test_irrelevant_parts_are_independent_and_uniform(codes):
    assert codes.kappa.abs().max() <= 0.5 and float(codes.kappa.var()) == pytest.approx(1 / 12, rel=0.02)
    assert torch.bincount(codes.distractor.reshape(-1)).numpy() / codes.distractor.numel() == pytest.approx(
        [1 / 3] * 3, abs=0.01
    )
    corner = np.corrcoef(codes.kappa.numpy().T)
    assert abs(corner - np.eye(7)).max() < 0.04


def test_alpha_one_leaves_the_task_patterns_only():
    drawn = law(alpha=1.0).codes(stream(0, "one"), (500,), 5)
    assert set(drawn.pattern.reshape(-1).tolist()) == {1, 3}


def test_tasks_are_drawn_uniformly_and_per_replicate():
    tasks = torch.tensor([[[0, 1], [0, 1]], [[2, 3], [3, 2]]])
    alpha = torch.tensor([1.0, 0.5], dtype=torch.float64)
    drawn = PatternClassification(PATTERNS, tasks, alpha, 0.5).codes(stream(0, "replicates"), (2, 4000), 8)
    assert set(drawn.pattern[0].reshape(-1).tolist()) == {0, 1}
    assert float((drawn.pattern[1, :, :-1] <= 1).double().mean()) == pytest.approx(0.5, abs=0.015)
    query = drawn.pattern[1, :, -1], drawn.y[1, :, -1]
    assert float((query[1][query[0] == 2] == 1).double().mean()) == pytest.approx(0.5, abs=0.05)


def test_written_prompts_by_hand():
    """x_1 = mu_2 + 0.5 nu_0, x_query = mu_1 - 0.25 nu_2, all of norm 2 along the axes."""
    one = Codes(
        torch.tensor([2, 1]), torch.tensor([0, 2]), torch.tensor([0.5, -0.25]).double(), torch.tensor([-1.0, 1.0]).double()
    )
    prompt = write(one, PATTERNS)
    assert prompt.x.tolist() == [[0, 0, 2, 0, 1, 0, 0]] and prompt.y.tolist() == [-1]
    assert prompt.x_query.tolist() == [0, 2, 0, 0, 0, 0, -0.5] and prompt.y_query == 1


def test_written_prompts_meet_patterns_of_several_draws():
    sets = Patterns(torch.stack([PATTERNS.relevant, -PATTERNS.relevant]), torch.stack([PATTERNS.irrelevant] * 2))
    drawn = law(patterns=sets).codes(stream(0, "draws"), (2, 5), 3)
    both = write(drawn, sets)
    for k in range(2):
        alone = write(Codes(*(part[k] for part in drawn)), Patterns(*(rows[k] for rows in sets)))
        assert torch.equal(both.x[k], alone.x) and torch.equal(both.x_query[k], alone.x_query)


@pytest.mark.parametrize("S_1", [-1.3, 0.0, 0.7, 1.4])
def test_combined_patterns_have_their_sum_length_and_angles(S_1):
    relevant = orthogonal_patterns(6, 0, 6, 1.5).relevant
    drawn = combined_patterns(stream(0, "odr"), relevant, 3, S_1, 50)
    gram = torch.einsum("dci,dei->dce", drawn, drawn)
    assert torch.allclose(gram, 2.25 * torch.eye(3, dtype=torch.float64).expand(50, 3, 3), atol=1e-12)
    coefficients = drawn @ relevant.T / 2.25
    assert torch.allclose(coefficients.sum(-1), torch.full((50, 3), S_1, dtype=torch.float64), atol=1e-12)
    assert float((coefficients[0] - coefficients[1]).abs().max()) > 0.1


def test_combined_patterns_at_the_edge_of_the_geometry():
    relevant = orthogonal_patterns(6, 0, 6, 1.0).relevant
    edge = combined_patterns(stream(0, "edge"), relevant, 3, 2**0.5, 2)
    assert torch.allclose(edge.sum(1) / 3, torch.full((2, 6), 2**0.5 / 6, dtype=torch.float64), atol=1e-7)
    full = combined_patterns(stream(0, "edge"), relevant, 6, 1.0, 2)
    assert torch.allclose(full.sum(-1), torch.ones(2, 6, dtype=torch.float64))


@pytest.mark.parametrize(("count", "S_1"), [(3, 1.42), (3, -1.5), (6, 0.9), (6, 0.0), (7, 0.5), (1, 2.5)])
def test_sums_that_the_geometry_cannot_realise_are_refused(count, S_1):
    relevant = orthogonal_patterns(6, 0, 6, 1.0).relevant
    with pytest.raises(ValueError, match=r"count \* S_1\^2 <= M1"):
        combined_patterns(stream(0, "odr"), relevant, count, S_1, 1)


def test_rotations_are_uniform_and_stay_in_the_span():
    rows = orthonormal_rows(stream(0, "rows"), 2, 3, 20_000, torch.float64)
    assert torch.allclose(rows @ rows.mT, torch.eye(2, dtype=torch.float64).expand(20_000, 2, 2), atol=1e-12)
    assert rows.mean(0).abs().max() < 0.02
    turned = rotated_patterns(stream(0, "odi"), PATTERNS.irrelevant, 3, 4)
    assert (turned[..., :4] == 0).all() and torch.allclose(turned.norm(dim=-1), torch.full((4, 3), 2.0, dtype=torch.float64))
    assert torch.equal(rescaled_patterns(PATTERNS.relevant, -0.5)[0], -0.5 * PATTERNS.relevant[0])


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: law(alpha=0.0), "0 < alpha <= 1"),
        (lambda: law(alpha=1.2), "0 < alpha <= 1"),
        (lambda: law(alpha=float("nan")), "0 < alpha <= 1"),
        (lambda: law(alpha=torch.tensor([0.5, 1.5])), "0 < alpha <= 1"),
        (lambda: law(K=-0.1), "K >= 0"),
        (lambda: law(tasks=torch.zeros(0, 2, dtype=torch.long)), "empty"),
        (lambda: law(tasks=torch.tensor([[2, 2]])), "two different patterns"),
        (lambda: law(tasks=torch.tensor([[0, 4]])), "M1 = 4"),
        (lambda: law(tasks=torch.tensor([[0, 1]]), patterns=orthogonal_patterns(2, 3, 5, 1.0)), "M1 >= 3"),
        (lambda: orthogonal_patterns(4, 4, 7, 1.0), "do not fit"),
        (lambda: orthogonal_patterns(4, 3, 7, 0.0), "beta > 0"),
        (lambda: rotated_patterns(stream(0, "x"), PATTERNS.irrelevant, 4, 1), "do not fit"),
        (lambda: all_tasks(2), "M1 >= 3"),
        (lambda: cyclic_tasks(6, 0), "empty task set"),
        (lambda: cyclic_tasks(6, 6), "1 to 5"),
        (lambda: task_set("first half", 3), "empty"),
        (lambda: task_set("cyclic", 6), "unknown task set"),
        (lambda: unseen_tasks(all_tasks(4), 4), "empty"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(call, reason):
    with pytest.raises(ValueError, match=reason):
        call()


def test_task_sets_by_hand():
    assert cyclic_tasks(3, 1).tolist() == [[0, 1], [1, 2], [2, 0]]
    assert sorted(cyclic_tasks(4, 3).tolist()) == sorted(all_tasks(4).tolist()) and len(all_tasks(6)) == 30
    assert one_sided_tasks(6).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert sorted(task_set("first half", 6).tolist()) == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    assert task_set("both directions", 4).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert task_set("single", 5).tolist() == [[0, 1]]
    assert unseen_tasks(cyclic_tasks(3, 1), 3).tolist() == [[0, 2], [1, 0], [2, 1]]


@pytest.mark.parametrize(
    ("name", "covered"),
    [("all", True), ("cyclic 1", True), ("cyclic 4", True), ("both directions", True)]
    + [("single", False), ("one-sided", False), ("first half", False)],
)
def test_coverage_of_condition_3_2(name, covered):
    assert covers(task_set(name, 6), 6) is covered
    assert not covers(torch.empty(0, 2, dtype=torch.long), 6)


def test_label_counts_by_hand():
    assert label_counts(torch.tensor([[0, 2], [0, 1]]), 4).tolist() == [[2, 0, 0, 0], [0, 1, 1, 0]]
