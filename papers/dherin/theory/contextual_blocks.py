"""Section 2: the update of one matrix that stands for a context, how large it is, what else would do, and for which queries.

Letters: a = A(C without Y, x) is what the matrix W reads without Y, a_full = A(C, x) what it reads with the whole context,
Delta = a_full - a. Written for one block; nothing here knows how a layer makes a out of tokens. Vectors that are divided by,
a above all, are not 0: where a function does not raise, the answer is then NaN or infinite.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.stats import beta


def contextual_vector(a_full: Float[ndarray, "n"], a: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    """Delta A(Y) = A(C, x) - A(C without Y, x): the contextual vector (eq-dherin-2-vector)."""
    return a_full - a


def block(f: Callable[[ndarray], ndarray], W: Float[ndarray, "m n"], b: Float[ndarray, "m"], a: Float[ndarray, "n"]) -> ndarray:
    """T_W = f(W a + b): a contextual block; f is what follows the first linear map, anything at all (eq-dherin-2-block)."""
    return f(W @ a + b)


def update(W: Float[ndarray, "m n"], Delta: Float[ndarray, "n"], a: Float[ndarray, "n"]) -> Float[ndarray, "m n"]:
    """Delta W(Y) = (W Delta) a^T / |a|^2 (eq-dherin-2-update). Raises ValueError at a = 0.

    W Delta = (-1, -1) and |a|^2 = 2. The patched W sends a where W sends a + Delta = (2, 0):

    >>> import numpy as np
    >>> from papers.dherin.theory.contextual_blocks import update
    >>> W, Delta, a = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]), np.array([1.0, 1.0])
    >>> update(W, Delta, a).round(4).tolist(), ((W + update(W, Delta, a)) @ a).round(4).tolist(), (W @ (a + Delta)).tolist()
    ([[-0.5, -0.5], [-0.5, -0.5]], [2.0, 6.0], [2.0, 6.0])
    """
    return send(np.zeros_like(W), a, W @ Delta)


def redirect(W: Float[ndarray, "m n"], a: Float[ndarray, "n"], u: Float[ndarray, "n"]) -> Float[ndarray, "m n"]:
    """W (u - a) a^T / |a|^2: after this change W sends a to W u, for any vector u (eq-dherin-2-any).

    Raises ValueError at a = 0.
    """
    return send(W, a, W @ u)


def send(U: Float[ndarray, "m n"], h: Float[ndarray, "n"], target: Float[ndarray, "m"]) -> Float[ndarray, "m n"]:
    """(target - U h) h^T / |h|^2: after this change U sends h to the target (eq-dherin-2-send). Raises ValueError at h = 0."""
    if not h.any():
        raise ValueError("the vector that the matrix reads is 0, and every matrix sends 0 to 0: the theorem needs a != 0")
    return np.outer(target - U @ h, h) / (h @ h)


# --- size, least norm, freedom ------------------------------------------------------------------------------------


def update_norm(W: Float[ndarray, "m n"], Delta: Float[ndarray, "n"], a: Float[ndarray, "n"]) -> float:
    """|W Delta| / |a|: Frobenius and spectral norm of the update (eq-dherin-2-norm)."""
    return float(np.linalg.norm(W @ Delta) / np.linalg.norm(a))


def norm_bound(W: Float[ndarray, "m n"], Delta: Float[ndarray, "n"], a: Float[ndarray, "n"]) -> float:
    """|W|_2 |Delta| / |a|: never below the norm of the update (eq-dherin-2-bound)."""
    return float(np.linalg.norm(W, 2) * np.linalg.norm(Delta) / np.linalg.norm(a))


def free_part(M: Float[ndarray, "m n"], a: Float[ndarray, "n"]) -> Float[ndarray, "m n"]:
    """M (I - a a^T / |a|^2): the part of M that kills a and may be added to every exact patch (eq-dherin-2-free)."""
    return M - np.outer(M @ a, a) / (a @ a)


# --- one patch, other queries -------------------------------------------------------------------------------------


def update_cosine(
    columns: tuple[Float[ndarray, "m"], Float[ndarray, "m"]], rows: tuple[Float[ndarray, "n"], Float[ndarray, "n"]]
) -> float:
    """cos(W Delta_i, W Delta_j) cos(a_i, a_j): cosine of two updates in the Frobenius inner product (eq-dherin-2-cosine)."""
    return float(np.prod([pair[0] @ pair[1] / np.linalg.norm(pair[0]) / np.linalg.norm(pair[1]) for pair in (columns, rows)]))


def aligned_share(low: float, high: float, d: int) -> float:
    """P(low < cos(x, x')^2 <= high) for independent x, x' ~ N(0, I_d): cos^2 ~ Beta(1/2, (d-1)/2), d >= 2 (eq-dherin-2-beta).

    Its mean is 1/d. Raises ValueError for d < 2 and for low > high.
    """
    if d < 2 or low > high:
        raise ValueError(f"d = {d}, low = {low}, high = {high}: take d >= 2 and low <= high")
    law = beta(0.5, (d - 1) / 2)
    return float(law.cdf(high) - law.cdf(low) if low < 0.5 else law.sf(low) - law.sf(high))


def swapped(
    W: Float[ndarray, "m n"], Delta_i: Float[ndarray, "n"], a_i: Float[ndarray, "n"], a_j: Float[ndarray, "n"]
) -> Float[ndarray, "m"]:
    """(W + Delta W_i) a_j = W a_j + W Delta_i <a_i, a_j> / |a_i|^2: the patch of query i at query j (eq-dherin-2-swapped)."""
    return W @ a_j + (W @ Delta_i) * (a_i @ a_j) / (a_i @ a_i)


def joint_patch(columns: Float[ndarray, "m K"], A0: Float[ndarray, "n K"], tolerance: float) -> Float[ndarray, "m n"]:
    """columns A0^+: of all D with the least |D A0 - columns|_F, the one of least norm (eq-dherin-2-joint).

    ``columns`` are W Delta_k, those of A0 are a_k. K = 1 is ``update``. Singular values of A0 below ``tolerance`` times the
    largest count as 0.
    """
    return columns @ np.linalg.pinv(A0, tolerance)


def joint_miss(columns: Float[ndarray, "m K"], A0: Float[ndarray, "n K"], tolerance: float) -> float:
    """|columns R|_F / |columns|_F, R an orthonormal basis of the relations among the a_k (eq-dherin-2-miss).

    0 exactly when a joint patch for the K queries exists, as it does where the columns are 0.
    """
    if not columns.any():
        return 0.0
    _, values, basis = np.linalg.svd(A0)
    relations = basis[int((values > tolerance * values[0]).sum()) :]
    return float(np.linalg.norm(columns @ relations.T) / np.linalg.norm(columns))


def single_token(W_O: Float[ndarray, "k r"], W_V: Float[ndarray, "r n"], x: Float[ndarray, "n"]) -> Float[ndarray, "k"]:
    """A(x) = W_O W_V x: softmax attention over one token is linear, the softmax of one score being 1 (eq-dherin-2-single)."""
    return W_O @ (W_V @ x)
