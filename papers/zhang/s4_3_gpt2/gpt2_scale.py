"""zhang-gpt2-scale: what of a covariance scale hurts, inputs or labels, and whether a prompt's own size mends it."""

from dataclasses import dataclass

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, variable
from icl_lib.measure.estimate import mean
from icl_lib.models.gpt2 import InContextGPT2
from icl_lib.tasks.prompts import Prompts
from papers.regression.decoders import DecoderTraining, repeated
from papers.regression.trainings import FIXED, RANDOM
from papers.zhang.s4_3_gpt2.gpt2_prompts import by_covariance, common_dimension, draw, query_errors


@dataclass(frozen=True)
class Gpt2Scale(Declaration):
    """Models at their own length M = N on prompts of diag(Exp(1)), inputs and labels times 1 or sqrt(c).

    runs                   trainings of each model, of different seeds
    c                      scales of the covariance, 1 and 9 among them
    covariances, prompts   covariances, and prompts of each
    """

    fixed: Several[DecoderTraining]
    random: Several[DecoderTraining]
    runs: AtLeastTwo
    c: Several[Positive]
    covariances: AtLeastTwo
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        if [training.N for training in self.fixed] != [training.N for training in self.random]:
            raise ValueError("fixed and random models differ in N: take the same lengths")
        if not {1, 9} <= set(self.c):
            raise ValueError(f"scales {self.c}: take 1 and 9 among them")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error at the query, over that of predicting 0, with the same draws for all."""
        d = common_dimension(self.fixed + self.random)
        lengths = [training.N for training in self.fixed]
        draws = draw(self.covariances, self.prompts, max(lengths), d, seed)
        batch = draws.prompts("c = 1")
        rows = [(repeated(t, self.runs, seed, device), cut(batch, t.N)) for t in self.fixed + self.random]
        errors = torch.stack([torch.stack([self._errors(model, prompts) for model in models]) for models, prompts in rows])
        errors = errors.unflatten(0, (2, -1)).transpose(1, 2)
        risk = mean(by_covariance(errors, self.covariances))
        dims = "trained run N way c"
        data = {
            "risk": variable(dims, risk.value, "error over that of predicting 0"),
            "risk_se": variable(dims, risk.standard_error, "its standard error over covariances"),
        }
        coords = {"trained": ["fixed", "random"], "N": lengths, "way": list(WAYS), "c": list(self.c)}
        return xr.Dataset(data, coords=coords, attrs={"d": d})

    def _errors(self, model: InContextGPT2, batch: Prompts) -> Float[Tensor, "ways scales B"]:
        return torch.stack([torch.stack([error(model, batch, way, c) for c in self.c]) for way in WAYS])


def error(model: InContextGPT2, batch: Prompts, way: str, c: float) -> Float[Tensor, "B"]:
    """Return the squared errors over d and over the factor of the labels squared: predicting 0 then has a mean of 1."""
    inputs, labels, size = WAYS[way]
    factor = c ** (labels / 2)
    prompts = times(batch, torch.full_like(batch.x_query, c ** (inputs / 2)), torch.full_like(batch.y_query, factor))
    of_inputs, of_labels = size(prompts)
    return query_errors(model, times(prompts, 1 / of_inputs, 1 / of_labels)) * (of_labels / factor) ** 2


def times(prompts: Prompts, inputs: Float[Tensor, "B d"], labels: Float[Tensor, "B"]) -> Prompts:
    """Return prompts with the entries of all inputs and all labels multiplied, each prompt by its own factors."""
    x, y, x_query, y_query = prompts
    return Prompts(x * inputs[:, None], y * labels[:, None], x_query * inputs, y_query * labels)


def unit(prompts: Prompts) -> tuple[Float[Tensor, "B d"], Float[Tensor, "B"]]:
    """Return divisors of 1: the prompt stays as it is."""
    return torch.ones_like(prompts.x_query), torch.ones_like(prompts.y_query)


def own_size(prompts: Prompts) -> tuple[Float[Tensor, "B d"], Float[Tensor, "B"]]:
    """Return the root mean square of the entries of a prompt's examples, as divisor of inputs and of labels.

    With both divided w stays as it is, and the covariance has about the trace d whatever its scale was.
    """
    size = prompts.x.square().mean((-2, -1)).sqrt()
    return size[:, None].expand_as(prompts.x_query), size


def own_size_by_entry(prompts: Prompts) -> tuple[Float[Tensor, "B d"], Float[Tensor, "B"]]:
    """Return the root mean square of each entry over a prompt's examples for inputs, and of all entries for labels.

    The covariance then is about I, and the entries of w carry what the inputs lost: a covariate shift becomes a task shift.
    """
    squares = prompts.x.square().mean(-2)
    return squares.sqrt(), squares.mean(-1).sqrt()


WAYS = {
    "both scaled": (1, 1, unit),
    "inputs scaled": (1, 0, unit),
    "labels scaled": (0, 1, unit),
    "own size": (1, 1, own_size),
    "own size by entry": (1, 1, own_size_by_entry),
}
"""Powers of sqrt(c) on inputs and labels, and the size read off the scaled prompt by which both are divided again."""


def cut(prompts: Prompts, M: int) -> Prompts:
    """Return the prompts with their first M examples."""
    return prompts._replace(x=prompts.x[:, :M], y=prompts.y[:, :M])


ZHANG_GPT2_SCALE = Experiment(
    slug="zhang-gpt2-scale",
    title="Inputs, labels and a prompt's own size",
    quick=Gpt2Scale(FIXED, RANDOM, runs=3, c=(1.0, 9.0), covariances=40, prompts=1),
    full=Gpt2Scale(FIXED, RANDOM, runs=3, c=(1.0, 4.0, 9.0), covariances=64, prompts=64),
)
