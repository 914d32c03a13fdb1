"""zhang-gpt2: Figure 1 of the paper, decoders trained on a fixed and on random covariances, over test lengths."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, variable
from icl_lib.measure.estimate import mean, ratio_of_means
from icl_lib.models.baselines import MinimumNormOLS
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.regression.decoders import DecoderTraining, repeated
from papers.regression.theory.least_squares import least_squares_error
from papers.regression.trainings import FIXED, PAPER_FIXED, PAPER_RANDOM, RANDOM
from papers.zhang.bootstrap import percentile_interval
from papers.zhang.s4_3_gpt2.gpt2_prompts import TESTS, Draws, by_covariance, common_dimension, draw, jump, placed, prefix_errors
from papers.zhang.theory import error as fixed_theory
from papers.zhang.theory import random_covariance as theory

UNITS = ("prompts", "covariances")
"""What a bootstrap resample draws: single prompts, or covariances with all their prompts."""
LEVEL = 0.9


@dataclass(frozen=True)
class Gpt2(Declaration):
    """Models of two distributions, N ascending, on test prompts of 0 .. ``longest`` examples.

    runs                  trainings of each model, of different seeds
    longest               most examples of a test prompt
    covariances, prompts  covariances, and prompts of each; 64 and 64 in the paper
    resamples             bootstrap resamples; 1000 in the paper
    """

    fixed: Several[DecoderTraining]
    random: Several[DecoderTraining]
    runs: AtLeastTwo
    longest: Count
    covariances: AtLeastTwo
    prompts: Count
    resamples: Count

    def __post_init__(self):
        super().__post_init__()
        lengths = [training.N for training in self.fixed]
        if lengths != [training.N for training in self.random] or lengths != sorted(set(lengths)):
            raise ValueError(f"fixed models of N = {lengths}: take ascending N, the same for the random models")
        if self.longest <= lengths[-1]:
            raise ValueError(f"test lengths up to {self.longest}, N = {lengths}: test each model beyond its N")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of every model after every number of examples, with the paper's intervals."""
        d = common_dimension(self.fixed + self.random)
        draws = draw(self.covariances, self.prompts, self.longest, d, seed)
        models = [repeated(training, self.runs, seed, device) for row in (self.fixed, self.random) for training in row]
        batches = [draws.prompts(test) for test in TESTS]
        found = [[[prefix_errors(placed(model, device), batch) for batch in batches] for model in runs] for runs in models]
        errors = torch.stack([torch.stack([torch.stack(each) for each in runs]) for runs in found])
        errors = errors.unflatten(0, (2, -1)).permute(3, 0, 2, 1, 5, 4)
        return self.dataset(d, errors, self._least_squares(draws), seed)

    def dataset(
        self, d: int, errors: Float[Tensor, "tests 2 runs models M B"], ols: Float[Tensor, "tests M B"], seed: int
    ) -> xr.Dataset:
        """Return errors and their intervals as one dataset."""
        dims = "test trained run N M"
        data = {f"risk{end}": variable(dims, *column) for end, column in self._measured(errors, "error over d").items()}
        lower, upper = self._intervals(self._at_training_length(errors), seed)
        data["width"] = variable("by test trained run N", upper - lower, "width of the 90% bootstrap interval at M = N")
        gain = self._at_training_length(errors[:, 0] - errors[:, 1])
        lower, upper = self._intervals(gain, seed)
        data["gain"] = variable("test run N", gain.mean(-1), "error of the fixed model less that of the random one, M = N")
        data["gain_lower"] = variable("by test run N", lower, "lower end of its 90% bootstrap interval")
        data["gain_upper"] = variable("by test run N", upper, "upper end of its 90% bootstrap interval")
        data |= self._ratios(errors)
        data["ols"] = variable("test M", ols.mean(-1), "error of least squares over d, on the same prompts")
        names = {"test": list(TESTS), "trained": ["fixed", "random"], "N": self._lengths(), "by": list(UNITS)}
        return xr.Dataset(data, coords={**names, "M": np.arange(self.longest + 1)}, attrs={"d": d})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the theory of linear self-attention and of least squares beside them."""
        d, lengths = common_dimension(self.fixed + self.random), np.arange(self.longest + 1)
        exact = [least_squares_error(d, int(M), 0.0) for M in lengths]
        lsa, dims = self._linear(d, lengths), "test trained N M"
        limits = [_linear_error(d, theory.exponential_A(d, np.inf), c, np.inf) for c in TESTS.values()]
        limit = "linear self-attention trained on random covariances, N, M to infinity"
        return dataset.assign(
            {
                "ols_theory": variable("M", exact, "the same at covariance I, exact"),
                "zero": variable("test", [c or 1.0 for c in TESTS.values()], "error of predicting 0, over d"),
                "lsa": variable(dims, lsa, "linear self-attention of the same training distribution and N"),
                "lsa_limit": variable("test", limits, limit),
            }
        )

    def _least_squares(self, draws: Draws) -> Float[Tensor, "tests P B"]:
        """Return the squared error of least squares after 0 .. M examples, over d; it grows with c alone."""
        fixed, random = (least_squares_errors(draws.prompts(test)).mT for test in ("covariance I", "c = 1"))
        return torch.stack([fixed if c is None else c * random for c in TESTS.values()])

    def _measured(self, errors: Float[Tensor, "... B"], name: str) -> dict[str, tuple]:
        """Return the mean and its standard error over covariances, by the ending of their names."""
        found = mean(by_covariance(errors, self.covariances))
        return {"": (found.value, name), "_se": (found.standard_error, f"{name}, standard error over covariances")}

    def _ratios(self, errors: Float[Tensor, "tests 2 runs models M B"]) -> dict[str, xr.Variable]:
        """Return the jump above N, and the largest N against the smallest at the length of the smallest."""
        lengths = self._lengths()
        jumps = [jump(errors[..., i, :, :], N, self.covariances) for i, N in enumerate(lengths)]
        last, first = (by_covariance(errors[..., i, lengths[0], :], self.covariances) for i in (-1, 0))
        reach = ratio_of_means(last, first)
        value, error = (np.stack(parts, -1) for parts in zip(*jumps, strict=True))
        return {
            "jump": variable("test trained run N", value, "error for N < M <= 1.2 N over error at M = N"),
            "jump_se": variable("test trained run N", error, "its standard error over covariances"),
            "reach": variable("test trained run", reach.value, "error of the largest N over that of the smallest, M that"),
            "reach_se": variable("test trained run", reach.standard_error, "its standard error over covariances"),
        }

    def _intervals(self, errors: Float[Tensor, "... B"], seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends (by, ...) of the bootstrap intervals; in one test all models are resampled alike."""
        units = (errors, by_covariance(errors, self.covariances))
        streams = [stream(seed, f"gpt2/bootstrap/{name}") for name in UNITS]
        ends = [percentile_interval(u, self.resamples, LEVEL, s) for u, s in zip(units, streams, strict=True)]
        return tuple(torch.stack(ends, 1).numpy())

    def _lengths(self) -> list[int]:
        return [training.N for training in self.fixed]

    def _at_training_length(self, values: Float[Tensor, "... models M B"]) -> Float[Tensor, "... models B"]:
        return torch.stack([values[..., i, N, :] for i, N in enumerate(self._lengths())], -2)

    @expectation
    def _linear(self, d: int, lengths: np.ndarray) -> np.ndarray:
        """Return the error over d of linear self-attention (test, trained, N, M), NaN without examples."""
        table = np.full((len(TESTS), 2, len(self.fixed), len(lengths)), np.nan)
        for i, N in enumerate(self._lengths()):
            for k, a in enumerate((fixed_theory.isotropic_shrinkage(d, N), theory.exponential_A(d, N))):
                for t, c in enumerate(TESTS.values()):
                    table[t, k, i, 1:] = [_linear_error(d, a, c, int(M)) for M in lengths[1:]]
        return table


def least_squares_errors(prompts: Prompts) -> Float[Tensor, "B P"]:
    """Return the squared error of least squares after 0 .. M examples, over d; after none it predicts 0."""
    inputs, targets = (torch.cat([a, b[:, None]], 1) for a, b in zip(prompts[:2], prompts[2:], strict=True))
    found = [torch.zeros_like(targets[:, 0])]
    for M in range(1, targets.shape[1]):
        found.append(MinimumNormOLS()(Prompts(inputs[:, :M], targets[:, :M], inputs[:, M], targets[:, M])))
    return (torch.stack(found, -1) - targets).square() / inputs.shape[-1]


def _linear_error(d: int, a: float, c: float | None, M: float) -> float:
    """Return the error over d of the weights a I on c diag(Exp(1)), or on the identity without c."""
    ones = np.ones(d)
    test = theory.fixed_moments(ones) if c is None else theory.scaled_moments(theory.exponential_moments(ones), c)
    return theory.error(a * np.eye(d), test, M) / d


ZHANG_GPT2 = Experiment(
    slug="zhang-gpt2",
    title="Figure 1: GPT-2 under random covariances",
    quick=Gpt2(FIXED, RANDOM, runs=3, longest=40, covariances=64, prompts=2, resamples=1000),
    full=Gpt2(FIXED, RANDOM, runs=3, longest=40, covariances=64, prompts=64, resamples=1000),
    published=Gpt2(PAPER_FIXED, PAPER_RANDOM, runs=3, longest=120, covariances=64, prompts=64, resamples=1000),
)
