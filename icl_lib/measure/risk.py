"""The squared error of models on fresh prompts."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.measure.estimate import Estimate, mean
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.typed import refuse

CHUNK_EXAMPLES = 40_000
"""Examples drawn at a time: a chunk of prompts then fits the cache (1.6 MB at d = 5, float64)."""


def chunks(prompts: int, length: int) -> list[int]:
    """Return how many prompts of ``length`` examples to draw at a time, ``prompts`` in all."""
    refuse(not isinstance(prompts, int) or prompts < 1, f"{prompts!r} prompts: draw at least one, a whole number of Python")
    refuse(not isinstance(length, int) or length < 1, f"a prompt counts as {length!r} examples: take at least one")
    size = max(1, CHUNK_EXAMPLES // length)
    return [size] * (prompts // size) + [prompts % size] * (prompts % size > 0)


def squared_errors(
    model: Callable[[Prompts], Tensor], law, *, prompts: int, length: int, seed: int, name: str
) -> Float[Tensor, "... B"]:
    """Return (y_hat - y_query)^2 on ``prompts`` fresh prompts of ``length`` examples, drawn on the CPU in the law's dtype.

    The model gives one number a prompt, (B,); with weights (S, d+1, d+1) it is S models, (S, B), measured on the same prompts
    at once. ``name`` is the role of the draws: equal (seed, name, law, prompts, length) give equal prompts, so that models can
    be compared in pairs.
    """
    refuse(not isinstance(length, int) or length < 0, f"prompts of {length!r} examples: draw 0 or more, Python's whole number")
    generator = stream(seed, name)
    errors = []
    for size in chunks(prompts, length + 1):
        batch = law.sample(generator, (size,), length)
        refuse(batch.y_query.shape != (size,), f"y_query has shape {tuple(batch.y_query.shape)}: draw one label a prompt, (B,)")
        errors.append((model(batch) - batch.y_query) ** 2)
        refuse(
            size in errors[-1].shape[:-1] and model(batch).shape[-1:] != (size,),
            f"a model gives no (..., {size}) for {size} prompts: take the last axis off, y_hat[..., 0]",
        )
    return torch.cat(errors, dim=-1)


def risk(model, law, *, prompts: int, length: int, seed: int, name: str) -> Estimate:
    """Estimate E(y_hat - y_query)^2 of a model under a prompt distribution (see ``squared_errors``).

    Without noise, least squares over M examples miss what w is in d - M of d dimensions, which costs d - M on average:

    >>> import torch
    >>> from icl_lib.measure.risk import risk
    >>> from icl_lib.models.baselines import MinimumNormOLS
    >>> from icl_lib.tasks.regression import LinearRegression
    >>> law = LinearRegression(torch.eye(4, dtype=torch.float64))
    >>> [round(float(risk(MinimumNormOLS(), law, prompts=9000, length=M, seed=0, name="test").value)) for M in (1, 2, 4)]
    [3, 2, 0]
    """
    return mean(squared_errors(model, law, prompts=prompts, length=length, seed=seed, name=name))
