"""The exact risk of linear attention whose values read the label alone, on tasks of equal weight."""

import numpy as np
from jaxtyping import Float

from papers.lenses.theory import population


def law(w: Float[np.ndarray, "k d"], noise: float) -> population.Tasks:
    """Return k tasks of equal weight, and the covariance of a token (x; y) of each, inputs N(0, I)."""
    k, d = w.shape
    Sigma = np.tile(np.eye(d + 1), (k, 1, 1))
    Sigma[:, :d, d], Sigma[:, d, :d], Sigma[:, d, d] = w, w, (w**2).sum(1) + noise**2
    return population.Tasks(w, np.full(k, 1 / k), Sigma, np.eye(d))


def new_law(d: int, noise: float) -> population.Tasks:
    """Return tasks +-e_j, which have those moments of the sphere |w| = 1 that enter the risk."""
    return law(np.concatenate([np.eye(d), -np.eye(d)]), noise)


def risk(K: Float[np.ndarray, "D d"], tasks: population.Tasks, N: int) -> tuple[float, Float[np.ndarray, "D d"]]:
    """Return the risk with these keys and values (0; 1), without a row, and its gradient in the keys."""
    label = np.eye(len(K))[-1]
    value, _, in_C = population.risk(np.zeros(K.shape[1]), population.read(K[None], label[None]), tasks, N)
    return value, np.einsum("iab,b->ai", in_C, label)


def level(tasks: population.Tasks, N: int) -> Float[np.ndarray, "D d"]:
    """Return the keys at which the gradient, which is linear in them, is 0."""
    shape = (tasks.Sigma.shape[-1], tasks.Sigma.shape[-1] - 1)
    at_zero = risk(np.zeros(shape), tasks, N)[1].ravel()
    units = np.eye(at_zero.size).reshape(-1, *shape)
    slopes = np.array([risk(unit, tasks, N)[1].ravel() - at_zero for unit in units])
    return -np.linalg.solve(slopes, at_zero).reshape(shape)
