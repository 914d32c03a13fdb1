"""dherin-plateau: where the training of one block ends, beside least squares and one step of gradient descent."""

from dataclasses import dataclass

import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion.declaration import AtLeastTwo, Declaration
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.models.baselines import MinimumNormOLS, OneGradientStep
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.dherin.theory.agreement import best_step, best_step_risk
from papers.dherin.trained import Training, predictions, regression, start, trained
from papers.dherin.trainings import ONE_BLOCK


@dataclass(frozen=True)
class Plateau(Declaration):
    """Shipped networks of one block on ``tasks`` fresh prompts each, of the length they were trained on."""

    training: Training
    tasks: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Predict in every way on the same prompts."""
        N, d, networks = self.training.N, self.training.model.d, trained(self.training, seed, device)
        untrained = start(self.training, seed, "cpu")
        prompts = regression(d).sample(stream(seed, "held-out"), (self.training.replicates, self.tasks), N)
        step = OneGradientStep(best_step(N, d))(prompts)
        half = OneGradientStep(best_step(N, d) / 2)(prompts)
        each = [Prompts(*(part[s] for part in prompts)) for s in range(self.training.replicates)]
        block, raw = (
            torch.stack([predictions(networks.network, {k: w[s].double() for k, w in weights.items()}, each[s])
                         for s in range(self.training.replicates)])
            for weights in (networks.weights, untrained)
        )  # fmt: skip
        y, ols = prompts.y_query, MinimumNormOLS()(prompts)
        columns = {
            "loss": (_error(block, y), "mean squared error of the trained block"),
            "loss_ols": (_error(ols, y), "mean squared error of least squares"),
            "loss_step": (_error(step, y), "mean squared error of one gradient step of the best size"),
            "loss_half_step": (_error(half, y), "mean squared error of one gradient step of half that size"),
            "loss_untrained": (_error(raw, y), "mean squared error of the block before training"),
            "loss_zero": (y.square().mean(-1), "mean squared error of the prediction 0"),
            "distance": (_error(block, step), "mean squared distance of the block's predictions to the step's"),
            "alike": (_correlation(block - y, step - y), "correlation of the block's errors with the step's"),
            "alike_shuffled": (_correlation(block - y, (step - y).roll(1, -1)), "the same, errors of different prompts"),
        }
        return xr.Dataset({name: variable("seed", values.numpy(), text) for name, (values, text) in columns.items()})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error of the best step by its formula beside it."""
        N, d = self.training.N, self.training.model.d
        return dataset.assign(
            loss_step_theory=variable((), best_step_risk(N, d), "d (d + 1)/(N + d + 1)"),
            loss_step_near=variable((), best_step_risk(N, d) * d / (d + 1), "d^2/(N + d + 1)"),
        )


def _error(found: Tensor, expected: Tensor) -> Tensor:
    return (found - expected).square().mean(-1)


def _correlation(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).mean(-1) / (one.square().mean(-1) * other.square().mean(-1)).sqrt()


PLATEAU = Experiment(
    slug="dherin-plateau", title="Where the training ends",
    quick=Plateau(training=ONE_BLOCK, tasks=4000), full=Plateau(training=ONE_BLOCK, tasks=20000),
)  # fmt: skip
