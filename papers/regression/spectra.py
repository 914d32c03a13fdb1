"""The covariances the experiments share, and the trained weights that belong to them."""

import numpy as np
import torch
from jaxtyping import Float

from icl_lib.seeds import stream
from papers.zhang.theory import optimum


def geometric_covariance(d: int, kappa: float, seed: int, name: str = "basis") -> Float[np.ndarray, "d d"]:
    """Return a covariance with eigenvalues in geometric progression, condition number kappa and trace d.

    Its eigenvectors are drawn from (seed, name), so that nothing rests on Lambda being diagonal.
    """
    eigenvalues = np.geomspace(1, 1 / kappa, d)
    basis = np.linalg.qr(standard_normal((d, d), seed, name))[0]
    covariance = (basis * (d / eigenvalues.sum() * eigenvalues)) @ basis.T
    return (covariance + covariance.T) / 2


def standard_normal(shape: tuple[int, ...], seed: int, name: str) -> np.ndarray:
    """Return float64 standard normals drawn from (seed, name)."""
    return torch.randn(shape, generator=stream(seed, name), dtype=torch.float64).numpy()


def stacked_limits(Lambda: Float[np.ndarray, "d d"], lengths: tuple[float, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (W_PV, W_KQ) of Theorem 4.1 for several training lengths, each (len(lengths), d+1, d+1)."""
    limits = (optimum.W_PV_limit, optimum.W_KQ_limit)
    W_PV, W_KQ = (torch.tensor(np.stack([limit(Lambda, N) for N in lengths])) for limit in limits)
    return W_PV, W_KQ
