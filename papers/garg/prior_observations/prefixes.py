"""Errors after every number of examples: example k + 1 of a prompt is the query of its first k, the query the last."""

from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts


def inputs(prompts: Prompts) -> Float[Tensor, "... P d"]:
    """Return the inputs of all P = M + 1 examples, the query's last."""
    return torch.cat([prompts.x, prompts.x_query[..., None, :]], -2)


def labels(prompts: Prompts) -> Float[Tensor, "... P"]:
    """Return the labels of all P = M + 1 examples, the query's last."""
    return torch.cat([prompts.y, prompts.y_query[..., None]], -1)


def first(prompts: Prompts, k: int) -> Prompts:
    """Return the first k examples with the one that follows them as the query; raises ValueError beyond the query."""
    x, y = inputs(prompts), labels(prompts)
    if not 0 <= k < y.shape[-1]:
        raise ValueError(f"{k} examples of a prompt of {y.shape[-1] - 1}: take 0 <= k <= {y.shape[-1] - 1}")
    return Prompts(x[..., :k, :], y[..., :k], x[..., k, :], y[..., k])


def by_length(predictor: Callable[[Prompts], Tensor], prompts: Prompts, lengths: Iterable[int]) -> Float[Tensor, "... K"]:
    """Return a predictor's predictions after each number of examples; without examples it predicts 0, as Garg et al. do."""
    cut = [first(prompts, k) for k in lengths]
    return torch.stack([predictor(part) if part.x.shape[-2] else torch.zeros_like(part.y_query) for part in cut], -1)
