"""Error, hinge loss and attention of classifiers on pattern prompts (Li et al.)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from icl_lib.seeds import stream
from papers.li.patterns import Codes, PatternClassification

CHUNK_TOKENS = 400_000
"""Tokens drawn at a time: four numbers of 8 bytes each, 13 MB."""


class Readings(NamedTuple):
    """What models give on fresh prompts: margins z F, and the attention on the query's pattern, NaN where it is absent."""

    margin: Float[Tensor, "... B"]
    mass: Float[Tensor, "... B"]


def read(
    model, law: PatternClassification, *, prompts: int, length: int, lead: tuple[int, ...], seed: int, name: str
) -> Readings:
    """Run models, as functions of codes, on ``prompts`` fresh prompts each.

    ``lead`` is the shape of the models' leading dimensions, (S,) or (S, D); every model meets prompts of its own.
    ``name`` is the role of the draws.
    """
    generator = stream(seed, name)
    models = torch.Size(lead).numel()
    size = max(1, CHUNK_TOKENS // (models * (length + 1)))
    found = []
    for begin in range(0, prompts, size):
        codes = law.codes(generator, (*lead, min(size, prompts - begin)), length)
        attention = model.attention(codes)
        found.append((codes.y[..., -1] * model.output(codes, attention), attention_mass(attention, codes)))
    return Readings(*(torch.cat(parts, -1) for parts in zip(*found, strict=True)))


def same_pattern(codes: Codes) -> Bool[Tensor, "... l"]:
    """Say which contexts carry the query's pattern."""
    return codes.pattern[..., :-1] == codes.pattern[..., -1:]


def attention_mass(attention: Float[Tensor, "... l"], codes: Codes) -> Float[Tensor, "..."]:
    """Return the sum of attn_i over the contexts with the query's pattern; NaN where no context has it."""
    same = same_pattern(codes)
    return (attention * same).sum(-1).masked_fill(~same.any(-1), torch.nan)


def wrong(margin: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return the 0-1 loss: 1 where z F < 0, and 1/2 where F = 0, the coin that a silent network has to flip."""
    return (margin < 0).to(margin.dtype) + 0.5 * (margin == 0)


def hinge(margin: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return max{0, 1 - z F}."""
    return (1 - margin).relu()
