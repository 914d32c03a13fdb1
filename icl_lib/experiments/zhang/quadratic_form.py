"""zhang-quadratic-form: the prediction is u^T H u, and H has min(N, d) + 1 negative eigenvalues (Lemma 5.1)."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.spectra import geometric_covariance, standard_normal
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.results import variable
from icl_lib.seeds import stream
from icl_lib.tasks import LinearRegression
from icl_lib.theory.zhang import quadratic

ZERO = 1e-12
"""Eigenvalues below this share of the largest count as 0; rounding leaves about 1e-16."""


def signs(forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many eigenvalues of each symmetric matrix are negative, and how many positive."""
    eigenvalues = np.linalg.eigvalsh(forms)
    floor = ZERO * eigenvalues[:, -1:]
    return (eigenvalues < -floor).sum(axis=1), (eigenvalues > floor).sum(axis=1)


@dataclass(frozen=True)
class QuadraticForm:
    """Random prompts of several lengths through a layer with every weight random."""

    d: int
    kappa: float
    N: tuple[int, ...]
    prompts: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Predict with the layer as printed and with the quadratic form; count the eigenvalues of H by sign."""
        law = LinearRegression(torch.tensor(geometric_covariance(self.d, self.kappa, seed)))
        W_PV, W_KQ = standard_normal((2, self.d + 1, self.d + 1), seed, "weights")
        U = quadratic.U(W_PV, W_KQ)
        model = LinearSelfAttention(torch.tensor(W_PV), torch.tensor(W_KQ))
        columns = []
        for N in self.N:
            E = embed(law.sample(stream(seed, f"prompts/{N}"), (self.prompts,), N))
            forms = np.stack([quadratic.H(tokens) for tokens in E.numpy()])
            bare = np.stack([_without_query(tokens) for tokens in E.numpy()])
            columns.append(
                (
                    model.tokens(E)[:, -1, -1].numpy(),
                    [quadratic.quadratic_prediction(tokens, U) for tokens in E.numpy()],
                    np.einsum("i,bij,j->b", U.ravel(), forms, U.ravel()),
                    *signs(forms),
                    signs(bare)[0],
                )
            )
        y, y_theory, y_by_rows, negative, positive, bare = (np.stack(part) for part in zip(*columns, strict=True))
        return xr.Dataset(
            {
                "prediction": variable("N prompt", y, "prediction of the layer", "y"),
                "prediction_theory": variable("N prompt", y_theory, "u^T H u with u = Vec(U), columns stacked", "y"),
                "prediction_by_rows": variable("N prompt", y_by_rows, "u^T H u with the rows of U stacked", "y"),
                "negative": variable("N prompt", negative, "negative eigenvalues of H"),
                "positive": variable("N prompt", positive, "positive eigenvalues of H"),
                "negative_without_query": variable(
                    "N prompt", bare, "negative eigenvalues of H with the query's column left out of E E^T"
                ),
                "negative_theory": variable("N", [quadratic.negative_eigenvalues(N, self.d) for N in self.N], "min(N, d) + 1"),
                "negative_paper": variable("", self.d + 1, "d + 1"),
            },
            coords={"N": list(self.N)},
        )


def _without_query(E: np.ndarray) -> np.ndarray:
    return np.kron(quadratic.X(E[:-1, -1]), E[:, :-1] @ E[:, :-1].T)


QUADRATIC_FORM = Experiment(
    slug="zhang-quadratic-form",
    title="The prediction as a quadratic form",
    paper="zhang",
    section="5.1",
    notebook="zhang_5_1_quadratic_form",
    quick=QuadraticForm(d=4, kappa=10.0, N=(1, 2, 3, 4, 10), prompts=40),
    full=QuadraticForm(d=6, kappa=10.0, N=(1, 2, 3, 4, 5, 6, 7, 10, 20), prompts=120),
)
