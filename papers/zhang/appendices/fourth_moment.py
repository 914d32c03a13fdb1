"""zhang-fourth-moment: E[x x^T A x x^T] against Monte Carlo, with A not symmetric and Lambda not diagonal."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.risk import chunks
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import gaussian
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.dimensions import entries, sides
from papers.zhang.near_misses import of_blocks
from papers.zhang.theory import moments


@dataclass(frozen=True)
class FourthMoment(Declaration):
    """One covariance and one matrix A of each dimension, drawn from the seed; ``draws`` vectors x.

    d   dimensions of x; kappa: condition number of the covariance; draws: vectors x of each dimension
    """

    d: Several[AtLeastTwo]
    kappa: Positive
    draws: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Average (x^T A x) x x^T."""
        total, squares = map(entries, zip(*(self._sums(d, seed) for d in self.d), strict=True))
        measured = total / self.draws
        variance = (squares / self.draws - measured**2) / (self.draws - 1)
        return xr.Dataset(
            {
                "moment": variable("entry", measured, "mean of x x^T A x x^T"),
                "moment_se": variable("entry", np.sqrt(variance), "standard error"),
            },
            coords={"d": sides(self.d)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the identity of appendix D beside it, and what it would be for a symmetric A."""
        exact, doubled, other, scale = map(entries, zip(*(self._formulas(d, seed) for d in self.d), strict=True))
        wrong = {"2 Λ A Λ for Λ(A + Aᵀ)Λ": doubled, "tr A for tr(AΛ)": other}
        return dataset.assign(
            {
                "moment_theory": variable("entry", exact, "identity of appendix D"),
                "moment_near": near_misses("entry", wrong),
                "moment_scale": variable("entry", scale, "its Frobenius norm"),
                "moment_se": of_blocks(dataset.moment_se, self.draws),
                "moment_symmetric": variable("entry", doubled, "2 Lambda A Lambda + tr(A Lambda) Lambda"),
            }
        )

    @expectation
    def _formulas(self, d: int, seed: int) -> tuple[np.ndarray, ...]:
        """Return the identity, two wrong ones, and the norm at each entry."""
        Lambda, A = self._matrices(d, seed)
        exact = moments.fourth_moment(Lambda, A)
        doubled = 2 * Lambda @ A @ Lambda + np.trace(A @ Lambda) * Lambda
        other = exact + np.trace(A - A @ Lambda) * Lambda
        return exact, doubled, other, np.full((d, d), np.linalg.norm(exact))

    def _matrices(self, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda and A."""
        A = np.eye(d) + standard_normal((d, d), seed, "A")
        return geometric_covariance(d, self.kappa, seed), A

    def _sums(self, d: int, seed: int) -> tuple[np.ndarray, ...]:
        covariance, A = map(torch.tensor, self._matrices(d, seed))
        generator, total, squares = stream(seed, f"fourth-moment/{d}"), np.zeros((d, d)), np.zeros((d, d))
        for size in chunks(self.draws, 1):
            x = gaussian(generator, (size,), covariance)
            q = torch.einsum("bi,ij,bj->b", x, A, x)
            total += torch.einsum("b,bi,bj->ij", q, x, x).numpy()
            squares += torch.einsum("b,bi,bj->ij", q**2, x**2, x**2).numpy()
        return total, squares


FOURTH_MOMENT = Experiment(
    slug="zhang-fourth-moment",
    title="Gaussian fourth moment",
    section="D",
    quick=FourthMoment(d=(3, 2), kappa=5.0, draws=7_000_000),
    full=FourthMoment(d=(4, 2), kappa=10.0, draws=60_000_000),
)
