"""zhang-random-start-size: gradient flow under random covariances from starts far below and far above Theorem 4.5's sigma."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, variable
from papers.zhang.flow import gradient_flow
from papers.zhang.random_spectra import exponential, scales, spectrum_sample, uniform
from papers.zhang.reduced_flow import random_Theta
from papers.zhang.s4_3_random_covariances.random_covariance_flow import horizon
from papers.zhang.theory import random_covariance as theory
from papers.zhang.theory import random_covariance_flow as flow


@dataclass(frozen=True)
class RandomStartSize(Declaration):
    """sigma^2 as multiples of the bound of Theorem 4.5, whose expectation is averaged over ``spectra`` draws.

    d          dimension of inputs; N: training length
    multiple   sigma^2 over the bound; starts: random Theta of each distribution of spectra, followed at every multiple
    spectra    draws over which the expectation is averaged; points: times after 0 at which a flow is recorded
    """

    d: Count
    N: Count
    multiple: Several[Positive]
    starts: Count
    spectra: Count
    points: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate the flow of Corollary C.2 to its end and record the least u_-1 on the way."""
        laws = self._laws(seed)
        flows = [
            [[self._flow(*law, m, k, seed, name) for k in range(self.starts)] for m in self.multiple]
            for name, law in laws.items()
        ]
        names = {
            "sigma": ("", "size of the start"),
            "product": (" i j", "u U at the end of the flow"),
            "u": ("", "last entry of W_PV at the end of the flow"),
            "u_least": ("", "its least value on the way"),
        }
        data = {
            name: variable(f"law multiple start{dims}", [[[each[name] for each in row] for row in law] for law in flows], text)
            for name, (dims, text) in names.items()
        }
        return xr.Dataset(data, coords={"law": list(laws), "multiple": list(self.multiple)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the limits, the loss at the start and the lower bound for every sigma beside it."""
        moments = [law for _, law in self._laws(seed).values()]
        coefficients = [(theory.xi(law), theory.zeta(law, self.N)) for law in moments]
        A, near = (np.array([theory.A_limit(law, N) for law in moments])[:, None, None] for N in (self.N, self.N + 1))
        u = np.array([flow.u_limit(xi, np.diag(zeta)) for xi, zeta in coefficients])[:, None, None]
        found, size = dataset["product"].values, np.linalg.norm(A, axis=(-2, -1))
        names = {
            "start_loss": "reduced loss at the start, over |its minimum|",
            "u_bound": "lower bound of u for every sigma",
            "u_bound_rising": "its second entries alone, which small starts are below",
        }
        cells = np.array(
            [
                [[self._judged(law, k, seed, *both, sigma) for k, sigma in enumerate(row)] for row in sigmas]
                for law, both, sigmas in zip(dataset.law.values, coefficients, dataset.sigma.values, strict=True)
            ]
        )
        dims = "law multiple start"
        return dataset.assign(
            {name: variable(dims, cells[..., k], text) for k, (name, text) in enumerate(names.items())}
            | {
                "miss": variable(dims, np.linalg.norm(found - A, axis=(-2, -1)) / size, "relative distance of u U from A_*"),
                "miss_near": variable(dims, np.linalg.norm(found - near, axis=(-2, -1)) / size, "the same with N + 1 for N"),
                "u_miss": variable(dims, abs(dataset.u.values / u - 1), "relative distance of u from its limit"),
            }
        )

    def _laws(self, seed: int) -> dict:
        """Return the distributions of the spectra with their moments."""
        return {"exponential": exponential(scales(self.d, seed)), "uniform": uniform(self.d, seed)}

    def _Theta(self, name: str, start: int, seed: int) -> np.ndarray:
        return random_Theta(self.d, seed, f"start-size/{name}/{start}")

    def _flow(self, spectrum, moments, multiple: float, start: int, seed: int, name: str) -> dict:
        """Return sigma, u U and u at the end, and the least u."""
        xi, gamma, zeta = theory.xi(moments), theory.gamma(moments, self.N), theory.zeta(moments, self.N)
        Theta, draws = self._Theta(name, start, seed), spectrum_sample(spectrum, self.spectra, seed, f"start-size/{name}")
        sigma = (multiple * flow.sigma_squared_bound(Theta, draws, self.N)) ** 0.5

        def velocity(state: np.ndarray) -> np.ndarray:
            dU, du = flow.corollary_C2(state[:-1].reshape(Theta.shape), state[-1], xi, zeta)
            return np.append(dU, du)

        times = np.append(0.0, np.geomspace(1e-9, 1, self.points) * horizon(sigma, xi, gamma, zeta))
        path = gradient_flow(velocity, sigma * np.append(Theta @ Theta.T, 1.0), times)
        *U, u = path[-1]
        return {"sigma": sigma, "product": u * np.reshape(U, Theta.shape), "u": u, "u_least": path[:, -1].min()}

    @expectation
    def _judged(self, name: str, start: int, seed: int, xi: np.ndarray, zeta: np.ndarray, sigma: float) -> list[float]:
        Theta, gamma = self._Theta(name, start, seed), np.diag(zeta)
        loss, minimum = flow.reduced_loss(sigma * Theta @ Theta.T, sigma, xi, zeta), flow.reduced_minimum(xi, gamma)
        gap = loss - minimum
        rising = float(np.linalg.norm(xi / (flow.u_ceiling(xi, zeta, gap) * gamma)))
        return [loss / abs(minimum), flow.u_lower_bound_any_sigma(Theta, sigma, xi, zeta, gap), rising]


_QUICK = RandomStartSize(d=3, N=10, multiple=(0.01, 0.99, 10.0, 1000.0), starts=2, spectra=20_000, points=150)
RANDOM_START_SIZE = Experiment(
    slug="zhang-random-start-size",
    title="Starts of every size under random covariances",
    quick=_QUICK,
    full=replace(_QUICK, d=5, multiple=(0.01, 0.1, 0.5, 0.99, 2.0, 10.0, 100.0, 1000.0), starts=6, spectra=1_000_000),
)
