"""The kinds of prompts of Garg et al. 2022, each with what is known of the errors on it without sampling."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch

from icl_lib import tasks
from icl_lib.theory.zhang import shifts


class ShiftedPrompt(NamedTuple):
    """One kind of prompt. All errors are divided by d; those of LSA are for training at N on N(0, I)."""

    law: object
    longest: int
    """The longest context this law allows or the table needs."""
    lsa: Callable[[float, int], float]
    """Error of LSA by (N, k)."""
    ols: Callable[[int], float]
    """Error of minimum-norm least squares by k; NaN where no closed form is known."""
    zero: float
    """Error of predicting 0, E y_query^2 / d."""


def shifted_prompts(d: int, longest: int, noise_sd: float, scales: tuple[str, ...], subspace: int) -> dict[str, ShiftedPrompt]:
    """Return the kinds of prompts by name; ``scales`` are fractions such as "1/3"."""
    return {
        **label_shifts(d, longest, noise_sd),
        **scale_shifts(d, longest, scales),
        **query_shifts(d, longest),
        **input_shifts(d, longest, subspace),
    }


def label_shifts(d: int, longest: int, noise_sd: float) -> dict[str, ShiftedPrompt]:
    """The prompts of training, without and with label noise."""
    clean = lsa_error(d, np.eye(d))

    def noisy(N: float, k: int) -> float:
        return clean(N, k) + shifts.noisy_context_error(np.eye(d), N, k, noise_sd) / d

    noise = tasks.NoisyContext(d, noise_sd)
    return {
        "no shift": ShiftedPrompt(tasks.LinearRegression(identity(d)), longest, clean, ols_error(d, 0.0), 1.0),
        "label noise": ShiftedPrompt(noise, longest, noisy, ols_error(d, noise_sd), 1.0),
    }


def scale_shifts(d: int, longest: int, scales: tuple[str, ...]) -> dict[str, ShiftedPrompt]:
    """Weights, then inputs, times c."""

    def row(law: object, c: float, lsa: Callable[[float, int], float]) -> ShiftedPrompt:
        return ShiftedPrompt(law, longest, lsa, lambda k: c**2 * shifts.least_squares_error(d, k, 0.0), c**2)

    def scaled_weights(c: float) -> ShiftedPrompt:
        return row(tasks.ScaledWeights(d, c), c, lambda N, k: c**2 * lsa_error(d, np.eye(d))(N, k))

    def scaled_inputs(c: float) -> ShiftedPrompt:
        return row(tasks.ScaledInputs(d, c), c, lsa_error(d, c**2 * np.eye(d)))

    weights = {f"weights × {text}": scaled_weights(float(Fraction(text))) for text in scales}
    return weights | {f"inputs × {text}": scaled_inputs(float(Fraction(text))) for text in scales}


def query_shifts(d: int, longest: int) -> dict[str, ShiftedPrompt]:
    """Queries that depend on the context."""

    def repeated(N: float, k: int) -> float:
        return shifts.repeated_query_error(d, N, k)

    across, copied = tasks.OrthogonalQuery(identity(d)), tasks.RepeatedQuery(identity(d))
    return {
        "orthogonal query": ShiftedPrompt(across, d - 1, lambda N, k: 1.0, lambda k: 1.0, 1.0),
        "copied query": ShiftedPrompt(copied, longest, repeated, lambda k: 0.0, 1.0),
    }


def input_shifts(d: int, longest: int, subspace: int) -> dict[str, ShiftedPrompt]:
    """Inputs from another law of the same mean squared norm d."""
    spectrum = 1 / np.arange(1, d + 1) ** 2
    skewed = lsa_error(d, np.diag(d * spectrum / spectrum.sum()))
    inside = lsa_error(d, np.diag([d / subspace] * subspace + [0.0] * (d - subspace)))

    def folded(N: float, k: int) -> float:
        return shifts.orthant_error(d, N, k)

    def exact_from_d(k: int) -> float:
        return 0.0 if k >= d else np.nan

    plane = tasks.SubspaceInputs(d, subspace)
    return {
        "half subspace": ShiftedPrompt(plane, longest, inside, ols_error(subspace, 0.0), 1.0),
        "skewed covariance": ShiftedPrompt(tasks.SkewedCovariance(d), longest, skewed, exact_from_d, 1.0),
        "orthants": ShiftedPrompt(tasks.OrthantContext(d), longest, folded, exact_from_d, 1.0),
    }


def identity(d: int) -> torch.Tensor:
    """Return I_d in float64."""
    return torch.eye(d, dtype=torch.float64)


def lsa_error(d: int, covariance: np.ndarray) -> Callable[[float, int], float]:
    """Return LSA's error / d by (N, k) for Gaussian prompts of this covariance and w ~ N(0, I)."""
    return lambda N, k: shifts.averaged_shift_error(np.eye(d), N, k, covariance, covariance) / d


def ols_error(d: int, noise_sd: float) -> Callable[[int], float]:
    """Return the error / d of least squares by k at covariance I."""
    return lambda k: shifts.least_squares_error(d, k, noise_sd)
