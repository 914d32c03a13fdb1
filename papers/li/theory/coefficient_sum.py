"""Section 3.3: ODR patterns mu'_j = sum_i k_ji mu_i, their coefficient sums S_1, and what a trained model makes of S_1.

k is (C, M1), one row a pattern, in units of the common norm beta. W is W_K^T W_Q on the IDR axes, (M1, M1), times beta^2:
the score of a context with coefficients k_i under a query with coefficients k_j is k_i^T W k_j. Neuron r has a_r, the
feature response phi_r (its row of W_O W_V on the mean IDR pattern) and the label response lambda_r (on (0; q)).

Two neurons, (phi, lambda) = (2, 3) and (2, -3) with a = (1, -2), under a label of 1/2: at S_1 = 2 all are active and F is
5.5 - 2 * 2.5 for z = 1 and 2.5 - 2 * 5.5 for z = -1; at S_1 = 1/2 one is, and F is 2.5 and -2 * 2.5:

>>> import numpy as np
>>> from papers.li.theory.coefficient_sum import margin, slope
>>> neurons = np.array([1.0, -2.0]), np.array([[2.0, 2.0]]), np.array([[3.0, -3.0]])
>>> [[float(f(S_1, *neurons, 0.5)[0]) for f in (margin, slope)] for S_1 in (2.0, 0.5)]
[[4.5, 0.0], [3.75, 3.0]]
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def coefficient_sum(k: Float[ndarray, "*D C M1"]) -> Float[ndarray, "*D C"]:
    """S_1 = sum_i k_ji (eq-li-3-3-sum), one number a pattern."""
    return k.sum(axis=-1)


def largest_sum(M1: int, count: int) -> float:
    """sqrt(M1 / count), the largest |S_1| that ``count`` orthonormal ODR patterns can share (eq-li-3-3-bessel).

    Raises ValueError when there is no pattern, or more patterns than dimensions.
    """
    if not 1 <= count <= M1:
        raise ValueError(f"{count} orthonormal patterns in the span of {M1}: take 1 to {M1}")
    return float(np.sqrt(M1 / count))


def remainder_gram(S_1: float, M1: int, count: int) -> Float[ndarray, "C C"]:
    """I - (S_1^2 / M1) J, the Gram matrix of the parts of k_1..k_count that are orthogonal to (1, ..., 1) (eq-li-3-3-gram).

    k_1..k_count are orthonormal and share S_1. Raises ValueError beyond ``largest_sum``, where there are none.
    For count = M1 there are none below it either: they are a basis, and S_1 is 1 or -1.
    """
    if abs(S_1) > largest_sum(M1, count) * (1 + 1e-12):
        raise ValueError(f"no {count} orthonormal patterns share the sum {S_1}: take {largest_sum(M1, count):.4g} at most")
    return np.eye(count) - S_1**2 / M1


def feature_to_label(beta: float, q: float, M1: int) -> float:
    """beta^2 / (M1 |q|^2), what a row along (mu_bar, q) gives on the feature of an IDR pattern over its label."""
    return beta**2 / (M1 * q**2)


def mean_label(mass: float | Float[ndarray, "..."], alpha: float) -> float | Float[ndarray, "..."]:
    """mass - (1 - mass) (alpha/2) / (1 - alpha/2): the attention-weighted label, in units of the query's (eq-li-3-3-vote).

    ``mass`` is the attention on the query's pattern; the other contexts carry the opposite label with probability
    (alpha/2)/(1 - alpha/2) and a fair coin's else. Raises ValueError for alpha outside (0, 1].
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha = {alpha}: it is the share of contexts that the task decides, so 0 < alpha <= 1")
    return mass - (1 - mass) * (alpha / 2) / (1 - alpha / 2)


def margin(
    S_1: float,
    a: Float[ndarray, "m"],
    phi: Float[ndarray, "... m"],
    lam: Float[ndarray, "... m"],
    vote: float | Float[ndarray, "..."],
) -> Float[ndarray, "..."]:
    """z F = (1/2) sum_z sum_r z a_r ReLU(S_1 phi_r + z vote lambda_r) (eq-li-3-3-margin), the mean over both labels z."""
    lam = np.asarray(vote)[..., None] * lam
    positive, negative = (np.maximum(S_1 * phi + z * lam, 0) @ a for z in (1, -1))
    return (positive - negative) / 2


def slope(
    S_1: float,
    a: Float[ndarray, "m"],
    phi: Float[ndarray, "... m"],
    lam: Float[ndarray, "... m"],
    vote: float | Float[ndarray, "..."],
) -> Float[ndarray, "..."]:
    """d(z F)/dS_1 = (1/2) sum_z sum_{r active} z a_r phi_r (eq-li-3-3-slope)."""
    lam = np.asarray(vote)[..., None] * lam
    positive, negative = ((phi * (S_1 * phi + z * lam > 0)) @ a for z in (1, -1))
    return (positive - negative) / 2


def mean_losses(
    S_1: float,
    a: Float[ndarray, "m"],
    phi: Float[ndarray, "m"],
    lam: Float[ndarray, "m"],
    law: tuple[Float[ndarray, "C"], Float[ndarray, "C"]],
) -> tuple[float, float]:
    """E max{0, 1 - zF} and P(zF < 0) + P(zF = 0)/2 over both z and the distribution of the label (eq-li-3-3-mean-losses).

    ``law`` are the chances and values of the attention-weighted label in units of the query's. |zF| up to 1e-12 is taken for 0.
    Where a margin is NaN, so are both.
    """
    chance, vote = law
    margins = np.array([z * (np.maximum(S_1 * phi + z * vote[:, None] * lam, 0) @ a) for z in (1, -1)])
    lost = np.where(np.isnan(margins), np.nan, (margins < -1e-12) + 0.5 * (abs(margins) <= 1e-12))
    hinge, error = ((loss @ chance).mean() for loss in (np.maximum(1 - margins, 0), lost))
    return float(hinge), float(error)


def pair_gaps(W: Float[ndarray, "... M1 M1"], k: Float[ndarray, "... C M1"]) -> Float[ndarray, "... C C"]:
    """k_j^T W k_j - k_i^T W k_j at [i, j]: the score of the query's pattern j above that of pattern i (eq-li-3-3-gap)."""
    scores = np.einsum("...ia,...ab,...jb->...ij", k, W, k, optimize=True)
    return np.diagonal(scores, axis1=-2, axis2=-1)[..., None, :] - scores


def gap_spread(W: Float[ndarray, "... M1 M1"], k: Float[ndarray, "D C M1"]) -> Float[ndarray, "..."]:
    """Standard deviation of ``pair_gaps`` over draws of k and over i != j, by W (derived here).

    A gap is linear in W, <W, k_j k_j^T - k_i k_j^T>, so that one product of matrices serves every W.
    """
    products = np.einsum("nia,njb->nijab", k, k)
    own = np.einsum("njjab->njab", products)[:, None]
    of_pairs = (own - products)[:, ~np.eye(k.shape[1], dtype=bool)].reshape(-1, W.shape[-1] ** 2)
    return np.einsum("...a,pa->...p", W.reshape(*W.shape[:-2], -1), of_pairs, optimize=True).std(-1)


def off_diagonal_mean(gaps: Float[ndarray, "... C C"]) -> Float[ndarray, "..."]:
    """The mean over j != i of gaps that vanish at j = i."""
    count = gaps.shape[-1]
    return gaps.sum(axis=(-2, -1)) / (count * (count - 1))


def mean_gap(W: Float[ndarray, "... M1 M1"]) -> Float[ndarray, "..."]:
    """gamma = (tr W - 1^T W 1 / M1) / (M1 - 1), the mean gap over IDR patterns (eq-li-3-3-mean-gap).

    It is that over ODR patterns as well, drawn uniformly at one common S_1.
    """
    M1 = W.shape[-1]
    return (np.trace(W, axis1=-2, axis2=-1) - W.sum(axis=(-2, -1)) / M1) / (M1 - 1)


def rescaled_gap(gamma: float | Float[ndarray, "..."], S_1: float | Float[ndarray, "..."]) -> float | Float[ndarray, "..."]:
    """S_1^2 gamma, the mean score gap of mu'_j = S_1 mu_j (eq-li-3-3-rescaled-gap)."""
    return S_1**2 * gamma
