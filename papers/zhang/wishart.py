"""A context of any length by its empirical covariance alone, drawn without its examples."""

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from scipy.special import gammaincinv
from torch import Tensor

from icl_lib.measure.estimate import Estimate, mean
from icl_lib.seeds import stream


def empirical_covariances(Lambda: Float[ndarray, "d d"], M: int, draws: int, seed: int, name: str) -> Float[Tensor, "B d d"]:
    """Draw Lambda_hat = (1/M) sum_i x_i x_i^T, x_i ~ N(0, Lambda), exactly, from d^2 + d numbers whatever M is.

    Bartlett: M Lambda_hat = C T T^T C^T with C C^T = Lambda and T lower triangular, T_ij ~ N(0, 1) below the diagonal
    and T_ii^2 ~ chi^2 with M + 1 - i degrees of freedom, i = 1 .. d, all independent. Needs M >= d.
    """
    d = len(Lambda)
    if d > M:
        raise ValueError(f"Bartlett's decomposition needs M >= d, not M={M} and d={d}: draw the examples instead")
    generator = stream(seed, name)
    below = torch.randn((draws, d, d), generator=generator, dtype=torch.float64).tril(-1)
    uniform = torch.rand((draws, d), generator=generator, dtype=torch.float64)
    chi_square = torch.tensor(2 * gammaincinv((M - np.arange(d)) / 2, uniform.numpy()))
    root = torch.einsum("ij,bjk->bik", torch.tensor(np.linalg.cholesky(Lambda)), below + chi_square.sqrt().diag_embed())
    return torch.einsum("bik,bjk->bij", root, root) / M


def risk_over_contexts(
    Lambda: Float[ndarray, "d d"], preconditioner: Float[ndarray, "d d"], contexts: Float[Tensor, "B d d"]
) -> Estimate:
    """Estimate E(y_hat - y_query)^2 of y_hat = x_query^T P Lambda_hat w over drawn contexts Lambda_hat.

    Given the context, the mean over w ~ N(0, I) and x_query ~ N(0, Lambda) is exact:
    tr[Lambda (P Lambda_hat - I)(P Lambda_hat - I)^T].
    """
    identity = torch.eye(len(Lambda), dtype=contexts.dtype)
    miss = torch.einsum("ij,bjk->bik", torch.tensor(preconditioner), contexts) - identity
    return mean(torch.einsum("bik,bik->b", torch.einsum("ij,bjk->bik", torch.tensor(Lambda), miss), miss))
