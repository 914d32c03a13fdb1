"""Prompts whose covariance is drawn anew for every prompt (Zhang et al., section 4.3)."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, normal
from icl_lib.tasks.regression import linear_labels


@runtime_checkable
class Spectrum(Protocol):
    """A distribution of the d variances of one prompt: independent, positive, possibly different by coordinate."""

    def sample(self, generator: torch.Generator, shape: tuple[int, ...]) -> Float[Tensor, "... d"]: ...


@dataclass(frozen=True, eq=False)
class ExponentialSpectrum:
    """lambda_i = scale_i * Exp(1), independent."""

    scale: Float[Tensor, "d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...]) -> Float[Tensor, "... d"]:
        """Draw ``shape`` spectra."""
        draws = torch.empty((*shape, len(self.scale)), dtype=self.scale.dtype, device=generator.device)
        return self.scale.to(generator.device) * draws.exponential_(generator=generator)


@dataclass(frozen=True, eq=False)
class UniformSpectrum:
    """lambda_i ~ Uniform(low_i, high_i), independent, 0 < low_i <= high_i."""

    low: Float[Tensor, "d"]
    high: Float[Tensor, "d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...]) -> Float[Tensor, "... d"]:
        """Draw ``shape`` spectra."""
        low, high = self.low.to(generator.device), self.high.to(generator.device)
        draws = torch.rand((*shape, len(low)), generator=generator, dtype=low.dtype, device=generator.device)
        return low + (high - low) * draws


@dataclass(frozen=True, eq=False)
class RandomDiagonalRegression:
    """Per prompt: variances from ``spectrum``, w ~ N(0, I), x_i and x_query ~ N(0, diag(variances)), y = <w, x>."""

    spectrum: Spectrum

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        deviations = self.spectrum.sample(generator, shape).sqrt()
        w = normal(generator, deviations.shape, deviations)
        x = normal(generator, (*shape, length, deviations.shape[-1]), deviations) * deviations[..., None, :]
        x_query = normal(generator, deviations.shape, deviations) * deviations
        return Prompts(x, linear_labels(x, w), x_query, torch.einsum("...d,...d->...", x_query, w))
