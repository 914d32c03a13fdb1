"""Formulas of the theory at the ends of what they admit: many dimensions, small tasks, endless prompts, any Gamma."""

import numpy as np
import pytest

from papers.lenses.theory import one_block, one_function, population, task_sets


@pytest.mark.parametrize("d", [1, 2, 3, 6, 40])
def test_what_the_affine_map_leaves_of_gaussian_tokens_in_any_dimension(d):
    """R(u) = e^u (d + u) in powers of t = <q, q'>/d, whose even moments on the sphere are prod (2j - 1)/(d + 2j - 2)."""
    x = 0.8
    power = [d * x**n / np.prod(range(1, n + 1)) + x**n / np.prod(range(1, n)) * (n > 0) for n in range(40)]
    moment = [0.0 if n % 2 else np.prod([(2 * j - 1) / (d + 2 * j - 2) for j in range(1, n // 2 + 1)]) for n in range(42)]
    mean = sum(c * moment[n] for n, c in enumerate(power))
    along = d * sum(c * moment[n + 1] for n, c in enumerate(power))
    expected = one_function.gaussian_kernel(np.array(x), d) - mean - along
    assert one_function.gaussian_left(d, x) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


def test_steps_add_up_for_a_gamma_that_is_not_symmetric():
    rng = np.random.default_rng(0)
    W, x, y = rng.standard_normal((2, 3)), rng.standard_normal((4, 2)), rng.standard_normal(4)
    Gamma = np.array([[2.0, 1.0], [0.0, 1.0]])
    assert np.allclose(one_block.tangents(W, Gamma, x, y).sum(0), one_block.step(W, Gamma, x, y)[:, :2])
    first = one_block.descents(W, Gamma, x[:1], y[:1])[0]
    assert np.allclose(first, one_block.step(W, Gamma, x[:1], y[:1])[:, :2])


@pytest.mark.parametrize("size", [1.0, 1e-13])
def test_small_tasks_are_tasks(size):
    law = population.tasks(np.eye(2), np.zeros(2), size * np.eye(2), 0.0)
    nothing = np.zeros(2), np.zeros((2, 3, 3))
    assert population.risk(*nothing, law, 5)[0] == pytest.approx(2 * size, rel=1e-12, abs=0)


def test_one_task_stands_for_tasks_that_do_not_vary():
    assert len(population.tasks(np.eye(2), np.ones(2), np.zeros((2, 2)), 0.0).w) == 1
    assert len(population.tasks(np.eye(2), np.ones(2), np.diag([1.0, 0.0]), 0.0).w) == 3


def test_few_tasks_a_dimension_and_endless_prompts_have_a_limit():
    limit = task_sets.many_dimensions(1e9, 0.5, 0.3)
    assert task_sets.many_dimensions(1e15, 0.5, 0.3) == pytest.approx(limit, rel=1e-6)
    assert limit == pytest.approx(0.5, rel=1e-6)
