"""What a prompt is, and the Gaussian draws all distributions share."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

UNPAIRED = "{} inputs and labels of shape {}: give one label for each, y of shape (..., M)"
"""What ``refuse`` says of a prompt that has not one label for each input."""


class Prompts(NamedTuple):
    """A batch of prompts P = (x_1, y_1, ..., x_M, y_M, x_query) with the label to predict.

    Leading dimensions (``...``) count prompts, or training replicates and prompts.
    """

    x: Float[Tensor, "... M d"]
    y: Float[Tensor, "... M"]
    x_query: Float[Tensor, "... d"]
    y_query: Float[Tensor, "..."]


def covariance_root(covariance: Tensor) -> Float[Tensor, "d d"]:
    """Return the symmetric root of a positive semi-definite covariance, or raise ValueError when it is none.

    Each pair of entries has to agree to 1e-10 of its own size: symmetrise a computed matrix.
    """
    if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1]:
        raise ValueError(f"a covariance must be a square matrix, not of shape {tuple(covariance.shape)}")
    if not torch.allclose(covariance, covariance.mT, rtol=1e-10, atol=0.0):
        raise ValueError("a covariance must be symmetric: symmetrise the matrix before drawing from it")
    eigenvalues, basis = torch.linalg.eigh(covariance)
    if eigenvalues[0] < -1e-12 * eigenvalues[-1].abs():
        raise ValueError(f"a covariance must be positive semi-definite; its smallest eigenvalue is {eigenvalues[0]:.3g}")
    return torch.einsum("ik,k,jk->ij", basis, eigenvalues.clamp(min=0).sqrt(), basis)


def normal(generator: torch.Generator, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Draw independent standard normals with the dtype of ``like``, on the generator's device."""
    return torch.randn(shape, generator=generator, dtype=like.dtype, device=generator.device)


def gaussian(generator: torch.Generator, shape: tuple[int, ...], covariance: Float[Tensor, "d d"]) -> Tensor:
    """Draw ``shape`` vectors from N(0, covariance), (*shape, d), in its dtype; raises as ``covariance_root`` does."""
    root = covariance_root(covariance).to(generator.device)
    return normal(generator, (*shape, len(covariance)), covariance) @ root


def antithetic(prompts: Prompts) -> Prompts:
    """Return the prompts followed by the same prompts with w replaced by -w (all labels negated).

    The pair cancels every term of the gradient that is odd in w, for each x exactly.

    >>> import torch
    >>> from icl_lib.tasks.prompts import Prompts, antithetic
    >>> x, w = torch.eye(2)[None], torch.tensor([2.0, -1.0])
    >>> pair = antithetic(Prompts(x, x @ w, x[:, 0], x[:, 0] @ w))
    >>> pair.x_query.tolist(), pair.y.tolist(), pair.y_query.tolist()
    ([[1.0, 0.0], [1.0, 0.0]], [[2.0, -1.0], [-2.0, 1.0]], [2.0, -2.0])
    """
    x, y, x_query, y_query = prompts
    prompt_axis = x_query.ndim - 2
    return Prompts(
        torch.cat([x, x], prompt_axis),
        torch.cat([y, -y], prompt_axis),
        torch.cat([x_query, x_query], prompt_axis),
        torch.cat([y_query, -y_query], prompt_axis),
    )
