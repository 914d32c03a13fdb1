"""lenses-read-out: gradient flow of all weights of a block with a linear MLP, and how W lies to the read-out u."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    NotNegative,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
)
from papers.lenses.s2_own_weights.descents import Dimension
from papers.lenses.theory import own_weights as own
from papers.lenses.theory import population, read_out
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.flow import gradient_flow


@dataclass(frozen=True)
class ReadOutFlow(Declaration):
    """Flow of u, W, V and K from scale times N(0, 1), for tasks w ~ N(mu, I) with |mu| = ``mean``.

    d       dimension of inputs; N: training length; mean: |mu|, the length of the mean of the tasks
    kappa   condition number of the covariance of inputs; noise: standard deviation of the labels' noise
    m       neurons
    scale   deviation of the initial weights; starts: initialisations, each followed from every scale; T: end of the flows
    """

    d: Dimension
    N: Count
    mean: NotNegative
    kappa: Positive
    noise: NotNegative
    m: AtLeastTwo
    scale: Several[Positive]
    starts: Count
    T: Positive

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Integrate, and store u and W at both ends, and the risk at the end."""
        law = population.tasks(*self._law(seed))
        drawn = standard_normal((self.starts, self._count), seed, "read out/initialisation")
        ends = np.array([[self._flow(law, scale * each) for each in drawn] for scale in self.scale])
        begun = np.array([[scale * each for each in drawn] for scale in self.scale])
        u, W, V, K = self._parts(ends)
        u_0, W_0, *_ = self._parts(begun)
        flat = [self._velocity(law, each)[0] for row in ends for each in row]
        dims = "scale start neuron"
        columns = {
            "u": variable(dims, u, "read-out at T"),
            "W": variable(f"{dims} token", W, "first matrix at T"),
            "u_0": variable(dims, u_0, "read-out at the initialisation"),
            "W_0": variable(f"{dims} token", W_0, "first matrix at the initialisation"),
            "risk": variable("scale start", np.reshape(flat, ends.shape[:2]), "risk at T"),
        }
        return xr.Dataset(columns, coords={"scale": list(self.scale)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Measure angle and share at T, and predict both from the initialisation's Q."""
        names = ("u", "W", "u_0", "W_0")
        core = [["neuron"], ["neuron", "token"]] * 2

        def each(read) -> xr.DataArray:
            found = xr.apply_ufunc(read, *(dataset[name] for name in names), input_core_dims=core, vectorize=True)
            return found.assign_attrs(long_name=read.__doc__, units="1")

        def Q(u_0, W_0):
            return read_out.conserved(u_0, W_0)

        rows = {
            "tangent": each(lambda u, W, *_: _tangent(u, W @ (W.T @ u))),
            "tangent_theory": each(lambda u, W, *begun: read_out.tangent(Q(*begun), u)),
            "share": each(lambda u, W, *_: 1 - ((u @ W) ** 2).sum() / (u @ u) / (W**2).sum()),
            "share_theory": each(lambda u, W, *begun: read_out.share_off(Q(*begun), u)),
            "bound": each(lambda u, W, *begun: read_out.largest_tangent(Q(*begun), W.T @ u)),
            "tangent_0": each(lambda u, W, u_0, W_0: _tangent(u_0, W_0 @ (W_0.T @ u_0))),
        }
        alone = each(lambda u, W, u_0, W_0: read_out.tangent(np.outer(u_0, u_0), u))
        without = each(lambda u, W, u_0, W_0: read_out.share_off(-W_0 @ W_0.T, u))
        words = {
            "tangent": "tangent of the angle of W r to the read-out u",
            "tangent_theory": "the same from the Q of the initialisation",
            "share": "share of W's squares at right angles to the read-out",
            "share_theory": "the same from the Q of the initialisation",
            "bound": "bound of the tangent from the Q of the initialisation",
            "tangent_0": "tangent of the angle at the initialisation",
        }
        told = {name: rows[name].assign_attrs(long_name=words[name], units="1") for name in rows}
        dims = "scale start"
        return dataset.assign(
            {
                **told,
                "tangent_near": near_misses(
                    dims, {"u uᵀ for Q": abs(alone), "half of the tangent": 0.5 * rows["tangent_theory"]}
                ),
                "share_near": near_misses(dims, {"-W Wᵀ for Q": without}),
                "least": variable("", own.least_risk(*self._law(seed)[::2], self.noise, self.N), "R*(Psi)"),
            }
        )

    @property
    def _shapes(self) -> list[tuple[int, ...]]:
        D = self.d + 1
        return [(self.m,), (self.m, D), (D, D), (D, self.d)]

    @property
    def _count(self) -> int:
        return sum(int(np.prod(shape)) for shape in self._shapes)

    def _parts(self, weights: Float[np.ndarray, "... P"]) -> list[np.ndarray]:
        """Return u, W, V and the keys of the features."""
        ends = np.cumsum([np.prod(shape) for shape in self._shapes])[:-1]
        parts = np.split(weights, ends, axis=-1)
        return [part.reshape(*weights.shape[:-1], *shape) for part, shape in zip(parts, self._shapes, strict=True)]

    def _law(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        mu = standard_normal((self.d,), seed, "read out/mean")
        Lambda = geometric_covariance(self.d, self.kappa, seed, "read out/basis")
        return Lambda, self.mean * mu / np.linalg.norm(mu), np.eye(self.d), self.noise

    def _flow(self, law: population.Tasks, start: Float[np.ndarray, "P"]) -> Float[np.ndarray, "P"]:
        return gradient_flow(lambda at: self._velocity(law, at)[1], start, np.array([0.0, self.T]), rtol=1e-7, atol=1e-9)[-1]

    def _velocity(self, law: population.Tasks, weights: Float[np.ndarray, "P"]) -> tuple[float, Float[np.ndarray, "P"]]:
        """Return the risk and minus its gradient: r = W^T u and v = V^T r are all that it sees of u, W and V."""
        u, W, V, K = self._parts(weights)
        r = u @ W
        v = r @ V
        value, in_m, in_C = population.risk(r[:-1], population.read(K[None], v[None]), law, self.N)
        in_v = np.einsum("iab,ai->b", in_C, K)
        in_r = np.append(in_m, 0.0) + V @ in_v
        parts = W @ in_r, np.outer(u, in_r), np.outer(r, in_v), np.einsum("iab,b->ai", in_C, v)
        return value, -np.concatenate([part.ravel() for part in parts])


def _tangent(u: Float[np.ndarray, "m"], column: Float[np.ndarray, "m"]) -> float:
    along = column @ u / np.linalg.norm(u)
    return float(np.sqrt(max(column @ column - along**2, 0.0)) / abs(along))


_QUICK = ReadOutFlow(d=2, N=8, mean=1.5, kappa=2.0, noise=0.3, m=5, scale=(0.03, 0.1, 0.3), starts=2, T=30.0)
READ_OUT_FLOW = Experiment(
    slug="lenses-read-out",
    title="Patches along the read-out",
    quick=_QUICK,
    full=replace(_QUICK, d=3, m=8, scale=(0.01, 0.03, 0.1, 0.3, 1.0), starts=6, T=60.0),
)
