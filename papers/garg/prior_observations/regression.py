"""garg-regression: decoders trained on w ~ N(0, I), x ~ N(0, I) against the classical predictors, over prompt length."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks
from icl_lib.models.baselines import Averaging, MinimumNormOLS, Ridge
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, normal
from icl_lib.tasks.regression import LinearRegression
from papers.garg.prior_observations.prefixes import by_length, inputs, labels
from papers.garg.regressors import NeighbourAverage
from papers.garg.theory.bayes import posterior_errors
from papers.regression.decoders import DecoderTraining, trained
from papers.regression.theory.least_squares import least_squares_error
from papers.regression.trainings import FIXED
from papers.zhang.theory import error

CLASSICAL = ("least squares", "ridge", "averaging", "3 nearest")
LABELS = ("clean", "noisy")
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class DenseRegression(Declaration):
    """Models and baselines on the same prompts, after 0 .. ``longest`` examples, without and with noise in the context.

    longest     most examples of a context; noise_sd: standard deviation of the noise in the context's labels
    penalties   of the ridge predictors from which the models' distance is measured without noise
    prompts     test prompts, the same for all models and baselines
    Targets are clean labels, errors are divided by d. The ridge predictor has the noise variance as its penalty.
    """

    trainings: Several[DecoderTraining]
    longest: Count
    noise_sd: Positive
    penalties: Several[Positive]
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if len({training.d for training in self.trainings}) != 1:
            raise ValueError("models that meet the same prompts need one dimension d: take trainings of equal d")
        d, lengths = self.trainings[0].d, [training.N for training in self.trainings]
        if not 2 <= d <= min(lengths) or self.longest < max(lengths):
            raise ValueError(f"d = {d}, N = {lengths}, longest = {self.longest}: take 2 <= d <= N <= longest")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all errors, and the distance of the models to the Bayes predictor."""
        models = [trained(training, seed, device) for training in self.trainings]
        found = [self._measure(models, *prompts) for prompts in self._prompts(seed)]
        lengths = [training.N for training in self.trainings]
        data = {"N": variable("model", lengths, "examples of a training prompt")}
        for key, (dims, text) in NAMES.items():
            value, standard_error = mean(torch.cat([part[key] for part in found], dim=-1))
            data[key] = variable(f"{dims} k", value, text, "y^2")
            data[f"{key}_se"] = variable(f"{dims} k", standard_error, "standard error", "y^2")
        names = [f"GPT-2, N = {N}" for N in lengths]
        coords = {"label": list(LABELS), "predictor": [*names, *CLASSICAL], "model": names, "k": np.arange(self.longest + 1)}
        coords |= {"reference": ["Bayes", "averaging"], "penalty": list(self.penalties)}
        return xr.Dataset(data, coords=coords, attrs={"d": self.trainings[0].d})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put closed forms beside them, and the Bayes error given the inputs of the very prompts, on average."""
        d, k = self.trainings[0].d, range(self.longest + 1)
        least_squares = [least_squares_error(d, M, 0.0) for M in k]
        lsa = [lsa_errors(d, training.N, self.longest) for training in self.trainings]
        averaging = lsa_errors(d, np.inf, self.longest)
        x = torch.cat([inputs(clean) for clean, _ in self._prompts(seed)]).numpy()
        bayes = mean(torch.tensor(np.moveaxis(posterior_errors(x[:, : self.longest], self.noise_sd), -1, 0)))
        text = "error / d of the Bayes predictor under noise, mean over inputs of its conditional mean"
        return dataset.assign(
            {
                "lsa": variable("model k", lsa, "error / d of LSA trained at the model's N, closed form", "y^2"),
                "least_squares": variable("k", least_squares, "error / d of least squares without noise, closed form", "y^2"),
                "averaging": variable("k", averaging, "error / d of averaging without noise, closed form", "y^2"),
                "bayes": variable("k", bayes.value, text, "y^2"),
                "bayes_se": variable("k", bayes.standard_error, "standard error", "y^2"),
            }
        )

    def _prompts(self, seed: int) -> Iterator[tuple[Prompts, Prompts]]:
        """Draw the prompts of each chunk, without and with noise in the context."""
        generator, law = stream(seed, "garg-regression"), LinearRegression(torch.eye(self.trainings[0].d, dtype=torch.float64))
        for size in chunks(self.prompts, self.longest + 1):
            clean = law.sample(generator, (size,), self.longest)
            yield clean, clean._replace(y=clean.y + self.noise_sd * normal(generator, clean.y.shape, clean.y))

    def _measure(self, models, clean: Prompts, noisy: Prompts) -> dict[str, Tensor]:
        """Return the quantities of NAMES for every prompt of one chunk, prompts last."""
        d, k = self.trainings[0].d, range(self.longest + 1)
        decoders = torch.stack([torch.cat([model.prefixes(prompts) for model in models]) for prompts in (clean, noisy)])
        classical = torch.stack([self._predictions(prompts) for prompts in (clean, noisy)])
        bayes, averaging, target = (
            torch.stack([classical[0, 0], classical[1, 1]])[:, None],
            classical[:, 2, None],
            labels(clean),
        )
        ridge = torch.stack([by_length(Ridge(penalty), clean, k) for penalty in self.penalties])
        found = {
            "risk": (torch.cat([decoders, classical], 1) - target).square(),
            "distance": (decoders - bayes).square(),
            "cross": torch.stack([2 * (decoders - one) * (one - target) for one in (bayes, averaging)]),
            "ridge": (decoders[0][:, None] - ridge).square(),
        }
        return {name: part.movedim(-2, -1) / d for name, part in found.items()}

    def _predictions(self, prompts: Prompts) -> Tensor:
        """Return (CLASSICAL, prompt, k)."""
        classical = (MinimumNormOLS(), Ridge(self.noise_sd**2), Averaging(), NeighbourAverage(3))
        return torch.stack([by_length(predictor, prompts, range(self.longest + 1)) for predictor in classical])


def lsa_errors(d: int, N: float, longest: int) -> list[float]:
    """Return the error / d of LSA trained at N after 0 .. ``longest`` examples, none predicting 0; N = inf is averaging."""
    return [1.0, *(error.isotropic_error(d, N, k) for k in range(1, longest + 1))]


NAMES = {
    "risk": ("label predictor", "error / d against the clean label"),
    "distance": ("label model", "squared distance / d to the Bayes predictor: least squares without noise, ridge with it"),
    "cross": ("reference label model", "2 (prediction - reference)(reference - label) / d, of mean 0 for the Bayes predictor"),
    "ridge": ("model penalty", "squared distance / d to ridge without noise"),
}
"""Measured quantities: dimensions beside k, and what they are."""

_QUICK = DenseRegression(trainings=(FIXED[0], FIXED[2]), longest=40, noise_sd=0.5, penalties=PENALTIES, prompts=500)
REGRESSION = Experiment(
    slug="garg-regression",
    title="Linear functions in context",
    section="linear functions",
    quick=_QUICK,
    full=replace(_QUICK, prompts=20_000),
)
