"""lenses-trained-blocks: blocks with linear or softmax attention and a linear or ReLU MLP, trained on tasks with a mean."""

from dataclasses import dataclass, replace
from typing import Literal

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
    NotNegative,
    Positive,
    Several,
    expectation,
    variable,
    variables,
)
from icl_lib.seeds import stream
from icl_lib.train.loop import summed, train
from icl_lib.train.optimizers import Adam, Parameters, linear_decay
from papers.lenses.s2_own_weights.block import Block, Shape, initial
from papers.lenses.theory import own_weights as own
from papers.regression import shapes
from papers.regression.spectra import geometric_covariance, standard_normal

WITH, WITHOUT = "with a mean", "of mean 0"
Architecture = Literal["linear, linear", "softmax, linear", "linear, ReLU", "softmax, ReLU"]
SHOWN = 60
"""Contexts whose steps are stored for the figure."""
NAMES = {
    "row": ("entry", "row of the MLP without a context"),
    "risk": ("", "squared error beyond the noise, on new prompts"),
    "unexplained": ("", "share of the context's step that the gradient at the MLP's own row leaves"),
    "unexplained_zero": ("", "share that the gradient at 0 leaves"),
    "unexplained_shuffled": ("", "share that the gradient of shuffled labels leaves"),
    "G": ("entry column", "the matrix that takes the gradient at the MLP's own row to the step"),
}


@dataclass(frozen=True)
class TrainedBlocks(Declaration):
    """Tasks w ~ N(mu, I), once with |mu| = ``mean`` and once with mu = 0, in dimensions and lengths, one of each a shape.

    blocks     attention and MLP of each; softmax attention has two heads, and no query attends to itself
    d, N       dimensions of inputs and examples of a prompt, one of each a shape
    mean       |mu| where the mean is not 0
    kappa      condition number of the covariance of inputs
    noise      standard deviation of the labels' noise
    m          neurons
    batch      prompts a step, the same for all networks
    steps      of Adam; rate: Adam's learning rate at the beginning, from where it falls linearly
    networks   of each block and each mean; the one that errs least is read
    contexts   from which steps are read; queries: at which each step is read, the same for all contexts
    """

    blocks: Several[Architecture]
    d: Several[AtLeastTwo]
    N: Several[Count]
    mean: Positive
    kappa: Positive
    noise: NotNegative
    m: Count
    batch: Count
    steps: Count
    rate: Positive
    networks: Count
    contexts: AtLeastTwo
    queries: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train; then read the row of each MLP alone, and how each of many contexts moves it."""
        found = [[self._trained(seed, name, place) for place in range(len(self.d))] for name in self.blocks]
        columns = variables(NAMES, [[each for each, _ in row] for row in found], "block shape tasks {}", "f4")
        steps = np.array([[steps for _, steps in row] for row in found])
        for name, values, words in zip(("step", "own", "zero"), np.moveaxis(steps, 2, 0), SERIES, strict=True):
            columns[name] = variable("block shape context entry", values.astype("f4"), words)
        told = {"block": list(self.blocks), "shape": shapes.told(d=self.d, N=self.N), "tasks": [WITH, WITHOUT]}
        return xr.Dataset(columns, coords=told)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Measure the rows from the mean of the tasks, and the matrices from Gamma^-1 and Lambda^-1."""
        cells = [self._theory(seed, place) for place in range(len(self.d))]
        mu, shrunk, inverse, plain, short = (np.array([self._padded(each[k]) for each in cells]) for k in range(5))
        size = xr.DataArray([each[5] for each in cells], dims="shape")
        optima = xr.DataArray([self._risk_of_optima(seed, place) for place in range(len(self.d))], dims=["shape", "tasks"])

        def off(name: str, target: np.ndarray, dims: list[str], over, words: str) -> xr.DataArray:
            distance = ((dataset[name] - xr.DataArray(target, dims=["shape", *dims])) ** 2).sum(dims) ** 0.5 / over
            return distance.assign_attrs(long_name=words, units="1")

        return dataset.assign(
            row_off=off("row", mu, ["entry"], self.mean, "distance of the row from mu, over |mu|"),
            row_off_shrunk=off("row", shrunk, ["entry"], self.mean, "distance of the row from Gamma^-1 Lambda mu, over |mu|"),
            row_size=off("row", 0 * mu, ["entry"], self.mean, "length of the row over |mu|"),
            G_off=off("G", inverse, ["entry", "column"], size, "distance of the matrix from Gamma^-1, over its norm"),
            G_off_plain=off("G", plain, ["entry", "column"], size, "distance of the matrix from Lambda^-1"),
            G_off_short=off("G", short, ["entry", "column"], size, "distance of the matrix from (Gamma - Lambda/N)^-1"),
            risk_optimum=(0 * dataset.risk + optima).assign_attrs(
                long_name="what its block errs on the same prompts", units="1"
            ),
        )

    @expectation
    def _risk_of_optima(self, seed: int, place: int) -> list[float]:
        """Return what the blocks of the least risk R* err on the prompts on which ``risk`` is read, with a mean and without."""
        (Lambda, mu), (tokens, x_query, target) = self._law(seed, place), self._prompts(seed, place, "risk", 4 * self.contexts)
        inverse = torch.tensor(np.linalg.inv(own.Gamma(Lambda, np.eye(self.d[place]), self.noise, self.N[place]))).float()
        found, rows = [], (torch.tensor(mu).float(), torch.zeros(self.d[place]))
        for row, each, values in zip(rows, tokens[:: self.networks], target[:: self.networks], strict=True):
            answer = row + _descent(row, each[..., :-1], each[..., -1]) @ inverse
            found.append(((x_query * answer).sum(-1) - values).square().mean().item())
        return found

    @expectation
    def _theory(self, seed: int, place: int) -> tuple:
        """Return mu, Gamma^-1 Lambda mu, Gamma^-1, Lambda^-1 and (Gamma - Lambda/N)^-1 of a shape, the norm of Gamma^-1."""
        (Lambda, mu), N, one = self._law(seed, place), self.N[place], np.eye(self.d[place])
        Gamma = own.Gamma(Lambda, one, self.noise, N)
        inverse, plain, short = (np.linalg.inv(each) for each in (Gamma, Lambda, Gamma - Lambda / N))
        return mu, inverse @ Lambda @ mu, inverse, plain, short, np.linalg.norm(inverse)

    def _padded(self, part: Float[np.ndarray, "..."]) -> np.ndarray:
        """Fill all axes up with zeros to the largest dimension, so that smaller ones stand in the same table."""
        return np.pad(part, [(0, max(self.d) - each) for each in part.shape]) if part.ndim else part

    def _filled(self, steps: Float[np.ndarray, "3 B d"]) -> np.ndarray:
        """Fill up with what is no number, which is not drawn."""
        return np.pad(steps, [(0, 0), (0, 0), (0, max(self.d) - steps.shape[-1])], constant_values=np.nan)

    def _law(self, seed: int, place: int) -> tuple[np.ndarray, np.ndarray]:
        d, role = self.d[place], self._role(place)
        mu = standard_normal((d,), seed, f"{role}/mean")
        return geometric_covariance(d, self.kappa, seed, f"{role}/basis"), self.mean * mu / np.linalg.norm(mu)

    def _role(self, place: int) -> str:
        return f"trained blocks/{self.d[place]}/{self.N[place]}"

    def _prompts(self, seed: int, place: int, role: str, B: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw tokens (R, B, N, D) for tasks of both means with the same deviations, queries and their values <w, x>."""
        Lambda, mu = self._law(seed, place)
        d, N = self.d[place], self.N[place]
        root = torch.linalg.cholesky(torch.tensor(Lambda)).float()
        draws = stream(seed, f"{self._role(place)}/{role}")
        x, x_query = (torch.randn(*shape, d, generator=draws) @ root.mT for shape in ((B, N), (B,)))
        means = torch.tensor(mu).float() * torch.tensor([1.0, 0.0]).repeat_interleave(self.networks)[:, None]
        w = torch.randn(B, d, generator=draws) + means[:, None]
        y = torch.einsum("bnd,rbd->rbn", x, w) + self.noise * torch.randn(B, N, generator=draws)
        return torch.cat([x.expand(len(w), *x.shape), y[..., None]], -1), x_query, torch.einsum("bd,rbd->rb", x_query, w)

    def _trained(self, seed: int, name: str, place: int) -> tuple[list[dict[str, np.ndarray]], np.ndarray]:
        attention, feed = name.split(", ")
        block, heads = Block(attention, feed), 2 if attention == "softmax" else 1
        shape = Shape(networks=2 * self.networks, heads=heads, neurons=self.m, d=self.d[place])

        def loss(weights: Parameters, prompts: tuple[Tensor, Tensor, Tensor]) -> Float[Tensor, "R"]:
            tokens, x_query, target = prompts
            return (block(weights, tokens, x_query[:, None])[..., 0] - target).square().mean(-1)

        trained = train(
            loss,
            initial(stream(seed, f"{self._role(place)}/{name}"), shape, biases=feed == "ReLU"),
            lambda step: self._prompts(seed, place, f"data/{step}", self.batch),
            Adam(self.rate),
            self.steps,
            differentiate=summed,
            schedule=linear_decay,
            title=f"{name}, d={self.d[place]} N={self.N[place]}",
        ).parameters
        with torch.no_grad():
            risks = loss(trained, self._prompts(seed, place, "risk", 4 * self.contexts)).reshape(2, -1)
            best = risks.argmin(-1) + torch.arange(2) * self.networks
            found = [self._read(seed, block, trained, place, int(network)) for network in best]
        told = [each | {"risk": risk.min().item()} for (each, _), risk in zip(found, risks, strict=True)]
        return told, found[0][1]

    def _read(
        self, seed: int, block: Block, weights: Parameters, place: int, network: int
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return what one network's row is, and what is left of its steps by each gradient."""
        one = {name: each[network : network + 1] for name, each in weights.items()}
        tokens = self._prompts(seed, place, "steps", self.contexts)[0][network : network + 1]
        queries = self._prompts(seed, place, "queries", self.queries)[1]
        fit = torch.linalg.pinv(queries)
        row = torch.einsum("dq,rbq->rbd", fit, block.alone(one, queries))[0, 0]
        step = torch.einsum("dq,rbq->rbd", fit, block(one, tokens, queries.expand(self.contexts, -1, -1)))[0] - row
        x, y = tokens[0, ..., :-1], tokens[0, ..., -1]
        shuffled = y[:, torch.randperm(y.shape[-1], generator=stream(seed, f"{self._role(place)}/shuffled"))]
        gradients = [_descent(row, x, y), _descent(0 * row, x, y), _descent(row, x, shuffled)]
        (left, G), (zero, G_zero), (chance, _) = (_explained(step, each) for each in gradients)
        steps = torch.stack([step, gradients[0] @ G, gradients[1] @ G_zero])[:, :SHOWN]
        names = {"row": row, "unexplained": left, "unexplained_zero": zero, "unexplained_shuffled": chance, "G": G.mT}
        return {name: self._padded(each.numpy()) for name, each in names.items()}, self._filled(steps.numpy())


def _descent(row: Float[Tensor, "d"], x: Float[Tensor, "B N d"], y: Float[Tensor, "B N"]) -> Float[Tensor, "B d"]:
    """Return -grad L_C(row) of each context."""
    return torch.einsum("bn,bnd->bd", y - x @ row, x) / y.shape[-1]


def _explained(step: Float[Tensor, "B d"], gradient: Float[Tensor, "B d"]) -> tuple[Tensor, Float[Tensor, "d d"]]:
    """Return the share of the steps' squares that no matrix times the gradient explains, and the matrix that leaves least."""
    G = torch.linalg.lstsq(gradient, step).solution
    return (step - gradient @ G).square().sum() / step.square().sum(), G


SERIES = ("the context's step", "what the gradient at the MLP's own row explains", "what the gradient at 0 explains")
_QUICK = TrainedBlocks(
    blocks=("linear, linear", "softmax, ReLU"),
    d=(3, 2),
    N=(16, 10),
    mean=1.8,
    kappa=3.0,
    noise=0.3,
    m=16,
    batch=256,
    steps=500,
    rate=0.04,
    networks=4,
    contexts=400,
    queries=64,
)
TRAINED_BLOCKS = Experiment(
    slug="lenses-trained-blocks",
    title="Trained blocks step from their own weights",
    quick=_QUICK,
    full=replace(
        _QUICK,
        blocks=("linear, linear", "softmax, linear", "linear, ReLU", "softmax, ReLU"),
        batch=512,
        steps=3000,
        rate=0.01,
        contexts=1000,
    ),
)
