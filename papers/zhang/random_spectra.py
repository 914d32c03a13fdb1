"""The random spectra the experiments of section 4.3 share: a sampler and its exact moments, from one place."""

import numpy as np
import torch
from jaxtyping import Float

from icl_lib.seeds import stream
from papers.zhang.random_covariance import ExponentialSpectrum, UniformSpectrum
from papers.zhang.theory import random_covariance as theory


def exponential(scale: Float[np.ndarray, "d"]) -> tuple[ExponentialSpectrum, theory.SpectrumMoments]:
    """Return the distribution lambda_i = scale_i Exp(1) and its moments."""
    return ExponentialSpectrum(torch.tensor(scale)), theory.exponential_moments(scale)


def uniform(d: int, seed: int) -> tuple[UniformSpectrum, theory.SpectrumMoments]:
    """Return a distribution lambda_i ~ Uniform(low_i, high_i) whose ends differ by coordinate, and its moments.

    The ends are drawn from the seed: 0.1 < low_i < 0.4 and 1 < high_i < 3.
    """
    draws = torch.rand((2, d), generator=stream(seed, "spectrum/uniform"), dtype=torch.float64).numpy()
    low, high = 0.1 + 0.3 * draws[0], 1 + 2 * draws[1]
    return UniformSpectrum(torch.tensor(low), torch.tensor(high)), theory.uniform_moments(low, high)


def scales(d: int, seed: int) -> Float[np.ndarray, "d"]:
    """Return d scales between 1/2 and 3/2, drawn from the seed."""
    return 0.5 + torch.rand(d, generator=stream(seed, "spectrum/scales"), dtype=torch.float64).numpy()


def spectrum_sample(spectrum, count: int, seed: int, name: str) -> Float[np.ndarray, "S d"]:
    """Return ``count`` spectra drawn from (seed, name)."""
    return spectrum.sample(stream(seed, name), (count,)).numpy()


def stacked_weights(products: list[Float[np.ndarray, "d d"]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (W_PV, W_KQ) of Theorem 4.5 for several A, each (len(products), d+1, d+1)."""
    limits = (theory.W_PV_limit, theory.W_KQ_limit)
    W_PV, W_KQ = (torch.tensor(np.stack([limit(A) for A in products])) for limit in limits)
    return W_PV, W_KQ
