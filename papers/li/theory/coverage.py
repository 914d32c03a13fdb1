"""Section 3.2: what a set of training tasks does to attention at first order, and where its gaps lead.

Tasks are rows (a, b) of pattern numbers, label +1 on a and -1 on b; a prompt takes one of them at random and asks for a or b
by a fair coin. Patterns have norm beta, the label embedding norm q; alpha and l are those of training prompts.

Two one-sided tasks, (0, 2) and (1, 3): the keys are pushed by 2 (1 - 1/5) times (1/4) L_kj or Delta_j, where
L_00 = -L_20 = 1/4 and Delta_0 = 1/4, and they memorise labels by sqrt(M1) |q|/(alpha beta) = 2 * 3/(0.5 * 4):

>>> import numpy as np
>>> from papers.li.theory.coverage import expected_push, key_memory
>>> tasks = np.array([[0, 2], [1, 3]])
>>> expected_push(tasks, 4, alpha=0.5, l=5, c=2.0)[[0, 2, 4], 0].round(4).tolist()
[0.1, -0.1, 0.4]
>>> round(key_memory(tasks, 4, alpha=0.5, beta=4.0, q=3.0), 4)
3.0
"""

from math import isqrt

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from scipy.stats import binom

from papers.li.theory.mechanism import attention_mass, require_tasks, task_laplacian

# --- sizes of the set of training tasks ---------------------------------------------------------------------------


def shifts_by_share(M1: int) -> int:
    """ceil(sqrt(M1 - 1)): the fewest cyclic shifts with |T_tr|/|T| = r/(M1 - 1) >= (M1 - 1)^(-1/2) (eq-li-3-2-shifts)."""
    if M1 < 3:
        raise ValueError(f"M1 = {M1}: a task needs two patterns and a bystander, so M1 >= 3")
    return isqrt(M1 - 2) + 1


# --- first pushes -------------------------------------------------------------------------------------------------


def pair_laplacian(tasks: Int[ndarray, "n 2"], M1: int) -> Float[ndarray, "M1 M1"]:
    """L_jj = P(query = j), L_kj = -P(query = j, partner = k): the Laplacian of the graph of training pairs (eq-li-3-2-L)."""
    return task_laplacian(tasks, M1) / 2


def label_balance(tasks: Int[ndarray, "n 2"], M1: int) -> Float[ndarray, "M1"]:
    """Delta_j = P(query = j) E[z | query = j] = (tasks with +1 on j - tasks with -1 on j)/(2 |T_tr|) (eq-li-3-2-b).

    Raises ValueError as ``require_tasks`` does.
    """
    require_tasks(tasks, M1)
    counts = [np.bincount(tasks[:, side], minlength=M1) for side in (0, 1)]
    return (counts[0] - counts[1]) / (2 * len(tasks))


def expected_push(tasks: Int[ndarray, "n 2"], M1: int, alpha: float, l: int, c: float) -> Float[ndarray, "K M1"]:
    """Expected push on W_K^T W_Q at uniform attention for phi_i = c y_i, K = M1 + 1 (prop-li-3-2-push).

    c (1 - 1/l) (alpha/2) L_kj on mu_k mu_j^T, and in the last row c (1 - 1/l) Delta_j on q mu_j^T.
    """
    rows = np.vstack([alpha / 2 * pair_laplacian(tasks, M1), label_balance(tasks, M1)])
    return c * (1 - 1 / l) * rows


def attention_gap(alpha: float, l: int, score: float) -> float:
    """D = E[(e^score n_own - n_partner)/(e^score n_own + l - n_own)]: mass on the query's pattern less the partner's.

    l >= 1 and 0 < alpha <= 1.
    """
    n = np.arange(l + 1)
    mass = attention_mass(n, l, score)
    return float(binom.pmf(n, l, alpha / 2) @ (mass - (1 - mass) * alpha / (2 - alpha)))


def value_push(tasks: Int[ndarray, "n 2"], M1: int, gap: float) -> Float[ndarray, "K"]:
    """Expected push on a linear value function: gap Delta_j on mu_j, in the last entry gap on q (prop-li-3-2-value-push)."""
    return gap * np.append(label_balance(tasks, M1), 1.0)


# --- what grows out of them ---------------------------------------------------------------------------------------


def unit_push(tasks: Int[ndarray, "n 2"], M1: int, alpha: float, beta: float, q: float) -> Float[ndarray, "K K"]:
    """G: the push per unit of c (1 - 1/l) between unit vectors mu_k/beta, q/|q|; no push on the label of a query.

    G_kj = (alpha/2) beta^2 L_kj, and in the last row G_qj = beta |q| Delta_j (prop-li-3-2-grown).
    """
    G = np.zeros((M1 + 1, M1 + 1))
    G[:, :M1] = expected_push(tasks, M1, alpha, 2, 2.0) * beta
    G[:M1] *= beta
    G[M1] *= q
    return G


def grown_form(G: Float[ndarray, "K K"], delta: float, tau: float) -> Float[ndarray, "K K"]:
    """W_K^T W_Q after dW_Q = W_K G dtau, dW_K = W_Q G^T dtau from W_Q = W_K = delta diag(1, ..., 1, 0) (eq-li-3-2-grown).

    Equals delta^2 exp(2 tau G) on the patterns when labels are balanced.
    """
    K = len(G)
    start = delta * np.eye(K)
    start[-1] = 0.0
    rates, basis = np.linalg.eigh(np.block([[np.zeros((K, K)), G.T], [G, np.zeros((K, K))]]))
    W_Q, W_K = np.split((np.hstack([start, start]) @ basis * np.exp(tau * rates)) @ basis.T, 2, axis=1)
    return W_K.T @ W_Q


# --- memorising ---------------------------------------------------------------------------------------------------


def key_memory(tasks: Int[ndarray, "n 2"], M1: int, alpha: float, beta: float, q: float) -> float:
    """|q| |b|^2 / ((alpha/2) beta |L b|): push to the label key over push to the pattern, along b (eq-li-3-2-key-memory).

    sqrt(M1) |q| / (alpha beta) for M1/2 disjoint tasks that use every pattern once, 0 for balanced labels.
    """
    b = label_balance(tasks, M1)
    if not b.any():
        return 0.0
    return q * float(b @ b) / (alpha / 2 * beta * float(np.linalg.norm(pair_laplacian(tasks, M1) @ b)))


def value_memory(tasks: Int[ndarray, "n 2"], M1: int, beta: float, q: float) -> float:
    """beta^2 max_j |Delta_j| / |q|^2: pattern against label in the grown value function (eq-li-3-2-value-memory).

    beta^2 / (M1 |q|^2) for M1/2 disjoint tasks that use every pattern once, 0 for balanced labels.
    """
    return beta**2 * float(abs(label_balance(tasks, M1)).max()) / q**2


def unseen_error(tasks: Int[ndarray, "n 2"], M1: int, start: float, balanced: float) -> float:
    """Mean error over unseen tasks and their two queries when each query falls to one rule (eq-li-3-2-unseen).

    Never a query in training: ``start``, the error of the start's vote. Labels balanced: ``balanced``, the vote law. Else the
    memory sign(Delta_j), wrong where the label differs.
    """
    trained, b = {tuple(pair) for pair in tasks.tolist()}, label_balance(tasks, M1)
    by_rule = np.where(np.isin(np.arange(M1), tasks), np.where(b == 0, balanced, 0.0), start)
    error = by_rule + np.stack([b < 0, b > 0])  # first row: true label +1
    cells = [(a, k) for a in range(M1) for k in range(M1) if a != k and (a, k) not in trained]
    if not cells:
        raise ValueError("every ordered pair is a training task: there is no unseen task")
    return float(np.mean([(error[0, a] + error[1, k]) / 2 for a, k in cells]))
