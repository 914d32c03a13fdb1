"""What linear attention makes of k training tasks: the least risk with values that read the label alone, and on new tasks.

Inputs are x ~ N(0, I), labels y = <w, x> + noise s, h = (1/N) sum_i y_i x_i and e = (1/N) sum_i y_i^2; the answer is
x_q^T (A^T h + b e). At d = 1, with the one task w = 1, s = 0 and N = 2, the best multiple of h errs by 2/(N + 2). With noise
s = 1 the energy e says the constant better, b = w/(c (1 + 2/N)), and h is not read:

>>> import numpy as np
>>> from papers.lenses.theory import task_sets
>>> one = task_sets.moments(np.ones((1, 1)), 0.0)
>>> alone = task_sets.second_moments_alone(one, 2)
>>> alone.A.tolist(), task_sets.error(alone, one, 2)
([[0.5]], 0.5)
>>> with_energy = task_sets.optimum(task_sets.moments(np.ones((1, 1)), 1.0), 2)
>>> with_energy.A.tolist(), with_energy.b.tolist()
([[0.0]], [0.25])
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray


class Moments(NamedTuple):
    """What linear attention sees of a set of tasks: U = E[w w^T], nu = E[c w], q = E[c^2] and E[c], c = |w|^2 + s^2."""

    U: Float[ndarray, "d d"]
    nu: Float[ndarray, "d"]
    q: float
    c: float


class Layer(NamedTuple):
    """The answer x_q^T (A^T h + b e)."""

    A: Float[ndarray, "d d"]
    b: Float[ndarray, "d"]


def moments(w: Float[ndarray, "k d"], noise: float) -> Moments:
    """The moments of k tasks of equal weight (eq-lenses-5-moments)."""
    c = (w**2).sum(1) + noise**2
    return Moments(w.T @ w / len(w), (c[:, None] * w).mean(0), float((c**2).mean()), float(c.mean()))


def new_tasks(d: int, noise: float) -> Moments:
    """The moments of new tasks, uniform on |w| = 1: U = I/d, nu = 0, q = (1 + s^2)^2 (eq-lenses-5-new)."""
    return Moments(np.eye(d) / d, np.zeros(d), (1 + noise**2) ** 2, 1 + noise**2)


def error(layer: Layer, tasks: Moments, N: float) -> float:
    """E|A^T h + b e - w|^2 over tasks and prompts (eq-lenses-5-error)."""
    (A, b), (U, nu, q, c) = layer, tasks
    of_h = (1 + 1 / N) * np.einsum("ia,ia->", A, U @ A) + c / N * (A**2).sum() - 2 * np.einsum("ij,ij->", A, U) + np.trace(U)
    return float(of_h + (1 + 2 / N) * (q * b @ b + 2 * nu @ A @ b) - 2 * nu @ b)


def optimum(tasks: Moments, N: float) -> Layer:
    """The layer of least error on the tasks (eq-lenses-5-optimum).

    A = [(1 + 1/N) U + (c/N) I - (1 + 2/N) nu nu^T/q]^-1 (U - nu nu^T/q), b = (nu/(1 + 2/N) - A^T nu)/q.
    Raises ValueError where several layers have it: at finite N when s = 0 and all tasks that are not 0 are the same; at
    N = infinity when some v has <v, w_i> = c_i for all i, as d or fewer independent tasks do, or the tasks span less than R^d.
    It does so where that is the case but for rounding as well, and for tasks that are all 0 without noise.
    """
    U, nu, q, c = tasks
    if q == 0:
        raise ValueError("all labels are 0: every layer has the least error, take tasks or noise")
    told = np.outer(nu, nu) / q
    system = (1 + 1 / N) * U + c / N * np.eye(len(U)) - (1 + 2 / N) * told
    if np.linalg.svd(system, compute_uv=False)[-1] < 1e-12 * (np.linalg.norm(U, 2) + c / N):  # not by itself, at d = 1
        raise ValueError("several layers have the least error on these tasks: take noise and a finite N, or more tasks")
    A = np.linalg.solve(system, U - told)
    return Layer(A, (nu / (1 + 2 / N) - nu @ A) / q)


def second_moments_alone(tasks: Moments, N: float) -> Layer:
    """The layer of least error among those that do not read e: A = [(1 + 1/N) U + (c/N) I]^-1 U, b = 0 (eq-lenses-5-alone).

    At N = infinity the tasks have to span R^d: else LinAlgError, or numbers without meaning.
    """
    U, _, _, c = tasks
    return Layer(np.linalg.solve((1 + 1 / N) * U + c / N * np.eye(len(U)), U), np.zeros(len(U)))


class LongPrompts(NamedTuple):
    """What an answer to long prompts errs by on new tasks: it is not read, the mean is said, and it is said wrongly."""

    unread: float
    said: float
    wrongly: float


def long_prompts(w: Float[ndarray, "k d"], noise: float) -> float:
    """The error on new tasks at N = infinity after k tasks of length 1 (eq-lenses-5-long), the sum of ``long_parts``."""
    return sum(long_parts(w, noise))


def long_parts(w: Float[ndarray, "k d"], noise: float) -> LongPrompts:
    """(d - r)/d, a and a p (a + 1/d)/(c - a)^2, the terms of eq-lenses-5-long.

    r are the directions of the tasks less their mean, a and p the squared lengths of the mean off them and along them,
    c = 1 + s^2. Raises ValueError for tasks of another length, and for tasks that are all the same, without noise.
    """
    (k, d), c = w.shape, 1 + noise**2
    if not np.allclose((w**2).sum(1), 1):
        raise ValueError("the formula is one of tasks of length 1: divide each by its length")
    mean = w.mean(0)
    values, basis = np.linalg.eigh((w - mean).T @ (w - mean) / k)
    along = basis[:, values > 1e-12]
    p = float(((along.T @ mean) ** 2).sum())
    a = float(mean @ mean) - p
    if c - a < 1e-12:
        raise ValueError("one task without noise: several layers have the least error on it, take noise or more tasks")
    return LongPrompts((d - along.shape[1]) / d, a, a * p * (a + 1 / d) / (c - a) ** 2)


def projection(w: Float[ndarray, "k d"]) -> float:
    """(d - rank)/d, the error on new tasks at N = infinity of the layer that does not read e (eq-lenses-5-projection).

    Its A is the projection on the span of the tasks.
    """
    return 1 - float(np.linalg.matrix_rank(w)) / w.shape[1]


def many_dimensions(alpha: float, kappa: float, noise: float) -> float:
    """x^2 ((1 + x) m_2 - m), x = (1 + s^2)/alpha: error on new tasks less that on the k, d to infinity (eq-lenses-5-many).

    N = alpha d, k = kappa d; m = lim (1/d) tr (dU + x)^-1, m_2 = -dm/dx. Lu et al.'s formula at infinitely many prompts.
    """
    x = (1 + noise**2) / alpha
    half = x + 1 - 1 / kappa
    root = np.sqrt(half**2 + 4 * x / kappa)
    m = 2 / (half + root) if half >= 0 else (root - half) * kappa / (2 * x)
    m_2 = m**2 / (1 - kappa * (m / (kappa + m)) ** 2)
    return float(x**2 * ((1 + x) * m_2 - m))
