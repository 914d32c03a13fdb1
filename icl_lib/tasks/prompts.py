"""What a prompt is, and the Gaussian draws all distributions share."""

from itertools import zip_longest
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.typed import refuse


class Prompts(NamedTuple):
    """A batch of prompts P = (x_1, y_1, ..., x_M, y_M, x_query) with the label to predict.

    Leading dimensions (``...``) count prompts, or training replicates and prompts.
    """

    x: Float[Tensor, "... M d"]
    y: Float[Tensor, "... M"]
    x_query: Float[Tensor, "... d"]
    y_query: Float[Tensor, "..."]


def unread(prompts: Prompts) -> tuple[bool, str]:
    """Return whether no model can read the prompts, and why: what ``refuse`` takes."""
    x, y, x_query = parts = prompts.x, prompts.y, prompts.x_query
    if not (all(isinstance(each, Tensor) for each in parts) and x.is_floating_point()):
        found = ", ".join(f"{type(each).__name__} {getattr(each, 'dtype', '')}" for each in parts)
        return True, f"x, y and x_query are {found}: give tensors, x of floats"
    if x.ndim < 2:
        return True, f"x has shape {tuple(x.shape)}: give examples and entries, (..., M, d), as x[:, None] does for d = 1"
    if len({each.dtype for each in parts}) > 1:
        return True, f"x, y and x_query are {x.dtype}, {y.dtype} and {x_query.dtype}: give all three in one, as x.to(y) does"
    if y.shape[-1:] != x.shape[-2:-1]:
        return True, f"{x.shape[-2]} inputs and labels of shape {tuple(y.shape)}: give one label for each, y of shape (..., M)"
    if x_query.shape[-1:] != x.shape[-1:]:
        return True, f"inputs of {x.shape[-1]} entries and queries of shape {tuple(x_query.shape)}: give x_query as (..., d)"
    leads = [tuple(each) for each in (x.shape[:-2], y.shape[:-1], x_query.shape[:-1])]
    apart = any(len({*sizes} - {1}) > 1 for sizes in zip_longest(*(lead[::-1] for lead in leads), fillvalue=1))
    return apart, f"x, y and x_query are of {leads[0]}, {leads[1]} and {leads[2]} prompts: give as many"


def undrawn(shape: object, length: object, covariance: Tensor, **vectors: Tensor) -> tuple[bool, str]:
    """Return whether no prompts can be drawn so, and why: what ``refuse`` takes. ``vectors`` are to be met by inputs."""
    if not isinstance(shape, tuple | list) or not all(hasattr(each, "__index__") and each >= 0 for each in shape):
        return True, f"shape is {shape!r}: give a tuple, such as (1000,) for a thousand prompts"
    if not hasattr(length, "__index__") or length < 0:
        return True, f"prompts of {length} examples: draw 0 or more, a whole number"
    for name, found in vectors.items():
        if not isinstance(found, Tensor):
            return True, f"{name} is a {type(found).__name__}: give a tensor, as torch.tensor({name}) makes it"
        if found.shape != covariance.shape[:1] or found.dtype != covariance.dtype:
            told = f"{name} of shape {tuple(found.shape)} in {found.dtype}"
            return True, f"{told}: give ({len(covariance)},) in {covariance.dtype}"
    return False, ""


def covariance_root(covariance: Tensor) -> Float[Tensor, "d d"]:
    """Return the symmetric root of a positive semi-definite covariance, or raise ValueError when it is none.

    Each pair of entries has to agree to 1e-10 of its own size: symmetrise a computed matrix. In float32 a singular one may be
    refused for its rounding: take float64.
    """
    refuse(
        not (isinstance(covariance, Tensor) and covariance.is_floating_point() and bool(covariance.isfinite().all())),
        f"a covariance is {type(covariance).__name__} {getattr(covariance, 'dtype', '')}: give a tensor of finite floats",
    )
    refuse(not covariance.numel(), f"a covariance has shape {tuple(covariance.shape)}: give (d, d), d of 1 or more")
    refuse(covariance.dtype.itemsize < 4, f"a covariance in {covariance.dtype} has no root in torch: give float32 or float64")
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
    refuse(
        not isinstance(generator, torch.Generator),
        f"the generator is {type(generator).__name__}: give one of torch, such as stream(0, 'data')",
    )
    refuse(
        not (isinstance(like, Tensor) and like.is_floating_point()),
        f"numbers are drawn like {type(like).__name__} {getattr(like, 'dtype', '')}: give a tensor of floats",
    )
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
    refuse(not prompts.y_query.ndim, "a single prompt is on no axis for its pair: give a batch, x of shape (B, M, d)")
    refuse(
        not prompts.x.shape[:-2] == prompts.y.shape[:-1] == prompts.x_query.shape[:-1] == prompts.y_query.shape,
        f"a batch has shapes {', '.join(str(tuple(each.shape)) for each in prompts)}: expand what prompts share",
    )
    x, y, x_query, y_query = prompts
    prompt_axis = x_query.ndim - 2
    return Prompts(
        torch.cat([x, x], prompt_axis),
        torch.cat([y, -y], prompt_axis),
        torch.cat([x_query, x_query], prompt_axis),
        torch.cat([y_query, -y_query], prompt_axis),
    )
