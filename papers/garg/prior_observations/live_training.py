"""garg-live-training: very small decoders trained here and now, with and without the curriculum of Garg et al."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.models.gpt2 import InContextGPT2
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from papers.garg.prior_observations.prefixes import labels
from papers.garg.prior_observations.regression import lsa_errors
from papers.regression.curriculum import Ramp
from papers.regression.decoders import DecoderTraining
from papers.regression.theory.least_squares import least_squares_error


@dataclass(frozen=True)
class LiveTraining(Declaration):
    """Trainings that differ in their curriculum alone; losses in windows of ``window`` steps, errors on fresh prompts.

    window   steps of training over which a loss is averaged; prompts: fresh prompts for the errors of all models
    Shared stream: weights: the initial weights again, whose error is told beside that of the trained ones.
    """

    trainings: Several[DecoderTraining]
    window: Count
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        first = self.trainings[0]
        if any(training.law != "fixed" for training in self.trainings):
            raise ValueError("the lines of the figure are those of covariance I: take trainings with law='fixed'")
        if any(replace(training, dims=first.dims, points=first.points) != first for training in self.trainings):
            raise ValueError("trainings differ in more than the curriculum: change dims and points alone")
        if first.steps % self.window:
            raise ValueError(f"windows of {self.window} steps do not divide {first.steps}: take a divisor")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train, then measure the error / d after 0 .. N examples, before and after the training."""
        cells = [self._train(training, seed, device) for training in self.trainings]
        columns = {key: np.stack([cell[key] for cell in cells]) for key in NAMES}
        data = {key: variable(f"curriculum {dims}", columns[key], text, "y^2") for key, (dims, text) in NAMES.items()}
        first = self.trainings[0]
        steps = np.arange(self.window, first.steps + 1, self.window)
        coords = {"curriculum": [curriculum(one) for one in self.trainings], "step": steps, "k": np.arange(first.N + 1)}
        return xr.Dataset(data, coords=coords, attrs={"d": first.d, "N": first.N})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the errors of LSA and of least squares after 0 .. N examples beside it."""
        d, N = self.trainings[0].d, self.trainings[0].N
        least_squares = [least_squares_error(d, k, 0.0) for k in range(N + 1)]
        return dataset.assign(
            {
                "lsa": variable("k", lsa_errors(d, N, N), "error / d of LSA trained at N, closed form", "y^2"),
                "least_squares": variable("k", least_squares, "error / d of least squares, closed form", "y^2"),
            }
        )

    def _train(self, training: DecoderTraining, seed: int, device: str) -> dict[str, np.ndarray]:
        decoder, law = training.decoder(), LinearRegression(torch.eye(training.d, dtype=torch.float64))
        prompts = law.sample(stream(seed, "garg-live-training"), (self.prompts,), training.N)
        found = training.run(seed, device)
        start = decoder.start(stream(seed, "weights", device), training.replicates, torch.zeros(()))
        after, before = (risk(InContextGPT2(decoder, weights), prompts) for weights in (found.parameters, start))
        loss = found.losses.cpu().double().reshape(-1, self.window, training.replicates).mean(1) / training.d
        return {"loss": loss.numpy(), "risk": after.value, "risk_se": after.standard_error, "risk_start": before.value}


def risk(model: InContextGPT2, prompts: Prompts) -> Estimate:
    """Return the error / d (model, k) after each number of examples, over prompts."""
    return mean((model.prefixes(prompts).cpu() - labels(prompts)).square().movedim(-2, -1) / prompts.x.shape[-1])


def curriculum(training: DecoderTraining) -> str:
    """Return whether a training has a curriculum, in a word."""
    return "with" if any(ramp.start < ramp.end for ramp in (training.dims, training.points)) else "without"


NAMES = {
    "loss": ("step seed", "training loss / d, mean of a window of steps up to here"),
    "risk": ("seed k", "error / d on fresh prompts after the training"),
    "risk_se": ("seed k", "standard error"),
    "risk_start": ("seed k", "error / d on fresh prompts before the training"),
}
"""Measured quantities: dimensions beside curriculum, and what they are; ``seed`` counts replicates."""

_QUICK = DecoderTraining(
    "",
    layers=2,
    heads=4,
    width=16,
    d=1,
    N=4,
    law="fixed",
    sparsity=1,
    room=5,
    dims=Ramp(1, 1, 1, 1),
    points=Ramp(5, 5, 1, 1),
    B=64,
    rate=1e-2,
    steps=600,
    replicates=3,
)
_FULL = replace(_QUICK, points=Ramp(2, 5, 1, 100), steps=1_500, replicates=16)
LIVE_TRAINING = Experiment(
    slug="garg-live-training",
    title="A decoder trained here and now",
    section="training",
    quick=LiveTraining(trainings=(_QUICK,), window=20, prompts=2_000),
    full=LiveTraining(trainings=(_FULL, replace(_FULL, points=_QUICK.points)), window=50, prompts=20_000),
)
