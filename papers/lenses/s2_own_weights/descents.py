"""Least risks, by descent of the exact risk from random weights."""

from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from jaxtyping import Float
from scipy.optimize import minimize

from papers.lenses.theory import population
from papers.lenses.theory.population import Tasks
from papers.regression.spectra import standard_normal

Dimension = Annotated[int, Ge(2), Le(6)]
"""The mean over tasks has 3^d nodes."""
SETTINGS = {"maxiter": 1000, "maxfun": 1000, "ftol": 1e-15, "gtol": 1e-11, "maxcor": 30}
ROUNDS = 4
"""A descent stops early where keys are large and values small or the reverse: it goes on from as large ones of both."""


class Layer(NamedTuple):
    """What may be learned: a row m on the features, keys K and values' rows v of every head; ones where it is free."""

    m: Float[np.ndarray, "d"]
    K: Float[np.ndarray, "H D d"]
    v: Float[np.ndarray, "H D"]


def free(d: int, heads: int, row: bool, labels: bool) -> Layer:
    """Return the layer with or without a row on the features, with values that read the label or do not."""
    v = np.ones((heads, d + 1))
    v[:, -1] = labels
    return Layer(np.full(d, float(row)), np.ones((heads, d + 1, d)), v)


def descend(law: Tasks, N: int, layer: Layer, starts: int, seed: int, role: str) -> list[tuple[float, Layer]]:
    """Descend from normal weights, and return the risk and the weights where each descent ends."""
    ones = _flat(layer)
    drawn = standard_normal((starts, len(ones)), seed, role)

    def risk(weights: Float[np.ndarray, "P"]) -> tuple[float, Float[np.ndarray, "P"]]:
        m, K, v = _shaped(weights, layer)
        value, in_m, in_C = population.risk(m, population.read(K, v), law, N)
        in_K, in_v = np.einsum("iab,hb->hai", in_C, v), np.einsum("iab,hai->hb", in_C, K)
        return value, _flat(Layer(in_m, in_K, in_v)) * ones

    def end(weights: Float[np.ndarray, "P"]) -> tuple[float, Layer]:
        for _ in range(ROUNDS):
            found = minimize(risk, weights, jac=True, method="L-BFGS-B", options=SETTINGS)
            weights = _flat(_balanced(_shaped(found.x, layer)))
        return float(found.fun), _shaped(weights, layer)

    return [end(each * ones) for each in drawn]


def _balanced(layer: Layer) -> Layer:
    """Return the same layer with keys and values of each head equally large."""
    ratio = np.linalg.norm(layer.v, axis=1) / np.linalg.norm(layer.K, axis=(1, 2))
    share = np.where((ratio > 1e-12) & (ratio < 1e12), ratio, 1.0) ** 0.5
    return Layer(layer.m, layer.K * share[:, None, None], layer.v / share[:, None])


def _flat(layer: Layer) -> Float[np.ndarray, "P"]:
    return np.concatenate([each.ravel() for each in layer])


def _shaped(weights: Float[np.ndarray, "P"], like: Layer) -> Layer:
    parts = np.split(weights, np.cumsum([each.size for each in like])[:-1])
    return Layer(*(part.reshape(each.shape) for part, each in zip(parts, like, strict=True)))
