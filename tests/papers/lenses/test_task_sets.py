"""Task sets: formulas by second routes, by hand and from outside; claims elsewhere, and controls that fail."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate

from icl_lib.companion import Claim
from papers.lenses import published
from papers.lenses.s5_task_sets import claims, exact
from papers.lenses.s5_task_sets.lu_tasks import LU_TASKS
from papers.lenses.s5_task_sets.task_sets import TASK_SETS
from papers.lenses.theory import own_weights, task_sets
from tests.papers.other_settings import assert_holds, made

ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    TASK_SETS: replace(TASK_SETS.quick, d=(3, 5, 2), N=(3, 17, 9), k=(4, 4, 5), noise=0.8),
    LU_TASKS: replace(LU_TASKS.quick, d=(10,), sets=(12,), kappa=(0.4, 0.8)),
}


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def unit(seed: int, k: int, d: int) -> np.ndarray:
    w = drawn(seed, k, d)
    return w / np.linalg.norm(w, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def datasets():
    return made(OTHER)


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_elsewhere_and_controls_fail(claim, datasets):
    assert_holds(claim, datasets)


@pytest.mark.parametrize(("d", "k", "N"), [(2, 3, 4), (3, 2, 6)])
def test_the_error_is_the_mean_over_prompts(d, k, N):
    w, layer, noise = 0.5 * drawn(1, k, d), task_sets.Layer(0.4 * drawn(2, d, d), 0.3 * drawn(3, d)), 0.6
    tasks = np.tile(w, (120_000, 1))
    x = drawn(4, len(tasks), N, d)
    y = np.einsum("bnd,bd->bn", x, tasks) + noise * drawn(5, len(tasks), N)
    h, e = np.einsum("bn,bnd->bd", y, x) / N, (y**2).mean(1)
    errors = ((h @ layer.A + e[:, None] * layer.b - tasks) ** 2).sum(1)
    value = task_sets.error(layer, task_sets.moments(w, noise), N)
    assert abs(errors.mean() - value) < 4.5 * errors.std() / len(errors) ** 0.5 < 0.05 * value


def test_no_layer_near_the_optimum_is_better():
    w, N = drawn(1, 4, 3), 5
    tasks = task_sets.moments(w, 0.4)
    best = task_sets.optimum(tasks, N)
    least = task_sets.error(best, tasks, N)
    for seed in range(20):
        A, b = 1e-3 * drawn(seed, 3, 3), 1e-3 * drawn(100 + seed, 3)
        assert task_sets.error(task_sets.Layer(best.A + A, best.b + b), tasks, N) > least
    alone = task_sets.second_moments_alone(tasks, N)
    assert not alone.b.any() and least < task_sets.error(alone, tasks, N)


@pytest.mark.parametrize(
    ("w", "N"),
    [
        ([[1.0, 2.0, 0.5]], 4),
        ([[0.0, 0.0], [1.0, 0.5]], 7),
        ([[1.0, 0.0], [0.0, 2.0]], np.inf),
        ([[1.0]], np.inf),
        ([[1.0]], 11),
    ],
)
def test_tasks_for_which_several_layers_are_best_are_refused(w, N):
    with pytest.raises(ValueError, match="several layers have the least error on these tasks"):
        task_sets.optimum(task_sets.moments(np.array(w), 0.0), N)
    more = np.vstack([w, -1.5 * np.array(w)[:1], 0.5 * np.array(w)[-1:]])  # two differ, and they span as much as before
    assert np.isfinite(task_sets.optimum(task_sets.moments(more, 0.0), 9).A).all()


def test_one_task_has_the_floor_of_one_head():
    for N, noise in ((3, 0.5), (8, 1.5)):
        tasks = task_sets.moments(unit(3, 1, 4), noise)
        found = task_sets.optimum(tasks, N)
        assert task_sets.error(found, tasks, N) == pytest.approx(own_weights.floor(N, 1), rel=1e-12)
        assert abs(found.A).max() < 1e-12


def test_a_symmetric_set_is_seen_by_its_second_moments():
    half = drawn(2, 5, 4)
    tasks = task_sets.moments(np.concatenate([half, -half]), 0.3)
    best, alone = task_sets.optimum(tasks, 9), task_sets.second_moments_alone(tasks, 9)
    assert abs(best.A - alone.A).max() < 1e-12 and abs(best.b).max() < 1e-12
    assert abs(alone.A @ own_weights.Gamma(np.eye(4), tasks.U, 0.3, 9) - np.eye(4)).max() < 1e-12


@pytest.mark.parametrize(("d", "k"), [(4, 1), (4, 3), (4, 4), (5, 4), (3, 6)])
def test_long_prompts_come_to_their_limit(d, k):
    w, noise = unit(d * k, k, d), 0.7
    tasks, new = task_sets.moments(w, noise), task_sets.new_tasks(d, noise)
    far = [task_sets.error(task_sets.optimum(tasks, N), new, N) - task_sets.long_prompts(w, noise) for N in (1e5, 1e6)]
    assert abs(far[1]) < 1e-3 and far[1] == pytest.approx(far[0] / 10, rel=0.1)
    alone = [task_sets.error(task_sets.second_moments_alone(tasks, N), new, N) - task_sets.projection(w) for N in (1e5, 1e6)]
    assert alone[1] == pytest.approx(alone[0] / 10, rel=0.1)


def test_the_last_term_of_the_limit_by_hand():
    """Two unit tasks and a third at a right angle: mean (0, 1/3), spread along both axes but for d = 3."""
    w = np.array([[0.6, 0.8, 0.0], [-0.6, 0.8, 0.0], [0.0, -1.0, 0.0]])
    assert task_sets.long_prompts(w, 1.0) == pytest.approx(1 / 3)  # the mean lies along the tasks: a = 0
    lifted = np.array([[0.8, 0.0, 0.6], [0.0, 0.8, 0.6]])  # mean (0.4, 0.4, 0.6), spread along (1, -1, 0)
    assert task_sets.long_prompts(lifted, 1.0) == pytest.approx(2 / 3 + 0.68)
    skew = np.array([[1.0, 0.0], [0.6, 0.8]])  # spread along (-0.4, 0.8); mean (0.8, 0.4) is at a right angle
    assert task_sets.long_prompts(skew, 1.0) == pytest.approx(1 / 2 + 0.8)
    three = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0.6, 0.8]])
    normal = np.cross(three[1] - three[0], three[2] - three[0])
    a = (three[0] @ normal) ** 2 / (normal @ normal)
    p = (three.mean(0) ** 2).sum() - a
    assert task_sets.long_prompts(three, 1.0) == pytest.approx(1 / 3 + a + a * p * (a + 1 / 3) / (2 - a) ** 2)


def test_many_dimensions_by_the_spectrum():
    """By an integral over the density of Marchenko and Pastur, and by a large set of tasks."""
    alpha, kappa, noise = 5.0, 2.0, 0.3
    x, ends = (1 + noise**2) / alpha, [(1 + sign / kappa**0.5) ** 2 for sign in (-1, 1)]

    def mean(f) -> float:
        density = lambda t: kappa / (2 * np.pi * t) * np.sqrt(max((ends[1] - t) * (t - ends[0]), 0.0))  # noqa: E731
        return integrate.quad(lambda t: f(t) * density(t), *ends)[0]

    assert mean(lambda t: 1.0) == pytest.approx(1, abs=1e-6)
    gap = x**2 * ((1 + x) * mean(lambda t: (t + x) ** -2) - mean(lambda t: 1 / (t + x)))
    assert task_sets.many_dimensions(alpha, kappa, noise) == pytest.approx(gap, rel=1e-5)
    d = 300
    tasks, new = task_sets.moments(unit(5, int(kappa * d), d), noise), task_sets.new_tasks(d, noise)
    layer = task_sets.second_moments_alone(tasks, alpha * d)
    found = task_sets.error(layer, new, alpha * d) - task_sets.error(layer, tasks, alpha * d)
    assert found == pytest.approx(gap, rel=0.02)


def test_tasks_along_the_axes_stand_for_the_sphere():
    K = torch.randn(4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64).numpy()
    A, b = K[:3], K[3]
    value = exact.risk(K, exact.new_law(3, 0.5), 7)[0]
    assert value == pytest.approx(task_sets.error(task_sets.Layer(A, b), task_sets.new_tasks(3, 0.5), 7), rel=1e-12)


def test_published_rows_are_whole():
    for table in (published.GAP, published.SPREAD):
        assert table.keys() == {10, 32, 64} and {len(row) for row in table.values()} == {len(published.KAPPA)}
    assert published.GAP[10][0] == 1.4521 and published.SPREAD[64][0] == 0.016034
