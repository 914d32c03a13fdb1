"""Lemma 5.1: the prediction is a quadratic form in the live parameters, so the loss is not convex.

The live parameters are U = [[U_11, u_12], [u_21^T, u_-1]], (d+1, d+1), with U_11 = W_11^KQ, u_12 = w_21^PV,
u_21 = w_21^KQ, u_-1 = w_22^PV. E is the token matrix of a prompt, (d+1, N+1). In shapes D = d + 1 and T = N + 1.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def U(W_PV: Float[ndarray, "D D"], W_KQ: Float[ndarray, "D D"]) -> Float[ndarray, "D D"]:
    """Return the live parameters: the last row of W_PV as the last column, the first d columns of W_KQ (Lemma 5.1)."""
    return np.column_stack([W_KQ[:, :-1], W_PV[-1]])


def vec(matrix: Float[ndarray, "m n"]) -> Float[ndarray, "m*n"]:
    """Vec: the columns, one below the other, as in Lemma 5.1."""
    return matrix.ravel(order="F")


def X(x_query: Float[ndarray, "... d"]) -> Float[ndarray, "... d+1 d+1"]:
    """X_tau = [[0, x_query], [x_query^T, 0]] (Lemma 5.1); its eigenvalues are ||x_query||, -||x_query|| and d-1 zeros."""
    *batch, d = x_query.shape
    matrix = np.zeros((*batch, d + 1, d + 1))
    matrix[..., :-1, -1] = matrix[..., -1, :-1] = x_query
    return matrix


def X_characteristic(x_query: Float[ndarray, "d"], mu: float) -> float:
    """det(mu I - X_tau) = mu^(d-1) (mu^2 - ||x_query||^2), the spectrum behind the signature of H."""
    return float(mu ** (len(x_query) - 1) * (mu**2 - x_query @ x_query))


def H(E: Float[ndarray, "... D T"]) -> Float[ndarray, "... D*D D*D"]:
    """H_tau = (1/2) X_tau (x) E E^T / N (Lemma 5.1); the query x_query is the last column of E."""
    return 0.5 * kronecker(X(E[..., :-1, -1]), gram(E) / (E.shape[-1] - 1))


def gram(E: Float[ndarray, "... D T"]) -> Float[ndarray, "... D D"]:
    """E E^T."""
    return np.einsum("...it,...jt->...ij", E, E)


def kronecker(A: Float[ndarray, "... D D"], B: Float[ndarray, "... D D"]) -> Float[ndarray, "... D*D D*D"]:
    """A (x) B."""
    D = A.shape[-1]
    return np.einsum("...ij,...kl->...ikjl", A, B).reshape(*A.shape[:-2], D * D, D * D)


def quadratic_prediction(E: Float[ndarray, "... D T"], U: Float[ndarray, "D D"]) -> Float[ndarray, "..."] | float:
    """y_hat = u^T H_tau u with u = Vec(U) (Lemma 5.1).

    Examples (1, 1) and (2, 1) with query 3: E E^T/N = [[7, 1.5], [1.5, 1]], and (u_12, u_-1) E E^T/N (u_11, u_21)^T x_query is
    (2 * 11.5 + 4 * 4.5) * 3. The matrix H_tau has min(N, d) + 1 negative eigenvalues:

    >>> import numpy as np
    >>> from papers.zhang.theory.quadratic import H, negative_eigenvalues, quadratic_prediction
    >>> E = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 0.0]])
    >>> round(float(quadratic_prediction(E, np.array([[1.0, 2.0], [3.0, 4.0]]))), 6)
    123.0
    >>> int((np.linalg.eigvalsh(H(E)) < 0).sum()), negative_eigenvalues(2, 1)
    (2, 2)
    """
    u = vec(U)
    return H(E) @ u @ u


def negative_eigenvalues(N: int, d: int) -> int:
    """min(N, d) + 1: the number of negative (and of positive) eigenvalues of H_tau, almost surely (derived here).

    The paper's d + 1 needs N >= d.
    """
    return min(N, d) + 1
