"""zhang-quadratic-form: the prediction is u^T H u, and H has min(N, d) + 1 negative eigenvalues (Lemma 5.1)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.seeds import stream
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.theory import quadratic

ZERO = 1e-12
"""Eigenvalues below this share of the largest count as 0; rounding leaves about 1e-16."""


@dataclass(frozen=True)
class QuadraticForm(Declaration):
    """Random prompts of several lengths through a layer with every weight random.

    d   dimension of inputs; kappa: condition number of the covariance
    N   examples of a prompt; prompts: prompts of each length
    """

    d: Count
    kappa: Positive
    N: Several[Count]
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Predict with the layer as printed."""
        model = LinearSelfAttention(*map(torch.tensor, self._weights(seed)))
        y = [model.tokens(E)[:, -1, -1].numpy() for E in self._prompts(seed)]
        columns = {"prediction": variable("N prompt", y, "prediction of the layer", "y")}
        return xr.Dataset(columns, coords={"N": list(self.N)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Predict with the quadratic form, and count the eigenvalues of H by sign."""
        U, prompts = quadratic.U(*self._weights(seed)), [E.numpy() for E in self._prompts(seed)]
        forms = np.stack([quadratic.H(E) for E in prompts])
        negative, positive = signs(forms)
        blind, _ = signs(np.stack([H_without_query(E) for E in prompts]))
        columns = {
            "prediction_theory": (
                [quadratic.quadratic_prediction(E, U) for E in prompts],
                "u^T H u, columns stacked",
                "y",
            ),
            "prediction_by_rows": (forms @ U.ravel() @ U.ravel(), "u^T H u, rows stacked", "y"),
            "negative": (negative, "negative eigenvalues of H"),
            "positive": (positive, "positive eigenvalues of H"),
            "negative_without_query": (blind, "negative, without the query's column"),
        }
        return dataset.assign({name: variable("N prompt", *column) for name, column in columns.items()}).assign(
            negative_theory=variable("N", [quadratic.negative_eigenvalues(N, self.d) for N in self.N], "min(N, d) + 1"),
            negative_paper=variable("", self.d + 1, "d + 1"),
        )

    def _weights(self, seed: int) -> np.ndarray:
        """Return W_PV and W_KQ."""
        return standard_normal((2, self.d + 1, self.d + 1), seed, "weights")

    def _prompts(self, seed: int) -> list[torch.Tensor]:
        """Return the token matrices of the prompts, by N."""
        law = LinearRegression(torch.tensor(geometric_covariance(self.d, self.kappa, seed)))
        return [embed(law.sample(stream(seed, f"prompts/{N}"), (self.prompts,), N)) for N in self.N]


def signs(forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many eigenvalues of each symmetric matrix, (..., n, n), are negative, and how many positive."""
    eigenvalues = np.linalg.eigvalsh(forms)
    zero = ZERO * abs(eigenvalues).max(-1, keepdims=True)
    return (eigenvalues < -zero).sum(-1), (eigenvalues > zero).sum(-1)


def H_without_query(E: np.ndarray) -> np.ndarray:
    """Return H, but for a factor, with the query's column left out of E E^T."""
    return quadratic.kronecker(quadratic.X(E[..., :-1, -1]), quadratic.gram(E[..., :-1]))


QUADRATIC_FORM = Experiment(
    slug="zhang-quadratic-form",
    title="The prediction as a quadratic form",
    quick=QuadraticForm(d=4, kappa=10.0, N=(1, 2, 3, 4, 10), prompts=40),
    full=QuadraticForm(d=6, kappa=10.0, N=(1, 2, 3, 4, 5, 6, 7, 10, 20), prompts=120),
)
