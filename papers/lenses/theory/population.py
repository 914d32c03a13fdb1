"""The exact risk of a layer that is linear in the second moment of its context, and its gradient.

The layer answers x_q^T (m + B(S)), and B_i(S) = tr(C_i S) with one symmetric matrix C_i for every entry: heads with keys K_h
and values v_h have C_i = sym sum_h (K_h e_i) v_h^T. At d = 1 and w = 1 without noise, Lambda = 1 and N = 2, the head that
returns the mean of y x errs by 1 - (1/2)(x_1^2 + x_2^2), whose mean square is 1:

>>> import numpy as np
>>> from papers.lenses.theory import population
>>> law = population.tasks(np.eye(1), np.ones(1), np.zeros((1, 1)), 0.0)
>>> C = population.read(np.array([[[1.0], [0.0]]]), np.array([[0.0, 1.0]]))
>>> C.tolist()
[[[0.0, 0.5], [0.5, 0.0]]]
>>> float(population.risk(np.zeros(1), C, law, N=2)[0])
1.0
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

NODES, WEIGHTS = np.array([-(3**0.5), 0.0, 3**0.5]), np.array([1.0, 4.0, 1.0]) / 6
"""Gauss's rule for N(0, 1) that is exact up to the fifth power; the risk is of the fourth power in w."""


class Tasks(NamedTuple):
    """Tasks w with their weights, and the covariance of a token (x; y) of each."""

    w: Float[ndarray, "k d"]
    weight: Float[ndarray, "k"]
    Sigma: Float[ndarray, "k D D"]
    Lambda: Float[ndarray, "d d"]


def tasks(Lambda: Float[ndarray, "d d"], mu: Float[ndarray, "d"], Psi: Float[ndarray, "d d"], noise: float) -> Tasks:
    """Tasks that stand for w ~ N(mu, Psi) in every mean of polynomials up to the fifth degree (eq-lenses-2-nodes).

    One task where Psi = 0. Raises ValueError where Psi is no covariance.
    """
    values, basis = np.linalg.eigh(Psi)
    if values[0] < -1e-9 * abs(values).max():
        raise ValueError(f"Psi has the eigenvalue {values[0]:.3g}: a covariance has none below 0")
    live = values > 1e-12 * values[-1]
    grid = np.array([*product(NODES, repeat=live.sum())]).reshape(len(NODES) ** live.sum(), -1)
    weight = np.array([np.prod(each) for each in product(WEIGHTS, repeat=live.sum())])
    w = mu + (grid * values[live] ** 0.5) @ basis[:, live].T
    cross, square = w @ Lambda, np.einsum("kd,de,ke->k", w, Lambda, w) + noise**2
    top = np.concatenate([np.broadcast_to(Lambda, (len(w), *Lambda.shape)), cross[:, :, None]], -1)
    bottom = np.concatenate([cross, square[:, None]], -1)[:, None]
    return Tasks(w, weight, np.concatenate([top, bottom], 1), Lambda)


def read(K: Float[ndarray, "H D d"], v: Float[ndarray, "H D"]) -> Float[ndarray, "d D D"]:
    """C_i = sym sum_h (K_h e_i) v_h^T: all that the heads read of S (eq-lenses-2-read)."""
    C = np.einsum("hai,hb->iab", K, v)
    return (C + C.swapaxes(1, 2)) / 2


def risk(
    m: Float[ndarray, "d"], C: Float[ndarray, "d D D"], law: Tasks, N: float
) -> tuple[float, Float[ndarray, "d"], Float[ndarray, "d D D"]]:
    """The risk beyond the noise and its gradients in m and C (eq-lenses-2-risk).

    E_w [ |m + tr(C Sigma_w) - w|^2_Lambda + (2/N) sum_ij Lambda_ij tr(C_i Sigma_w C_j Sigma_w) ], since the covariance of
    tr(C_i S) and tr(C_j S) is (2/N) tr(C_i Sigma C_j Sigma) over N Gaussian tokens.
    """
    _, p, Sigma, Lambda = law
    missed = m + np.einsum("iab,kab->ki", C, Sigma) - law.w
    pulled = missed @ Lambda
    D = Sigma.shape[-1]
    mixed = (Lambda @ C.reshape(len(C), -1)).reshape(C.shape)
    spread = Sigma[:, None] @ mixed @ Sigma[:, None]
    value = p @ (missed * pulled).sum(-1) + 2 / N * float(p @ (spread * C).reshape(len(p), -1).sum(-1))
    weighted = p[:, None] * pulled
    in_C = 2 * np.einsum("ki,kab->iab", weighted, Sigma) + 4 / N * (p @ spread.reshape(len(p), -1)).reshape(-1, D, D)
    return float(value), 2 * weighted.sum(0), in_C
