"""The test prompts of the GPT-2 experiments of section 4.3: some covariances, and some prompts of each."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.measure.estimate import Estimate, ratio_of_means
from icl_lib.models.gpt2 import InContextGPT2
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, normal
from papers.regression.decoders import DecoderTraining
from papers.regression.prompts import label

TESTS = {"covariance I": None, "c = 1": 1.0, "c = 4": 4.0, "c = 9": 9.0}
"""The four test distributions of Figure 1: the identity, and c diag(Exp(1)); c scales the covariance."""
CHUNK = 128
"""Prompts evaluated at a time."""


class Draws(NamedTuple):
    """What the test distributions share: G covariances with P prompts each, inputs before they are scaled, in float64."""

    z: Float[Tensor, "G P L d"]
    """Standard normal inputs, the query last."""
    w: Float[Tensor, "G P d"]
    variances: Float[Tensor, "G d"]
    """Independent Exp(1)."""

    def prompts(self, test: str) -> Prompts:
        """Return the G * P prompts of one of ``TESTS``, covariance after covariance: every test has the same z and w."""
        c = TESTS[test]
        deviations = torch.ones_like(self.variances) if c is None else (c * self.variances).sqrt()
        x = (self.z * deviations[:, None, None]).flatten(0, 1)
        return label(x[:, :-1], x[:, -1], self.w.flatten(0, 1))


def draw(covariances: int, prompts: int, longest: int, d: int, seed: int) -> Draws:
    """Draw ``prompts`` prompts of ``longest`` examples for each covariance, on the CPU."""
    generator = stream(seed, "gpt2/test")
    variances = torch.empty((covariances, d), dtype=torch.float64).exponential_(generator=generator)
    w = normal(generator, (covariances, prompts, d), variances)
    return Draws(normal(generator, (covariances, prompts, longest + 1, d), variances), w, variances)


def placed(model: InContextGPT2, device: str) -> InContextGPT2:
    """Return a model whose weights are on the device; it takes prompts from the CPU."""
    return InContextGPT2(model.decoder, {name: weight.to(device) for name, weight in model.weights.items()})


def prefix_errors(model: InContextGPT2, prompts: Prompts) -> Float[Tensor, "B P"]:
    """Return the squared error of one model after 0 .. M examples, over d: that at x_{i+1} after i, the query last."""
    targets = torch.cat([prompts.y, prompts.y_query[..., None]], -1)
    found = torch.cat([model.prefixes(part)[0].to(targets) for part in _chunks(prompts)])
    return (found - targets).square() / prompts.x.shape[-1]


def query_errors(model: InContextGPT2, prompts: Prompts) -> Float[Tensor, "B"]:
    """Return the squared error of one model at the query, over d."""
    found = torch.cat([model(part)[0] for part in _chunks(prompts)])
    return (found - prompts.y_query).square() / prompts.x.shape[-1]


def by_covariance(errors: Float[Tensor, "... B"], covariances: int) -> Float[Tensor, "... G"]:
    """Return the mean over the prompts of each covariance: the units that are independent under a random covariance."""
    return errors.unflatten(-1, (covariances, -1)).mean(-1)


def jump(errors: Float[Tensor, "... P B"], N: int, covariances: int) -> Estimate:
    """Return the error just above N, the mean over N < M <= 1.2 N (N + 1 at least), over that at N; paired by covariance."""
    above, at = errors[..., N + 1 : max(N + 1, 6 * N // 5) + 1, :].mean(-2), errors[..., N, :]
    return ratio_of_means(by_covariance(above, covariances), by_covariance(at, covariances))


def common_dimension(trainings: tuple[DecoderTraining, ...]) -> int:
    """Return the d of all trainings; raises ValueError when they differ, for they are tested on the same prompts."""
    found = {training.d for training in trainings}
    if len(found) != 1:
        raise ValueError(f"the models are trained for d = {sorted(found)}: take models of one d")
    return found.pop()


def _chunks(prompts: Prompts) -> list[Prompts]:
    return [Prompts(*parts) for parts in zip(*(part.split(CHUNK) for part in prompts), strict=True)]
