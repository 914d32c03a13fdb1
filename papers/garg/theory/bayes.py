"""The Bayes predictor of w ~ N(0, I_d), y_i = <w, x_i> + noise, and its error; X has the rows x_1 .. x_k.

Two inputs in three dimensions and noise 2: w_i = x y/(x^2 + 4) = 1 * 5/5 and 2 * 8/8, and the error is
(1/(1 + 1/4) + 1/(1 + 4/4) + 1)/3. Without noise 1 - 2/3 is left:

>>> import numpy as np
>>> from papers.garg.theory.bayes import posterior_error, posterior_errors, posterior_mean
>>> X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
>>> posterior_mean(X, np.array([5.0, 8.0]), noise_sd=2.0).round(4).tolist()
[1.0, 2.0, 0.0]
>>> [round(float(posterior_error(X, noise_sd)), 4) for noise_sd in (2.0, 1e-6)]
[0.7667, 0.3333]
>>> posterior_errors(X, noise_sd=2.0).round(4).tolist()
[1.0, 0.9333, 0.7667]
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def posterior_mean(X: Float[ndarray, "k d"], y: Float[ndarray, "k"], noise_sd: float) -> Float[ndarray, "d"]:
    """E[w | X, y] = X^T (X X^T + noise_sd^2 I)^-1 y, for noise_sd = 0 the least-norm solution of X w = y (derived here).

    Raises ValueError where X X^T + noise_sd^2 I is singular to rounding: without noise for k > d, or for rows that repeat.
    """
    X = np.asarray(X, float)
    gram = X @ X.T + noise_sd**2 * np.eye(len(X))
    if len(X) and np.linalg.cond(gram) > 1e12:
        raise ValueError(
            f"{len(X)} examples of {X.shape[-1]} numbers are linearly dependent at noise {noise_sd}: take k <= d, or noise"
        )
    return X.T @ np.linalg.solve(gram, y)


def posterior_error(X: Float[ndarray, "... k d"], noise_sd: float) -> Float[ndarray, "..."]:
    """(1/d) tr[(I + X^T X / noise_sd^2)^-1], the Bayes error on a query from N(0, I) given the inputs, over d (derived here).

    Against the clean label; needs noise_sd > 0. As noise_sd tends to 0 it tends to 1 - rank(X)/d.
    """
    k, d = X.shape[-2:]
    square = np.linalg.svd(X, compute_uv=False) ** 2
    return np.asarray((max(d - k, 0) + (noise_sd**2 / (noise_sd**2 + square)).sum(-1)) / d)


def posterior_errors(X: Float[ndarray, "... k d"], noise_sd: float) -> Float[ndarray, "... k+1"]:
    """``posterior_error`` after 0 .. k examples: C, at first I, loses C x x^T C / (x^T C x + noise_sd^2) with each x.

    Needs noise_sd > 0.
    """
    d = X.shape[-1]
    C = np.broadcast_to(np.eye(d), (*X.shape[:-2], d, d)).copy()
    traces = [np.einsum("...ii->...", C)]
    for x in np.moveaxis(X, -2, 0):
        Cx = np.einsum("...ij,...j->...i", C, x)
        predicted = np.einsum("...i,...i->...", x, Cx) + noise_sd**2
        C -= Cx[..., :, None] * (Cx / predicted[..., None])[..., None, :]
        traces.append(np.einsum("...ii->...", C))
    return np.stack(traces, -1) / d
