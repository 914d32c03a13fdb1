"""dherin-plateau: where the training of one block ends, beside least squares and one step of gradient descent."""

import itertools
from dataclasses import dataclass

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, near_misses, variable
from icl_lib.models.baselines import MinimumNormOLS, OneGradientStep
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, normal
from papers.dherin.theory.agreement import best_step, best_step_risk, step_risk
from papers.dherin.trained import Training, predictions, regression, trained, untrained
from papers.dherin.trainings import ONE_BLOCK


@dataclass(frozen=True)
class Plateau(Declaration):
    """Shipped networks of one block on ``tasks`` fresh prompts each, of the length they were trained on.

    tasks      fresh prompts of a network
    contexts   for the error of one gradient step, whose mean over tasks and queries is taken exactly for each of them
    shapes     other (N, d) at which the error of that step is measured, too
    """

    training: Training
    tasks: AtLeastTwo
    contexts: AtLeastTwo
    shapes: Several[tuple[Count, Count]]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Predict in every way on the same prompts."""
        N, d = self.training.N, self.training.model.d
        prompts = regression(d).sample(stream(seed, "held-out"), (self.training.replicates, self.tasks), N)
        step = OneGradientStep(best_step(N, d))(prompts)
        short = OneGradientStep(0.8 * best_step(N, d))(prompts)
        each = [Prompts(*(part[s] for part in prompts)) for s in range(self.training.replicates)]
        block, raw = (
            torch.stack([predictions(networks.network, networks.replicate(s), one) for s, one in enumerate(each)])
            for networks in (trained(self.training, seed, device), untrained(self.training, seed))
        )
        y, ols = prompts.y_query, MinimumNormOLS()(prompts)
        columns = {
            "loss": (_error(block, y), "mean squared error of the trained block"),
            "loss_ols": (_error(ols, y), "mean squared error of least squares"),
            "loss_step": (_error(step, y), "mean squared error of one gradient step of the best size"),
            "loss_short_step": (_error(short, y), "mean squared error of one gradient step of 0.8 of that size"),
            "loss_untrained": (_error(raw, y), "mean squared error of the block before training"),
            "loss_zero": (y.square().mean(-1), "mean squared error of the prediction 0"),
            "distance": (_error(block, step), "mean squared distance of the block's predictions to the step's"),
            "alike": (_correlation(block - y, step - y), "correlation of the block's errors with the step's"),
            "alike_shuffled": (_correlation(block - y, (step - y).roll(1, -1)), "the same, errors of different prompts"),
        }
        found = xr.Dataset({name: variable("seed", values.numpy(), text) for name, (values, text) in columns.items()})
        each = torch.stack([self.one_step(seed, N, d) for N, d in self.measured])
        text = "error of one gradient step of the best size, mean over tasks and queries exact, over contexts sampled"
        error = variable("shape", (each.std(-1) / self.contexts**0.5).numpy(), "standard error")
        error.attrs["blocks"] = self.contexts
        return found.assign(step_risk=variable("shape", each.mean(-1).numpy(), text), step_risk_se=error)

    @property
    def measured(self) -> tuple[tuple[int, int], ...]:
        """The (N, d) at which the error of one gradient step is measured, that of the training first."""
        return (self.training.N, self.training.model.d), *self.shapes

    def one_step(self, seed: int, N: int, d: int) -> Float[Tensor, "C"]:
        """Return the step's error for each context: it is linear in w and in the query, so unit vectors give its mean."""
        unit, found, step = torch.eye(d, dtype=torch.float64), 0, OneGradientStep(best_step(N, d))
        x = normal(stream(seed, f"one step/N={N}, d={d}"), (self.contexts, N, d), unit)
        for w, query in itertools.product(unit, unit):
            asked = query.expand(self.contexts, d)
            prompts = Prompts(x, x @ w, asked, asked @ w)
            found = found + (step(prompts) - prompts.y_query).square()
        return found

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error of the best step by its formula beside it, and near misses."""
        found = [best_step_risk(N, d) for N, d in self.measured]
        near = {label: [wrong(N, d) for N, d in self.measured] for label, wrong in MISTAKES.items()}
        return dataset.assign(
            step_risk_theory=variable("shape", found, "d (d + 1)/(N + d + 1)"),
            step_risk_near=near_misses("shape", near),
        ).assign_coords(shape=[f"N = {N}, d = {d}" for N, d in self.measured])


MISTAKES = {
    "N + d for N + d + 1": lambda N, d: d * (d + 1) / (N + d),
    "N for N + d + 1": lambda N, d: step_risk(N, d, 1.0),
    "d² for d(d + 1)": lambda N, d: d**2 / (N + d + 1),
    "3d/(N + 3)": lambda N, d: 3 * d / (N + 3),
    "N + 3 for N + d + 1": lambda N, d: d * (d + 1) / (N + 3),
    "d² + 2 for d(d + 1)": lambda N, d: (d**2 + 2) / (N + d + 1),
}
"""Near misses of the error of one gradient step; the last three are equal to it at d = 2."""


def _error(found: Tensor, expected: Tensor) -> Tensor:
    return (found - expected).square().mean(-1)


def _correlation(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).mean(-1) / (one.square().mean(-1) * other.square().mean(-1)).sqrt()


PLATEAU = Experiment(
    slug="dherin-plateau",
    title="Where the training ends",
    quick=Plateau(training=ONE_BLOCK, tasks=4000, contexts=100_000, shapes=((20, 5),)),
    full=Plateau(training=ONE_BLOCK, tasks=20000, contexts=400_000, shapes=((20, 5), (6, 3))),
)
