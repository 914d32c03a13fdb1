"""Trained models on fresh prompts, in and out of domain."""

from dataclasses import replace
from typing import NamedTuple

import torch
from numpy import ndarray
from torch import Tensor

from icl_lib.seeds import stream
from papers.li.classification import Readings, hinge, read, wrong
from papers.li.patterns import Patterns, combined_patterns, rescaled_patterns, rotated_patterns
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.task_sets import task_set
from papers.li.trained import Trained


def in_domain(trained: Trained, tasks: Tensor, *, alpha: float, length: int, prompts: int, seed: int, name: str) -> Readings:
    """Run the S models on prompts over the training patterns; readings (S, prompts)."""
    law = trained.setting.law(tasks, alpha)
    lead = (len(trained.parameters["W_O"]),)
    return read(trained.model().on(law.patterns), law, prompts=prompts, length=length, lead=lead, seed=seed, name=name)


def combined(trained: Trained, S_1: float, *, count: int, distractors: int, draws: int, seed: int, name: str) -> Patterns:
    """Draw ``draws`` sets of ODR and ODI patterns for each of the S models, convention "fixed norm"; (S, draws, ...)."""
    generator, own = stream(seed, name), trained.setting.patterns()
    S = len(trained.parameters["W_O"])
    relevant = combined_patterns(generator, own.relevant, count, S_1, S * draws)
    irrelevant = rotated_patterns(generator, own.irrelevant, distractors, S * draws)
    return Patterns(*(rows.reshape(S, draws, *rows.shape[1:]) for rows in (relevant, irrelevant)))


def rescaled(trained: Trained, S_1: float) -> Patterns:
    """Return the training patterns with the relevant ones times S_1, convention "rescaling"; (1, 1, ...)."""
    own = trained.setting.patterns()
    return Patterns(rescaled_patterns(own.relevant, S_1)[None, None], own.irrelevant[None, None])


def out_of_domain(
    trained: Trained, patterns: Patterns, *, alpha: float, length: int, prompts: int, seed: int, name: str
) -> Readings:
    """Run the S models on all tasks over other patterns (S or 1, draws, ...); readings (S, draws, prompts)."""
    law = trained.setting.law(task_set("all", patterns.relevant.shape[-2]), alpha, patterns)
    lead = torch.broadcast_shapes((len(trained.parameters["W_O"]), 1), patterns.relevant.shape[:2])
    model = beside_draws(trained.model()).on(patterns)
    return read(model, law, prompts=prompts, length=length, lead=tuple(lead), seed=seed, name=name)


def beside_draws(model: SoftmaxAttentionMLP) -> SoftmaxAttentionMLP:
    """Return the model with a dimension of size 1 after its replicates, to meet several draws of patterns."""
    return replace(model, **{name: getattr(model, name)[:, None] for name in ("W_Q", "W_K", "W_V", "W_O")})


class Means(NamedTuple):
    """Means of readings over draws and prompts, one number a model."""

    error: ndarray
    hinge: ndarray
    margin: ndarray
    mass: ndarray


def means(readings: Readings) -> Means:
    """Average over all dimensions but the first."""
    margin, mass = readings.margin.flatten(1), readings.mass.flatten(1)
    columns = (wrong(margin).mean(-1), hinge(margin).mean(-1), margin.mean(-1), mass.nanmean(-1))
    return Means(*(column.numpy() for column in columns))
