"""The kinds of prompts of Garg et al. 2022, and what is known of the errors on each without sampling."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch

from icl_lib.tasks.garg import (
    NoisyContext,
    OrthantContext,
    OrthogonalQuery,
    RepeatedQuery,
    ScaledInputs,
    ScaledWeights,
    SkewedCovariance,
    SubspaceInputs,
)
from icl_lib.tasks.regression import LinearRegression
from papers.zhang.theory import shifts


class ShiftedPrompt(NamedTuple):
    """One kind of prompt."""

    law: object
    longest: int
    """The longest context this law allows or the table needs."""


class KnownErrors(NamedTuple):
    """Errors on one kind of prompt, divided by d; those of LSA are for training at N on N(0, I)."""

    lsa: Callable[[float, int], float]
    """Error of LSA by (N, k)."""
    ols: Callable[[int], float]
    """Error of minimum-norm least squares by k; NaN where no closed form is known."""
    zero: float = 1.0
    """Error of predicting 0, E y_query^2 / d."""


def require_shifts(d: int, k: tuple[int, ...], scales: tuple[str, ...], subspace: int) -> None:
    """Raise ValueError for lengths, scales or a subspace that these prompts do not have in dimension d."""
    factors(scales)
    if list(k) != sorted(set(k)) or d <= k[0]:
        raise ValueError(f"lengths k = {k}: take ascending ones that begin below d = {d}, for a query may be orthogonal to all")
    if d < subspace:
        raise ValueError(f"a subspace of dimension {subspace} in dimension {d}: take at most {d}")


def factors(scales: tuple[str, ...]) -> dict[str, float]:
    """Return fractions such as "1/3" as numbers; raises ValueError for what is none, or not above 0."""
    try:
        found = {text: float(Fraction(text)) for text in scales}
    except (ValueError, ZeroDivisionError, OverflowError):
        found = {}
    if not found or min(found.values()) <= 0:
        raise ValueError(f"scales {scales}: write fractions above 0, such as 1/3")
    return found


def shifted_prompts(d: int, longest: int, noise_sd: float, scales: tuple[str, ...], subspace: int) -> dict[str, ShiftedPrompt]:
    """Return the kinds of prompts by name: of training, with other labels, inputs and queries."""
    identity = torch.eye(d, dtype=torch.float64)
    laws = {
        "no shift": LinearRegression(identity),
        "label noise": NoisyContext(d, noise_sd),
        **{f"weights × {text}": ScaledWeights(d, c) for text, c in factors(scales).items()},
        **{f"inputs × {text}": ScaledInputs(d, c) for text, c in factors(scales).items()},
        "orthogonal query": OrthogonalQuery(identity),
        "copied query": RepeatedQuery(identity),
        "half subspace": SubspaceInputs(d, subspace),
        "skewed covariance": SkewedCovariance(d),
        "orthants": OrthantContext(d),
    }
    return {name: ShiftedPrompt(law, d - 1 if name == "orthogonal query" else longest) for name, law in laws.items()}


def known_errors(d: int, noise_sd: float, scales: tuple[str, ...], subspace: int) -> dict[str, KnownErrors]:
    """Return what is known of the errors, by the names of ``shifted_prompts``."""
    spectrum = 1 / np.arange(1, d + 1) ** 2
    skewed, plane = np.diag(d * spectrum / spectrum.sum()), np.diag([d / subspace] * subspace + [0.0] * (d - subspace))
    clean = lsa_error(np.eye(d))

    def noisy(N: float, k: int) -> float:
        return clean(N, k) + shifts.noisy_context_error(np.eye(d), N, k, noise_sd) / d

    def exact_from_d(k: int) -> float:
        return 0.0 if k >= d else np.nan

    return {
        "no shift": KnownErrors(clean, ols_error(d, 0.0)),
        "label noise": KnownErrors(noisy, ols_error(d, noise_sd)),
        **{f"weights × {text}": scaled_errors(d, c, clean, c**2) for text, c in factors(scales).items()},
        **{f"inputs × {text}": scaled_errors(d, c, lsa_error(c**2 * np.eye(d)), 1.0) for text, c in factors(scales).items()},
        "orthogonal query": KnownErrors(lambda N, k: 1.0, lambda k: 1.0),
        "copied query": KnownErrors(lambda N, k: shifts.repeated_query_error(d, N, k), lambda k: 0.0),
        "half subspace": KnownErrors(lsa_error(plane), ols_error(subspace, 0.0)),
        "skewed covariance": KnownErrors(lsa_error(skewed), exact_from_d),
        "orthants": KnownErrors(lambda N, k: shifts.orthant_error(d, N, k), exact_from_d),
    }


def scaled_errors(d: int, c: float, lsa: Callable[[float, int], float], factor: float) -> KnownErrors:
    """Return the errors when weights or inputs are multiplied by c; those of LSA are ``factor`` times ``lsa``."""
    return KnownErrors(lambda N, k: factor * lsa(N, k), lambda k: c**2 * shifts.least_squares_error(d, k, 0.0), c**2)


def lsa_error(covariance: np.ndarray) -> Callable[[float, int], float]:
    """Return LSA's error / d by (N, k) for Gaussian prompts of this covariance, (d, d), and w ~ N(0, I)."""
    d = len(covariance)
    return lambda N, k: shifts.averaged_shift_error(np.eye(d), N, k, covariance, covariance) / d


def ols_error(d: int, noise_sd: float) -> Callable[[int], float]:
    """Return the error / d of least squares by k at covariance I."""
    return lambda k: shifts.least_squares_error(d, k, noise_sd)
