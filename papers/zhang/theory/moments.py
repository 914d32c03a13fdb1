"""Appendix D: the Gaussian fourth moment and the technical lemmas on matrices."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def fourth_moment(Lambda: Float[ndarray, "d d"], A: Float[ndarray, "d d"]) -> Float[ndarray, "d d"]:
    """E[x x^T A x x^T] = Lambda (A + A^T) Lambda + tr(A Lambda) Lambda for x ~ N(0, Lambda), any A (Appendix D).

    Here x^T A x = x_1^2 + x_1 x_2, with E x_1^4 = 3 * 2^2 = 12 and E x_1^2 x_2^2 = 2 * 3 = 6:

    >>> import numpy as np
    >>> from papers.zhang.theory.moments import fourth_moment
    >>> fourth_moment(np.diag([2.0, 3.0]), np.array([[1.0, 1.0], [0.0, 0.0]])).tolist()
    [[12.0, 6.0], [6.0, 6.0]]
    """
    return Lambda @ (A + A.T) @ Lambda + np.trace(A @ Lambda) * Lambda


def linear_trace_gradient(B: Float[ndarray, "d d"]) -> Float[ndarray, "d d"]:
    """d tr(B X^T) / dX = B (Appendix D)."""
    return B


def quadratic_trace_gradient(
    B: Float[ndarray, "d d"], C: Float[ndarray, "d d"], X: Float[ndarray, "d d"]
) -> Float[ndarray, "d d"]:
    """d tr(B X C X^T) / dX = B X C + B^T X C^T (Appendix D)."""
    return B @ X @ C + B.T @ X @ C.T


def von_neumann_bound(X: Float[ndarray, "d d"], Y: Float[ndarray, "d d"]) -> float:
    """sum_i s_i(X) s_i(Y) >= |tr(X Y)|, singular values in decreasing order (von Neumann; Appendix D)."""
    return float(np.linalg.svd(X, compute_uv=False) @ np.linalg.svd(Y, compute_uv=False))
