"""Named weights, how they start, and how they are applied."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import normal
from icl_lib.typed import refuse

Weights = dict[str, Tensor]
"""Weights by name. Matrices are (rows, columns), names starting with W or E; biases start with b, gains with m.

Leading dimensions are the same for all weights of a part and meet those of the tokens.
"""


def start(shapes: dict[str, tuple[int, ...]], generator: torch.Generator, lead: tuple[int, ...], like: Tensor) -> Weights:
    """Draw weights: matrices from N(0, 1/columns), embeddings E from N(0, 1), biases from N(0, 0.01), gains from N(1, 0.01).

    Nothing starts at exactly 0 or 1, so that no term of a formula vanishes by accident. ``lead`` comes before each shape.
    """
    refuse(
        not all(name[:1] in ("W", "E", "b", "m") for name in shapes),
        f"the names {', '.join(shapes)} tell how weights start: begin each with W, E, b or m",
    )
    drawn = {}
    for name, shape in shapes.items():
        noise = normal(generator, (*lead, *shape), like)
        scale = {"W": shape[-1] ** -0.5, "E": 1.0, "b": 0.1, "m": 0.1}[name[0]]
        drawn[name] = scale * noise + (1.0 if name[0] == "m" else 0.0)
    return drawn


def unmet(weights: Weights, matrix: str, x: Float[Tensor, "... n"]) -> tuple[bool, str]:
    """Return whether a matrix cannot be applied to vectors of this length, and why: what ``refuse`` takes."""
    columns, entries = weights[matrix].shape[-1], x.shape[-1]
    return columns != entries, f"{matrix} has {columns} columns and is applied to vectors of {entries} entries: give as many"


def linear(weights: Weights, matrix: str, x: Float[Tensor, "... T n"], bias: str | None = None) -> Float[Tensor, "... T m"]:
    """Return W x + b for every token; leading dimensions of the weights meet those of the tokens.

    >>> import torch
    >>> from icl_lib.models.contextual.weights import linear
    >>> weights = {"W": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "b": torch.tensor([10.0, 20.0])}
    >>> linear(weights, "W", torch.tensor([[1.0, 1.0], [0.0, 1.0]]), "b").tolist()
    [[13.0, 27.0], [12.0, 24.0]]
    """
    refuse(*unmet(weights, matrix, x))
    y = torch.einsum("...mn,...tn->...tm", weights[matrix], x)
    return y if bias is None else y + weights[bias][..., None, :]
