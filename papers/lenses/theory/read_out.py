"""What a linear MLP u^T W keeps of its initialisation under gradient flow, and how its patches lie to the read-out u.

At u = (2, 0) and W = ((1), (1)), Q = ((3, -1), (-1, -1)). The change that is written in the channel of W's only column lies
along (1, 1), at the angle of tangent 1 to u, and half of W's squares are off u:

>>> import numpy as np
>>> from papers.lenses.theory import read_out
>>> u, W = np.array([2.0, 0.0]), np.array([[1.0], [1.0]])
>>> Q = read_out.conserved(u, W)
>>> Q.tolist(), read_out.tangent(Q, u), read_out.share_off(Q, u)
([[3.0, -1.0], [-1.0, -1.0]], 1.0, 0.5)
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def conserved(u: Float[ndarray, "m"], W: Float[ndarray, "m D"]) -> Float[ndarray, "m m"]:
    """Q = u u^T - W W^T, which gradient flow of any loss of W^T u keeps (eq-lenses-2-conserved)."""
    if np.shape(W)[:-1] != np.shape(u):
        raise ValueError(f"u and W have the shapes {np.shape(u)} and {np.shape(W)}: give (m,) and (m, D)")
    return np.outer(u, u) - W @ W.T


def tangent(Q: Float[ndarray, "m m"], u: Float[ndarray, "m"]) -> float:
    """|P Q e| / (|u|^2 - e^T Q e), e = u/|u|, P = I - e e^T: tangent of the angle of W r to u (eq-lenses-2-tangent)."""
    e = u / np.linalg.norm(u)
    along = e @ Q @ e
    return float(np.linalg.norm(Q @ e - along * e) / (u @ u - along))


def share_off(Q: Float[ndarray, "m m"], u: Float[ndarray, "m"]) -> float:
    """(e^T Q e - tr Q)/(|u|^2 - tr Q): the share of |W|^2 that is at right angles to u (eq-lenses-2-off)."""
    e = u / np.linalg.norm(u)
    return float((e @ Q @ e - np.trace(Q)) / (u @ u - np.trace(Q)))


def largest_tangent(Q: Float[ndarray, "m m"], r: Float[ndarray, "D"]) -> float:
    """|Q| (q + (q^2 + 4 |r|^2)^1/2)/(2 |r|^2): no angle to W r is larger (eq-lenses-2-bound).

    q is the largest eigenvalue of Q, or 0 if all are negative.
    """
    values = np.linalg.eigvalsh(Q)
    q = max(values[-1], 0.0)
    return float(abs(values).max() * (q + np.sqrt(q**2 + 4 * r @ r)) / (2 * r @ r))
