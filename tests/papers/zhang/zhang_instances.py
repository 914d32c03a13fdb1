"""Covariances and sizes on which the formulas are tested."""

import itertools

import numpy as np

from papers.zhang.theory.random_covariance import SpectrumMoments

SKEW = np.diag([2.0, 1.0])
SMALL = [(1, 1), (1, 4), (2, 1), (2, 2), (2, 3), (3, 1)]
"""(d, N) at which prompts can be averaged exactly."""
SETTINGS = [(1, 3, 1.0), (3, 2, 50.0), (4, 30, 8.0), (5, 10, 1000.0)]
"""(d, N, condition number): d = 1, N < d, ill-conditioned."""
RANDOM = [(1, 1), (1, 7), (2, 3), (3, 1), (4, 10), (5, 2)]
"""(d, N) for random covariances."""


def covariance(d: int, kappa: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    matrix = (basis * np.geomspace(1.7, 1.7 / kappa, d)) @ basis.T
    return (matrix + matrix.T) / 2


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def two_point(d: int, seed: int) -> tuple[np.ndarray, SpectrumMoments]:
    """Independent fair two-point variances: all 2^d spectra, equally likely, and the moments. No sampling error."""
    ends = np.random.default_rng(seed).uniform(0.05, 3.0, (2, d))
    spectra = np.array(list(itertools.product(*ends.T)))
    return spectra, SpectrumMoments(*((ends**k).mean(axis=0) for k in (1, 2, 3)))


def diagonal_matrices(spectra: np.ndarray) -> np.ndarray:
    return np.array([np.diag(spectrum) for spectrum in spectra])
