"""ahn-trained: layers with full matrices, trained on fresh contexts from small random ones."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    Positive,
    Several,
    expectation,
    variable,
    variables,
)
from icl_lib.measure.estimate import mean
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from icl_lib.train.loop import summed, train
from icl_lib.train.optimizers import Adam, linear_decay
from papers.ahn import layers
from papers.ahn.theory import depth, wishart
from papers.regression import shapes

NAMES = {
    "error": ("network", "error of the trained layers over that of no answer"),
    "gap": ("network", "this error less that of the best step sizes, on the same contexts"),
    "gap_se": ("network", "standard error"),
    "off": ("network", "largest share of a matrix that is no multiple of I"),
    "off_drawn": ("network", "the same of the matrices before training"),
    "step": ("network root", "mean diagonals of the matrices, largest first"),
}


@dataclass(frozen=True)
class Trained(Declaration):
    """Layers A_1, ..., A_L in the label slot, all entries free; tasks and inputs N(0, I), queries outside of the context.

    d, N         dimensions and examples, one of each a shape
    layers       numbers of layers
    networks     of each
    size         standard deviation of the entries at the initialisation
    batch        contexts a step, the same for all networks; the mean over tasks and queries is taken exactly
    steps, rate  of Adam, whose rate falls linearly
    contexts     on which errors are measured
    """

    d: Several[AtLeastTwo]
    N: Several[AtLeastTwo]
    layers: Several[Count]
    networks: Count
    size: Positive
    batch: Count
    steps: Count
    rate: Positive
    contexts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train; then measure errors beside those of the best step sizes, and how far matrices are from multiples of I."""
        found = [[self._trained(seed, d, N, L) for L in self.layers] for d, N in zip(self.d, self.N, strict=True)]
        columns = variables(NAMES, found, "shape layers {}", "f8")
        columns["gap_se"].attrs["blocks"] = self.contexts
        return xr.Dataset(columns, coords={"shape": shapes.told(d=self.d, N=self.N), "layers": list(self.layers)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the least error of step sizes beside it, that of other step sizes, and the step sizes."""
        found = dataset.assign(
            least=self._table(lambda d, N, L: depth.least_error(_moments(d, N, L), L), "layers", "least error of step sizes"),
            divisor=self._table(
                lambda d, N, L: depth.error(_moments(d, N, L), _steps(d, N, L) * N / (N - 1)), "layers", "with N - 1 for N"
            ),
            more=self._table(lambda d, N, L: depth.least_error(_moments(d, N + 1, L), L), "layers", "least at N + 1"),
            step_theory=self._table(lambda *shape: self._filled(_steps(*shape)), "layers root", "best step sizes"),
            step_divisor=self._table(
                lambda d, N, L: self._filled(_steps(d, N, L) * N / (N - 1)), "layers root", "the same with N - 1 for N"
            ),
        )
        same = xr.zeros_like(found.gap)
        gaps = {"": found.gap, "_se": found.gap_se, "_divisor": found.divisor - found.least, "_more": found.more - found.least}
        words = {"long_name": "error less the least one of step sizes, as a share of it", "units": "1"}
        return found.assign({f"excess{end}": (each / found.least + same).assign_attrs(words) for end, each in gaps.items()})

    @expectation
    def _table(self, formula, dims: str, words: str) -> xr.Variable:
        pairs = zip(self.d, self.N, strict=True)
        return variable(f"shape {dims}", [[formula(*pair, L) for L in self.layers] for pair in pairs], words)

    def _filled(self, steps: Float[np.ndarray, "L"]) -> Float[np.ndarray, "most"]:
        """Fill up with zeros, so that fewer layers stand in the same table."""
        return np.pad(steps, (0, max(self.layers) - len(steps)))

    def _covariances(self, seed: int, role: str, B: int, N: int, d: int) -> Float[Tensor, "B d d"]:
        return torch.cat([layers.covariance(x) for x in layers.examples(seed, f"trained/{d}/{N}/{role}", B, N, d)])

    def _trained(self, seed: int, d: int, N: int, L: int) -> dict[str, np.ndarray]:
        like = torch.zeros((), dtype=torch.float64)
        drawn = self.size * normal(stream(seed, f"trained/{d}/{N}/{L}/A"), (self.networks, L, d, d), like)
        A = train(
            lambda weights, S: _errors(weights["A"], S).mean(-1),
            {"A": drawn},
            lambda step: self._covariances(seed, f"{L}/data/{step}", self.batch, N, d),
            Adam(self.rate),
            self.steps,
            differentiate=summed,
            schedule=linear_decay,
            title=f"d={d} N={N}, {L} layers",
        ).parameters["A"]
        S = self._covariances(seed, f"{L}/test", self.contexts, N, d)
        best = layers.steps(_steps(d, N, L), d)
        with torch.no_grad():
            errors = _errors(A, S)
            gap = mean(errors - _errors(best[None], S))
        diagonal = A.diagonal(dim1=-2, dim2=-1).mean(-1).sort(-1, descending=True).values
        return {
            "error": errors.mean(-1).numpy(),
            "gap": gap.value,
            "gap_se": gap.standard_error,
            "off": _off(A).numpy(),
            "off_drawn": _off(drawn).numpy(),
            "step": np.stack([self._filled(each) for each in diagonal.numpy()]),
        }


def _errors(A: Float[Tensor, "R L d d"], S: Float[Tensor, "B d d"]) -> Float[Tensor, "R B"]:
    """Return the mean squared error over tasks and queries of each context, over d."""
    return layers.left(A[:, None], S).square().sum((-1, -2)) / S.shape[-1]


def _off(A: Float[Tensor, "R L d d"]) -> Float[Tensor, "R"]:
    """Return |A - (tr A/d) I| over |A|, of the layer where it is largest."""
    scalar = A.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] * torch.eye(A.shape[-1], dtype=A.dtype)
    return ((A - scalar).norm(dim=(-1, -2)) / A.norm(dim=(-1, -2))).amax(-1)


def _moments(d: int, N: int, L: int) -> tuple:
    return wishart.moments(d, N, 2 * L)


def _steps(d: int, N: int, L: int) -> Float[np.ndarray, "L"]:
    return depth.step_sizes(_moments(d, N, L), L)


_QUICK = Trained(d=(3, 5), N=(10, 20), layers=(1, 2), networks=2, size=0.1, batch=256, steps=400, rate=0.03, contexts=20_000)
TRAINED = Experiment(
    slug="ahn-trained",
    title="Trained layers end at multiples of the identity",
    quick=_QUICK,
    full=replace(_QUICK, d=(5, 5, 10), N=(10, 20, 20), layers=(1, 2, 3), networks=3, batch=512, steps=1500, contexts=100_000),
)
