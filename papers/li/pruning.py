"""Magnitude pruning of the neurons, the rows of W_O (Li et al., section 3.4)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def small_neurons(W_O: Float[Tensor, "... m n"], threshold: float = 0.5) -> Bool[Tensor, "... m"]:
    """Say which rows are shorter than ``threshold`` times the longest row of their model."""
    norms = W_O.norm(dim=-1)
    return norms < threshold * norms.amax(-1, keepdim=True)


def largest_first(W_O: Float[Tensor, "... m n"], fraction: float) -> Bool[Tensor, "... m"]:
    """Mark ``fraction`` of the large neurons, the longest rows first; counts are rounded to the nearest neuron."""
    return _first_of_large(W_O, W_O.norm(dim=-1), fraction)


def random_large(generator: torch.Generator, W_O: Float[Tensor, "... m n"], fraction: float) -> Bool[Tensor, "... m"]:
    """Mark ``fraction`` of the large neurons, chosen at random; equal generators give nested choices."""
    priority = torch.rand(W_O.shape[:-1], generator=generator, dtype=torch.float64, device=W_O.device)
    return _first_of_large(W_O, priority, fraction)


def prune(W_O: Float[Tensor, "... m n"], neurons: Bool[Tensor, "... m"]) -> Float[Tensor, "... m n"]:
    """Delete the marked rows: a row of zeros gives nothing, as a row that is not there."""
    return W_O.masked_fill(neurons[..., None], 0.0)


def _first_of_large(W_O: Tensor, priority: Tensor, fraction: float) -> Bool[Tensor, "... m"]:
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction = {fraction}: it is a share of the large neurons, so 0 <= fraction <= 1")
    large = ~small_neurons(W_O)
    count = (fraction * large.sum(-1, keepdim=True).double()).round()
    rank = priority.masked_fill(~large, -1.0).argsort(-1, descending=True).argsort(-1)
    return large & (rank < count)
