"""Prompts, and one frozen class per prompt distribution.

Every distribution has ``sample(generator, shape, length) -> Prompts``: ``shape`` prompts of ``length`` examples each.
"""

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
from icl_lib.tasks.prompts import Prompts, antithetic, covariance_root, gaussian
from icl_lib.tasks.random_covariance import ExponentialSpectrum, RandomDiagonalRegression, UniformSpectrum
from icl_lib.tasks.regression import CubicLabels, LinearLabels, LinearRegression, QueryShift

__all__ = [
    "CubicLabels",
    "ExponentialSpectrum",
    "LinearLabels",
    "LinearRegression",
    "NoisyContext",
    "OrthantContext",
    "OrthogonalQuery",
    "Prompts",
    "QueryShift",
    "RandomDiagonalRegression",
    "RepeatedQuery",
    "ScaledInputs",
    "ScaledWeights",
    "SkewedCovariance",
    "SubspaceInputs",
    "UniformSpectrum",
    "antithetic",
    "covariance_root",
    "gaussian",
]
