"""Static patches: one change of a matrix for many queries, fitted to K calibration queries of one context.

Row k of H is h_k, what the matrix reads for query k without the context. Row k of T is t_k, what should be added to its output:
t_k = W Deltaa_k for a matrix that reads a, and for the last matrix of a block t_k = W (h_k^full - h_k) + v_k^full - v_k.

Two orthogonal queries, h = (1, 0) with t = 3 and h = (0, 2) with t = 4: least squares fits both, a ridge of 1 gives 3/(1 + 1)
and 2 * 4/(4 + 1), and the mean of the two token patches is half of each. The ridge's scale is (1 + 16)/(1 + 4):

>>> import numpy as np
>>> from papers.dherin.theory.static import least_squares, ridge, ridge_strength, thought_matrix
>>> H, T = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0], [4.0]])
>>> [D.round(4).tolist() for D in (least_squares(H, T), ridge(H, T, 1.0), thought_matrix(H, T))]
[[[3.0, 2.0]], [[1.5, 1.6]], [[1.5, 1.0]]]
>>> round(ridge_strength(H, 0.5), 4)
1.7
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.linalg import pinv


def least_squares(H: Float[ndarray, "K n"], T: Float[ndarray, "K m"]) -> Float[ndarray, "m n"]:
    """The D of least Frobenius norm among the minimisers of sum_k |t_k - D h_k|^2: T^T (H^+)^T (eq-dherin-static-least)."""
    return (pinv(H) @ T).T


def ridge_strength(H: Float[ndarray, "K n"], lambda_0: float) -> float:
    """lambda = lambda_0 |H^T H|_F^2 / tr(H^T H) (eq-dherin-static-strength)."""
    square = H.T @ H
    return float(lambda_0 * (square**2).sum() / np.trace(square))


def ridge(H: Float[ndarray, "K n"], T: Float[ndarray, "K m"], strength: float) -> Float[ndarray, "m n"]:
    """T^T H (H^T H + lambda I)^-1, the minimiser of sum_k |t_k - D h_k|^2 + lambda |D|_F^2 (eq-dherin-static-ridge).

    Needs lambda > 0, or h_k that span R^n: else LinAlgError, or numbers without meaning.
    """
    square = H.T @ H + strength * np.eye(H.shape[1])
    return np.linalg.solve(square, H.T @ T).T


def thought_matrix(H: Float[ndarray, "K n"], T: Float[ndarray, "K m"]) -> Float[ndarray, "m n"]:
    """1/K sum_k t_k h_k^T / |h_k|^2, the mean of the token patches (eq-dherin-static-thought; Mazzawi et al., 2510.08734).

    NaN where an h_k is 0, and without tokens.
    """
    return T.T @ (H / (H**2).sum(-1, keepdims=True)) / len(H)


def kept_share(moment: Float[ndarray, "n n"]) -> Float[ndarray, "n"]:
    """Eigenvalues of E[h h^T / |h|^2], from the least: the shares of a linear change that averaging keeps; they sum to one.

    (eq-dherin-static-share)
    """
    return np.linalg.eigvalsh(moment)


def affine(H: Float[ndarray, "K n"], T: Float[ndarray, "K m"]) -> tuple[Float[ndarray, "m n"], Float[ndarray, "m"]]:
    """D and c that minimise sum_k |t_k - D h_k - c|^2 (eq-dherin-static-affine).

    D is least squares on centred rows, c = mean(t) - D mean(h). What centring leaves of rows by rounding alone counts as 0.
    """
    rounding = max(H.shape) * np.finfo(H.dtype).eps * np.linalg.norm(H, 2)
    D = (pinv(H - H.mean(0), atol=rounding, rtol=0) @ (T - T.mean(0))).T
    return D, T.mean(0) - D @ H.mean(0)


def contradiction(H: Float[ndarray, "K n"], T: Float[ndarray, "K m"]) -> float:
    """|(I - H H^+) T|_F: what no matrix can fit (eq-dherin-static-exact).

    It is 0 if and only if each relation sum_k r_k h_k = 0 holds among the t_k too.
    """
    return float(np.linalg.norm(T - H @ (pinv(H) @ T)))


def unseen_error(H: Float[ndarray, "K n"], D: Float[ndarray, "m n"], moment: Float[ndarray, "n n"]) -> float:
    """tr(D Q S Q D^T), Q = I - H^+ H: E |D h - D_K h|^2 on new h of second moment S (eq-dherin-static-unseen).

    D_K is the least-squares patch of K pairs with t_k = D h_k.
    """
    Q = np.eye(H.shape[1]) - pinv(H) @ H
    return float(np.trace(D @ Q @ moment @ Q @ D.T))
