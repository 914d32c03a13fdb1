"""zhang-fourth-moment: E[x x^T A x x^T] against Monte Carlo, with A not symmetric and Lambda not diagonal."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from icl_lib.companion.declaration import AtLeastTwo, Declaration, Positive
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.measure.risk import chunks
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import gaussian
from papers.zhang.near_misses import near_misses, of_blocks
from papers.zhang.spectra import geometric_covariance, standard_normal
from papers.zhang.theory import moments


@dataclass(frozen=True)
class FourthMoment(Declaration):
    """One covariance and one matrix A drawn from the seed; ``draws`` vectors x."""

    d: AtLeastTwo
    kappa: Positive
    draws: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Average (x^T A x) x x^T."""
        Lambda, A = self._matrices(seed)
        total, squares = self._sums(torch.tensor(Lambda), torch.tensor(A), stream(seed, "fourth-moment"))
        measured = total / self.draws
        variance = (squares / self.draws - measured**2) / (self.draws - 1)
        return xr.Dataset(
            {
                "moment": variable("i j", measured, "mean of x x^T A x x^T"),
                "moment_se": variable("i j", np.sqrt(variance), "standard error"),
            }
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the identity of appendix D beside it, and what it would be for a symmetric A."""
        Lambda, A = self._matrices(seed)
        doubled = 2 * Lambda @ A @ Lambda + np.trace(A @ Lambda) * Lambda
        exact = moments.fourth_moment(Lambda, A)
        wrong = {"2 Λ A Λ for Λ(A + Aᵀ)Λ": doubled, "tr A for tr(AΛ)": exact + np.trace(A - A @ Lambda) * Lambda}
        return dataset.assign(
            {
                "moment_theory": variable("i j", exact, "identity of appendix D"),
                "moment_near": near_misses("i j", wrong),
                "moment_scale": variable("", np.linalg.norm(exact), "its Frobenius norm"),
                "moment_se": of_blocks(dataset.moment_se, self.draws),
                "moment_symmetric": variable("i j", doubled, "2 Lambda A Lambda + tr(A Lambda) Lambda"),
            }
        )

    def _matrices(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Lambda and A."""
        A = np.eye(self.d) + standard_normal((self.d, self.d), seed, "A")
        return geometric_covariance(self.d, self.kappa, seed), A

    def _sums(self, covariance: torch.Tensor, A: torch.Tensor, generator: torch.Generator) -> tuple[np.ndarray, ...]:
        total, squares = np.zeros((self.d, self.d)), np.zeros((self.d, self.d))
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
    quick=FourthMoment(d=3, kappa=5.0, draws=12_000_000),
    full=FourthMoment(d=4, kappa=10.0, draws=60_000_000),
)
