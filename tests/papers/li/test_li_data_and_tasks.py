"""Section 3.2: pushes, what grows out of them and memorising, by second routes, by hand, and with planted faults."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.integrate import solve_ivp

from icl_lib.seeds import stream
from papers.li.s3_2_data_and_tasks import claims, first_push, task_sets, two_memories, unseen_tasks
from papers.li.task_sets import covers, task_set
from papers.li.theory import coverage
from papers.li.trained import A, Trained

TINY = replace(A, M1=4, M2=3, d_Y=2, m=8, B=6, T=2, l=3)
NAMES = ("cyclic 1", "cyclic 2", "both directions", "one-sided", "single", "first half", "all")


def tasks_of(name: str, M1: int = 4) -> np.ndarray:
    return task_set(name, M1).numpy()


def queries(tasks: np.ndarray) -> list[tuple[int, int, int]]:
    """Every equally likely (query, partner, label)."""
    return [cell for a, b in tasks.tolist() for cell in ((a, b, 1), (b, a, -1))]


@pytest.mark.parametrize("name", NAMES)
def test_push_by_summing_over_every_prompt_by_hand(name):
    """Second route: the definition, term by term, over all prompts of two contexts; no layer, no derivative."""
    M1, alpha, c = 4, 0.6, 1.7
    tasks, total = tasks_of(name), np.zeros((M1 + 1, M1))
    for query, partner, z in queries(tasks):
        cells = [(query, z, alpha / 2), (partner, -z, alpha / 2)]
        cells += [(k, s, (1 - alpha) / 4) for k in range(M1) if k not in (query, partner) for s in (1, -1)]
        for prompt in product(cells, repeat=2):
            weight, mean = prompt[0][2] * prompt[1][2], (prompt[0][1] + prompt[1][1]) / 2
            for k, y, _ in prompt:
                total[k, query] += z * weight * (c * y - c * mean) / 2 / (2 * len(tasks))
                total[M1, query] += z * y * weight * (c * y - c * mean) / 2 / (2 * len(tasks))
    assert np.allclose(total, coverage.expected_push(tasks, M1, alpha, 2, c), atol=1e-14)


def test_push_by_hand():
    sided = tasks_of("one-sided")
    assert coverage.label_balance(sided, 4).tolist() == [0.25, 0.25, -0.25, -0.25]
    assert coverage.pair_laplacian(sided, 4)[:, 0].tolist() == [0.25, 0, -0.25, 0]
    assert coverage.expected_push(sided, 4, 1.0, 2, 8.0)[:, 0].tolist() == [0.5, 0, -0.5, 0, 1.0]
    assert coverage.unit_push(sided, 4, 0.5, 2.0, 3.0)[:, 2].tolist() == [-0.25, 0, 0.25, 0, -1.5]


@pytest.mark.parametrize("M1", [4, 5, 6])
@pytest.mark.parametrize("name", NAMES)
def test_condition_3_2_is_no_balance_and_equal_degrees(name, M1):
    tasks = task_set(name, M1)
    L, b = coverage.pair_laplacian(tasks.numpy(), M1), coverage.label_balance(tasks.numpy(), M1)
    equal = np.allclose(np.diag(L), 1 / M1) and not b.any()
    assert equal == covers(tasks, M1)
    assert np.allclose(L.sum(0), 0) and np.allclose(L, L.T) and np.linalg.eigvalsh(L)[0] > -1e-15
    exact = [sum(Fraction(z, 2 * len(tasks)) for query, _, z in queries(tasks.numpy()) if query == j) for j in range(M1)]
    assert np.allclose(b, [float(value) for value in exact], atol=1e-15)


def test_attention_gap_by_hand_and_on_drawn_prompts():
    assert coverage.attention_gap(1.0, 2, np.log(2)) == pytest.approx(-1 / 4 + 1 / 6 + 1 / 4, rel=1e-14)
    law = A.law(task_set("cyclic 1", 6), 0.7)
    codes = law.codes(stream(0, "gap"), (200_000,), 5)
    own = codes.pattern[:, :-1] == codes.pattern[:, -1:]
    weight = torch.where(own, np.exp(0.8), 1.0)
    vote = codes.y[:, -1] * (weight * codes.y[:, :-1]).sum(-1) / weight.sum(-1)
    assert coverage.attention_gap(0.7, 5, 0.8) == pytest.approx(float(vote.mean()), abs=4 * float(vote.std()) / 200_000**0.5)


@pytest.mark.parametrize("name", NAMES)
def test_grown_form_solves_its_equations(name):
    G = coverage.unit_push(tasks_of(name), 4, 0.8, 1.3, 0.6)
    start = 0.2 * np.diag([1.0, 1, 1, 1, 0])

    def velocity(_, theta):
        W_Q, W_K = theta.reshape(2, 5, 5)
        return np.concatenate([(W_K @ G).ravel(), (W_Q @ G.T).ravel()])

    end = solve_ivp(velocity, (0, 3.0), np.tile(start.ravel(), 2), rtol=1e-10, atol=1e-12).y[:, -1].reshape(2, 5, 5)
    assert np.allclose(end[1].T @ end[0], coverage.grown_form(G, 0.2, 3.0), atol=1e-8)


def test_grown_form_of_all_tasks_and_of_the_cycle_by_hand():
    G = coverage.unit_push(tasks_of("all", 6), 6, 0.8, 2.0, 1.0)
    rate = 0.4 * 4 * 2 / 5  # 2 tau times this is the exponent off the constant vector
    expected = 0.04 * (np.full((6, 6), 1 / 6) + np.exp(rate) * (np.eye(6) - 1 / 6))
    assert np.allclose(coverage.grown_form(G, 0.2, 1.0)[:6, :6], expected, rtol=1e-12)
    cycle = coverage.grown_form(coverage.unit_push(tasks_of("cyclic 1", 6), 6, 0.8, 2.0, 1.0), 0.2, 3.0)
    modes = 2 * np.pi * np.arange(6) / 6
    by_hand = [0.04 / 6 * np.sum(np.cos(d * modes) * np.exp(6 * 1.6 / 12 * (2 - 2 * np.cos(modes)))) for d in range(4)]
    assert np.allclose(cycle[:4, 0], by_hand, rtol=1e-10)
    assert by_hand[1] < 0 < by_hand[2] and by_hand[3] < 0 and np.allclose(cycle[:6, :6].sum(0), 0.04)


@pytest.mark.parametrize(("M1", "alpha", "beta", "q"), [(6, 0.8, 2.0, 1.0), (8, 0.5, 1.0, 3.0)])
def test_two_memories_by_hand(M1, alpha, beta, q):
    tasks = tasks_of("one-sided", M1)
    key, value = coverage.key_memory(tasks, M1, alpha, beta, q), coverage.value_memory(tasks, M1, beta, q)
    assert key == pytest.approx(M1**0.5 * q / (alpha * beta), rel=1e-14)
    assert value == pytest.approx(beta**2 / (M1 * q**2), rel=1e-14)
    assert key**2 * value == pytest.approx(alpha**-2)
    G = coverage.unit_push(tasks, M1, alpha, beta, q)
    image = G @ np.append(coverage.label_balance(tasks, M1), 0)
    assert abs(image[-1]) / np.linalg.norm(image[:-1]) == pytest.approx(key)
    balanced = tasks_of("cyclic 1", M1)
    assert coverage.key_memory(balanced, M1, alpha, beta, q) == coverage.value_memory(balanced, M1, beta, q) == 0


def test_unseen_error_by_hand():
    errors = {name: coverage.unseen_error(tasks_of(name, 6), 6, 0.4, 0.1) for name in ("one-sided", "first half", "cyclic 2")}
    assert errors == pytest.approx({"one-sided": 5 / 9, "first half": (30 * 0.4 + 18 * 0.1) / 48, "cyclic 2": 0.1})
    assert coverage.unseen_error(tasks_of("single", 6), 6, 0.4, 0.1) == pytest.approx((10 + 40 * 0.4) / 58)
    with pytest.raises(ValueError, match="unseen"):
        coverage.unseen_error(tasks_of("all"), 4, 0.4, 0.1)


def test_sizes_by_hand_and_task_sets():
    assert [coverage.shifts_by_share(M1) for M1 in (3, 5, 6, 10, 11)] == [2, 2, 3, 3, 4]
    with pytest.raises(ValueError, match="M1"):
        coverage.shifts_by_share(2)
    counted = task_sets.TaskSets((3, 6))
    dataset = counted.expect(counted.run(0, "cpu"), 0)
    assert dataset.tasks.values.tolist() == [6, 30] and dataset.shifts_count.values.tolist() == [1, 1]
    found = claims.L3.judge(dataset)
    assert (found.verdict, found.control_verdict) == ("holds", "fails")


def test_first_push_through_the_layer_and_fitted_form():
    named = ("one-sided", "cyclic 1")
    sets = (("cyclic 1", 2.0, 1.0), ("one-sided", 1.0, 1.0))
    law = replace(first_push.SMALL, M1=3)
    declared = first_push.FirstPush(law, named, 0.5, TINY, sets, sets, 2)
    dataset = declared.expect(declared.run(0, "cpu"), 0)
    assert float(abs(dataset.push - dataset.push_theory).max()) < 1e-13
    assert float(abs(dataset.value - dataset.value_theory).max()) < 1e-13 and float(dataset.rest.max()) < 1e-14
    assert float(abs(dataset.push_selective - dataset.push_theory).max()) > 1e-3
    prompts, weight = replace(law, l=1).prompts(tasks_of("single", 3))
    assert float(weight.sum()) == pytest.approx(1) and prompts.x.shape == (8 * 4, 1, 4)
    assert dataset.kind.sel(set="cyclic 1, β=2").values[:, 0].tolist() == [0, 1, 2, 1, 3]
    planted = coverage.grown_form(coverage.unit_push(tasks_of("one-sided"), 4, 0.8, 1.0, 1.0), 0.2, 5.0)[:, :4]
    setting = replace(TINY, tasks="one-sided", beta=1.0)
    assert np.allclose(first_push._fitted(setting, planted), planted, rtol=1e-8)
    faulty = planted * np.array([1, 1, 1, 1, -1])[:, None]
    assert np.linalg.norm(first_push._fitted(setting, faulty) - faulty) > 0.35 * np.linalg.norm(faulty)


def planted_values(setting, ratio: float) -> Trained:
    """A model that attends to everything alike, with the value function that value_push predicts, or ``ratio`` of it."""
    D = setting.M1 + setting.M2 + setting.d_Y
    value = torch.zeros(2, setting.m, D, dtype=torch.float64)
    push = torch.zeros(D, dtype=torch.float64)
    push[: setting.M1] = torch.tensor(coverage.label_balance(tasks_of("one-sided"), 4) * setting.beta * ratio)
    push[setting.M1 + setting.M2] = setting.q
    value[:, 0], value[:, 1] = push, -push
    eye = torch.eye(D, dtype=torch.float64).expand(2, D, D)
    return Trained(setting, {"W_Q": 0 * eye, "W_K": eye, "W_V": eye, "W_O": value}, torch.zeros(0, 2))


@pytest.mark.parametrize(("q", "contradicts"), [(1.01, 0.0), (0.99, 1.0)])
def test_contrary_contexts_find_the_threshold(q, contradicts):
    setting = replace(TINY, tasks="one-sided", beta=2.0, q=q, K=0.0)  # M1 = 4: the threshold is q = 1
    probe = two_memories.TwoMemories(setting, (("one-sided", 2.0, q), ("cyclic 1", 2.0, 1.0)), 2, 10, 40)
    assert probe._contrary(planted_values(setting, 1.0), 0).tolist() == [contradicts] * 2
    assert probe._contrary(planted_values(setting, 0.0), 0).tolist() == [0.0] * 2


def test_experiments_on_tiny_declarations():
    sets = (("cyclic 1", 2.0, 1.0), ("one-sided", 2.0, 1.0), ("one-sided", 1.0, 1.0))
    declared = unseen_tasks.UnseenTasks(TINY, sets, 2, 3, 0.8, 50)
    dataset = declared.expect(declared.run(1, "cpu"), 1)
    assert dataset.covers.values.tolist() == [1, 0, 0] and dataset.trained_tasks.values.tolist() == [4, 2, 2]
    assert dataset.memory.values == pytest.approx([0, 1.25, 2.5]) and dataset.error_theory.values[1] == pytest.approx(0.6)
    assert 0.2 < float(dataset.error_start.mean()) < 0.8
    declared = two_memories.TwoMemories(TINY, sets, 2, 50, 20)
    memories = declared.expect(declared.run(1, "cpu"), 1)
    assert memories.ratio.values.tolist() == [0.5, 1.0] and memories.value_memory.values == pytest.approx([1.0, 0.25])
    assert float(memories.error_theory) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="one that is one-sided"):
        two_memories.TwoMemories(TINY, sets[:1], 2, 50, 20)
    with pytest.raises(ValueError, match="unknown task set"):
        unseen_tasks.UnseenTasks(TINY, (("diagonal", 1.0, 1.0),), 2, 3, 0.8, 50).run(1, "cpu")


def ideal() -> xr.Dataset:
    """What the claims of li-unseen-tasks would see if all they say were exactly true."""
    error = np.tile([[0.0, 0.0], [0.55, 0.56], [0.26, 0.25], [0.56, 0.55]], 3)
    columns = {"error": error, "hinge": error * 2, "error_trained": 0 * error, "error_start": 0 * error + [0.49, 0.51] * 3}
    predicted = np.array([0, 5 / 9, 0.257, 5 / 9])
    flat = {"error_theory": predicted, "error_all": predicted / 2, "covers": [1, 0, 0, 0], "memory": [0, 3.0, 0, 1.5]}
    variables = {name: (("set", "seed"), values) for name, values in columns.items()}
    return xr.Dataset(variables | {name: ("set", values) for name, values in flat.items()} | {"missing": 0.0})


def test_claims_hold_on_ideal_data_and_fail_on_each_planted_fault():
    judged = (claims.L4, claims.L4b, claims.L5, claims.L5c)
    found = [claim.judge(ideal()) for claim in judged]
    assert [(one.verdict, one.control_verdict) for one in found] == [("holds", "fails")] * 4
    generalises = ideal().assign(error=0 * ideal().error + [0.0, 0.01] * 3)
    assert claims.L5.judge(generalises).verdict == claims.L5c.judge(generalises).verdict == "fails"
    step = xr.Dataset({"value_error": (("ratio", "seed"), [[1.0, 1], [0.4, 0.6], [0, 0]])})
    memory = xr.DataArray([3.0, 1.1, 0.6], dims="ratio")
    step = step.assign(value_memory=memory, value_step=memory, value_memory_double=2 * memory)
    assert (claims.L5h.judge(step).verdict, claims.L5h.judge(step).control_verdict) == ("holds", "fails")
    assert claims.L5h.judge(step.assign(value_error=1 - step.value_error)).verdict == "fails"
