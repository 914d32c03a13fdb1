"""The kinds of prompts of Garg et al. 2022, what is known of the errors on each without sampling, and measuring them."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import Count, Declaration, NotNegative, Several, expectation, variable
from icl_lib.measure.estimate import mean
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from papers.regression.prompts import (
    NoisyContext,
    OrthantContext,
    OrthogonalQuery,
    RepeatedQuery,
    ScaledInputs,
    ScaledWeights,
    SkewedCovariance,
    SubspaceInputs,
)
from papers.regression.published import GPT2_VALUES, GPT2_WORDS
from papers.regression.theory.least_squares import least_squares_error
from papers.zhang.theory import shifts

GARG_D = 20
"""The dimension of Garg et al.; their k examples stand beside k d/20 of ours."""


class KnownErrors(NamedTuple):
    """Errors on one kind of prompt, divided by d; those of LSA are for training at N on N(0, I)."""

    lsa: Callable[[float, int], float]
    """Error of LSA by (N, k)."""
    ols: Callable[[int], float]
    """Error of minimum-norm least squares by k; NaN where no closed form is known."""
    zero: float = 1.0
    """Error of predicting 0, E y_query^2 / d."""


@dataclass(frozen=True)
class Shifts(Declaration):
    """The kinds of prompts in dimension d.

    d          entries of an input
    k          examples of a context, the first ones of the longest
    noise_sd   standard deviation of the noise in the labels of a context
    scales     factors on weights and on inputs; subspace: dimension of the half subspace
    """

    d: Count
    k: Several[Count]
    noise_sd: NotNegative
    scales: Several[str]
    subspace: Count

    def __post_init__(self):
        super().__post_init__()
        factors(self.scales)
        if list(self.k) != sorted(set(self.k)) or self.d <= self.k[0]:
            raise ValueError(
                f"lengths k = {self.k}: take ascending ones that begin below d = {self.d}, for a query may be orthogonal to all"
            )
        if self.d < self.subspace:
            raise ValueError(f"a subspace of dimension {self.subspace} in dimension {self.d}: take at most {self.d}")

    def lengths(self, name: str) -> list[int]:
        """Return the lengths of context that a kind allows: fewer than d examples where the query is orthogonal to all."""
        return [k for k in self.k if k < self.d or name != "orthogonal query"]

    def laws(self) -> dict[str, object]:
        """Return the kinds of prompts by name: of training, with other labels, inputs and queries."""
        d, identity = self.d, torch.eye(self.d, dtype=torch.float64)
        return {
            "no shift": LinearRegression(identity),
            "label noise": NoisyContext(d, self.noise_sd),
            **{f"weights × {text}": ScaledWeights(d, c) for text, c in factors(self.scales).items()},
            **{f"inputs × {text}": ScaledInputs(d, c) for text, c in factors(self.scales).items()},
            "orthogonal query": OrthogonalQuery(identity),
            "copied query": RepeatedQuery(identity),
            "half subspace": SubspaceInputs(d, self.subspace),
            "skewed covariance": SkewedCovariance(d),
            "orthants": OrthantContext(d),
        }

    @expectation
    def known(self) -> dict[str, KnownErrors]:
        """Return what is known of the errors, by the names of ``laws``."""
        d, subspace = self.d, self.subspace
        spectrum = 1 / np.arange(1, d + 1) ** 2
        skewed, plane = np.diag(d * spectrum / spectrum.sum()), np.diag([d / subspace] * subspace + [0.0] * (d - subspace))
        clean, scales = lsa_error(np.eye(d)), factors(self.scales)

        def noisy(N: float, k: int) -> float:
            return clean(N, k) + shifts.noisy_context_error(np.eye(d), N, k, self.noise_sd) / d

        def exact_from_d(k: int) -> float:
            return 0.0 if k >= d else np.nan

        return {
            "no shift": KnownErrors(clean, ols_error(d, 0.0)),
            "label noise": KnownErrors(noisy, ols_error(d, self.noise_sd)),
            **{f"weights × {text}": scaled_errors(d, c, clean, c**2) for text, c in scales.items()},
            **{f"inputs × {text}": scaled_errors(d, c, lsa_error(c**2 * np.eye(d)), 1.0) for text, c in scales.items()},
            "orthogonal query": KnownErrors(lambda N, k: 1.0, lambda k: 1.0),
            "copied query": KnownErrors(lambda N, k: shifts.repeated_query_error(d, N, k), lambda k: 0.0),
            "half subspace": KnownErrors(lsa_error(plane), ols_error(subspace, 0.0)),
            "skewed covariance": KnownErrors(lsa_error(skewed), exact_from_d),
            "orthants": KnownErrors(lambda N, k: shifts.orthant_error(d, N, k), exact_from_d),
        }

    def measured(
        self, models: dict[str, Callable[[Prompts], Tensor]], prompts: int, chunk: int, seed: int, role: str, **every: int
    ) -> xr.Dataset:
        """Return errors/d (prompt, model, k) of models on the same prompts, with standard errors, ``chunk`` drawn at a time.

        A model that is named in ``every`` is asked about every so-manieth prompt. ``prompts`` is a multiple of ``chunk``: what
        is left over is not drawn, and ``require_chunks`` refuses it.
        """
        table = np.full((len(self.laws()), len(models), len(self.k), 2), np.nan)
        for row, (name, law) in enumerate(self.laws().items()):
            generator, lengths = stream(seed, f"{role}/{name}"), self.lengths(name)
            chunks = [_squared_errors(law, lengths, chunk, models, every, generator) for _ in range(prompts // chunk)]
            for model, parts in enumerate(zip(*chunks, strict=True)):
                table[row, model, : len(lengths)] = np.stack(mean(torch.cat(parts, dim=-1) / self.d), axis=-1)
        return xr.Dataset(
            {
                "risk": variable("prompt model k", table[..., 0], "measured error / d", "y^2"),
                "risk_se": variable("prompt model k", table[..., 1], "standard error", "y^2"),
            },
            coords={"prompt": list(self.laws()), "model": list(models), "k": list(self.k)},
        )

    @expectation
    def beside(self, dataset: xr.Dataset, theory: Callable[[KnownErrors, int], list[float]], source: str) -> xr.Dataset:
        """Put closed forms, one for each model by what is known and k, beside what was measured, and Garg's values of GPT-2."""
        known, table = self.known(), np.full(dataset.risk.shape, np.nan)
        for row, (name, errors) in enumerate(known.items()):
            for place, k in enumerate(self.lengths(name)):
                table[row, :, place] = theory(errors, k)
        risk_theory = xr.DataArray(variable("prompt model k", table, "error / d in closed form", "y^2"))
        values = {(name, k * self.d / GARG_D): value for name, k, value in GPT2_VALUES}
        read = [[values.get((name, k), np.nan) for k in self.k] for name in known]
        words = [dict(GPT2_WORDS).get(name, "") for name in known]
        # A sample mean of something without a mean says nothing.
        return dataset.assign({name: dataset[name].where(~np.isinf(risk_theory)) for name in ("risk", "risk_se")}).assign(
            {
                "risk_theory": risk_theory,
                "zero": variable("prompt", [errors.zero for errors in known.values()], "error / d of predicting 0", "y^2"),
                "gpt2_of_garg": variable("prompt k", read, f"error / d of GPT-2{source}", "y^2"),
                "gpt2_words": variable("prompt", words, "what Garg et al. say of GPT-2 without a value"),
            }
        )


def _squared_errors(law, lengths: list[int], chunk: int, models: dict, every: dict[str, int], generator) -> list[Tensor]:
    """Return the squared errors (k, prompt) of each model on one chunk."""
    longest = law.sample(generator, (chunk,), max(lengths))
    found = []
    for name, model in models.items():
        some = Prompts(*(part[:: every.get(name, 1)] for part in longest))
        contexts = [some._replace(x=some.x[:, :k], y=some.y[:, :k]) for k in lengths]
        found.append(torch.stack([(model(each) - each.y_query).square() for each in contexts]))
    return found


def factors(scales: tuple[str, ...]) -> dict[str, float]:
    """Return fractions such as "1/3" as numbers; raises ValueError for what is none, or not above 0."""
    try:
        found = {text: float(Fraction(text)) for text in scales}
    except (ValueError, ZeroDivisionError, OverflowError):
        found = {}
    if not found or min(found.values()) <= 0:
        raise ValueError(f"scales {scales}: write fractions above 0, such as 1/3")
    return found


def require_chunks(prompts: int, chunk: int) -> None:
    """Raise ValueError for a number of prompts that is no multiple of those drawn at a time."""
    if prompts % chunk:
        raise ValueError(f"prompts={prompts} must be a positive multiple of {chunk}")


def scaled_errors(d: int, c: float, lsa: Callable[[float, int], float], factor: float) -> KnownErrors:
    """Return the errors when weights or inputs are multiplied by c; those of LSA are ``factor`` times ``lsa``."""
    return KnownErrors(lambda N, k: factor * lsa(N, k), lambda k: c**2 * least_squares_error(d, k, 0.0), c**2)


def lsa_error(covariance: np.ndarray) -> Callable[[float, int], float]:
    """Return LSA's error / d by (N, k) for Gaussian prompts of this covariance, (d, d), and w ~ N(0, I)."""
    d = len(covariance)
    return lambda N, k: shifts.averaged_shift_error(np.eye(d), N, k, covariance, covariance) / d


def ols_error(d: int, noise_sd: float) -> Callable[[int], float]:
    """Return the error / d of least squares by k at covariance I."""
    return lambda k: least_squares_error(d, k, noise_sd)
