"""One block in three notations: linear attention, whose context is one change of weights for every query.

Tokens are z_i = (x_i; y_i), the query is z_q = (x_q; 0), and A(C, z_q) = z_q + V S K z_q with S = (1/rho) sum_i z_i z_i^T.
With Zhang et al.'s limit weights the change of W = (0, 1) is the step Gamma^-1 h, here with Gamma = 2 and the context (1; 3):

>>> import numpy as np
>>> from papers.lenses.theory import one_block
>>> x, y, W, Gamma = np.array([[1.0]]), np.array([3.0]), np.array([[0.0, 1.0]]), np.array([[2.0]])
>>> V, K = one_block.limit_weights(Gamma)
>>> one_block.static_change(W, V, K, one_block.second_moment(x, y, rho=1)).tolist()
[[1.5, 0.0]]
>>> one_block.step(W, Gamma, x, y).tolist()
[[1.5, 0.0]]
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def second_moment(x: Float[ndarray, "M d"], y: Float[ndarray, "M"], rho: float) -> Float[ndarray, "d+1 d+1"]:
    """S = (1/rho) sum_i z_i z_i^T over the context alone (eq-lenses-1-moment)."""
    z = np.c_[x, y]
    return z.T @ z / rho


def static_change(
    W: Float[ndarray, "m D"], V: Float[ndarray, "D D"], K: Float[ndarray, "D D"], S: Float[ndarray, "D D"]
) -> Float[ndarray, "m D"]:
    """D* = W V S K: with W + D* the block answers every query alone as it does with the context (eq-lenses-1-static)."""
    return W @ V @ S @ K


def limit_weights(Gamma: Float[ndarray, "d d"]) -> tuple[Float[ndarray, "d+1 d+1"], Float[ndarray, "d+1 d+1"]]:
    """V = e_y e_y^T and K = Gamma^-1 on the features: Theorem 4.1 of Zhang et al. as a value and a key matrix."""
    d = len(Gamma)
    V, K = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1))
    V[d, d], K[:d, :d] = 1.0, np.linalg.inv(Gamma)
    return V, K


def loss(D: Float[ndarray, "m d"], W: Float[ndarray, "m d+1"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]) -> float:
    """L_C(D) = 1/(2M) sum_i |(W + D)(x_i; 0) - W (x_i; y_i)|^2 (eq-lenses-1-loss).

    What W would read from an example with its label is to be read from x_i alone; no query enters.
    Raises ValueError where the shapes are others.
    """
    return float((_missed(D, W, x, y) ** 2).sum() / (2 * len(y)))


def gradient(
    D: Float[ndarray, "m d"], W: Float[ndarray, "m d+1"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]
) -> Float[ndarray, "m d"]:
    """(1/M) sum_i (D x_i - w_y y_i) x_i^T, the gradient of L_C; w_y is the last column of W (eq-lenses-1-gradient)."""
    return _missed(D, W, x, y).T @ x / len(y)


def _missed(
    D: Float[ndarray, "m d"], W: Float[ndarray, "m d+1"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]
) -> Float[ndarray, "M m"]:
    """D x_i - w_y y_i."""
    (m, d), M = D.shape, len(x)
    if W.shape != (m, d + 1) or y.shape != (M,):
        raise ValueError(f"W has shape {W.shape} and y {y.shape}: give {(m, d + 1)}, labels last, and {(M,)}")
    return x @ D.T - np.outer(y, W[:, -1])


def step(
    W: Float[ndarray, "m D"], Gamma: Float[ndarray, "d d"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]
) -> Float[ndarray, "m d+1"]:
    """-grad L_C(0) Gamma^-1, and 0 in the column of labels: one preconditioned step (eq-lenses-1-step)."""
    D = -gradient(np.zeros((len(W), len(Gamma))), W, x, y) @ np.linalg.inv(Gamma)
    return np.c_[D, np.zeros(len(W))]


def cut(D: Float[ndarray, "m D"], z: Float[ndarray, "D"]) -> Float[ndarray, "m D"]:
    """D z z^T / |z|^2: what Dherin et al. write down, for the query z alone (eq-lenses-1-cut)."""
    return np.outer(D @ z, z) / (z @ z)


def tangents(
    W: Float[ndarray, "m D"], Gamma: Float[ndarray, "d d"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]
) -> Float[ndarray, "M m d"]:
    """-(1/M) grad l_i(0) Gamma^-1 for each example, l_i(D) = 1/2 |D x_i - w_y y_i|^2: eq-lenses-1-tangent without P_q.

    The gradient is that at D = 0 for every example, wherever the examples before it have led.
    """
    return np.einsum("i,m,id->imd", y, W[:, -1], x @ np.linalg.inv(Gamma)) / len(y)


def descents(
    W: Float[ndarray, "m D"], Gamma: Float[ndarray, "d d"], x: Float[ndarray, "M d"], y: Float[ndarray, "M"]
) -> Float[ndarray, "M m d"]:
    """The same with the gradient where the examples before it have led: one pass of stochastic gradient descent.

    D_i - D_{i-1} = -(1/M) grad l_i(D_{i-1}) Gamma^-1 (eq-lenses-1-pass).
    """
    D, found, inverse = np.zeros((len(W), len(Gamma))), [], np.linalg.inv(Gamma)
    for x_i, y_i in zip(x, y, strict=True):
        found.append(-np.outer(D @ x_i - y_i * W[:, -1], x_i @ inverse) / len(y))
        D = D + found[-1]
    return np.array(found)


def share_of_context(Lambda: Float[ndarray, "d d"], Gamma: Float[ndarray, "d d"]) -> float:
    """tr(Gamma^-1 Lambda)/d: the mean share of w that the context's step recovers (eq-lenses-1-shares)."""
    return float(np.trace(np.linalg.solve(Gamma, Lambda)) / len(Lambda))


def share_of_pass(Lambda: Float[ndarray, "d d"], Gamma: Float[ndarray, "d d"], M: int) -> float:
    """tr(I - (I - Gamma^-1 Lambda/M)^M)/d: that of one pass of stochastic gradient descent.

    1 - 1/e for long prompts, where Gamma is Lambda.
    """
    one = np.eye(len(Lambda)) - np.linalg.solve(Gamma, Lambda) / M
    return float(1 - np.trace(np.linalg.matrix_power(one, M)) / len(Lambda))


def norm_factor(y_hat: float, x_q: Float[ndarray, "d"]) -> float:
    """sqrt(1 + y_hat^2/|x_q|^2): what one RMS norm before W takes from the context's output (eq-lenses-1-norm)."""
    return float(np.sqrt(1 + y_hat**2 / (x_q @ x_q)))
