"""lenses-static-step: one change of W for every query, read off the block, against one step on a loss."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
    variables,
)
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.lenses.blocks import Blocks, Contexts, contexts, first_layer, key_value, limit_attention, unlabelled
from papers.lenses.theory import one_block
from papers.regression import shapes
from papers.regression.spectra import geometric_covariance
from papers.zhang.theory.optimum import Gamma

LIMIT, UNTRAINED = "limit of training", "untrained"
LAYERS = (LIMIT, UNTRAINED)
NAMES = {
    "bare": ("context query", "error of the query alone, no change of W"),
    "token": ("context query", "error with the change that is cut to this query"),
    "other": ("context query", "error with the change that is cut to another query"),
    "static": ("context query", "error with one change of W for all queries"),
    "miss": ("context query", "squared error of attention's label as a prediction, over the mean of y^2"),
}

CHANGES = {"bare": "none", "other": "cut to another query", "token": "cut to this query", "static": "one for all queries"}
"""How each change of W is told."""


@dataclass(frozen=True)
class StaticStep(Declaration):
    """Linear attention before a random MLP, one of each shape, with contexts and queries that are not in them.

    d, M      dimensions and lengths of contexts, one of each a shape
    N         training length, which enters the limit weights
    kappa     condition number of the covariance of inputs
    m         neurons of the MLP
    contexts  contexts of a shape, read by one MLP, each with untrained attention of its own; queries: of each context
    """

    d: Several[AtLeastTwo]
    M: Several[Count]
    N: Several[Count]
    kappa: Positive
    m: Count
    contexts: Count
    queries: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, M=self.M, N=self.N)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare blocks with their context and without it, with changes of W that are read off the block."""
        found = [[_compared(*self._block(seed, place, layer)) for place in range(len(self.d))] for layer in LAYERS]
        columns = variables(NAMES, found, "layer shape {}", "f4") | {
            "output": variable(
                "shape context query", [each["output"] for each in found[0]], "output with the context, limit weights"
            )
        }
        return xr.Dataset(columns, coords={"layer": list(LAYERS), "shape": shapes.told(d=self.d, M=self.M, N=self.N)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the block with one step on L_C beside it, its W changed by formula."""
        steps, misses = [], []
        for place in range(len(self.d)):
            block, drawn = self._block(seed, place, LIMIT)
            Lambda = self._covariance(seed, place)
            trained = Gamma(Lambda, self.N[place])
            steps.append(_stepped(block, drawn, trained))
            misses.append((_stepped(block, drawn, Lambda), _stepped(block, drawn, Gamma(Lambda, self.M[place]))))
        inverse, lengths = zip(*misses, strict=True)
        scale = abs(dataset.output).mean(["context", "query"]) + 0 * dataset.output
        errors = dataset[list(CHANGES)].to_dataarray("change").transpose("layer", "shape", "change", "context", "query")
        middle, largest = (each.values for each in (errors.median(["context", "query"]), errors.max(["context", "query"])))
        where = "layer shape change"
        return dataset.assign_coords(change=[*CHANGES.values()]).assign(
            typical=variable(where, middle, "median error over contexts and queries"),
            typical_low=variable(where, middle, "the same"),
            typical_high=variable(where, largest, "largest error over contexts and queries"),
            output_theory=variable("shape context query", steps, "output alone with W - grad L_C(0) Gamma^-1"),
            output_scale=scale.assign_attrs(long_name="mean size of the output of this shape", units="1"),
            output_near=near_misses("shape context query", {"Λ for Γ": inverse, "M for N in Γ": lengths}),
        )

    def _covariance(self, seed: int, place: int) -> Float[np.ndarray, "d d"]:
        return geometric_covariance(self.d[place], self.kappa, seed, f"static step/{place}/basis")

    def _block(self, seed: int, place: int, layer: str) -> tuple[Blocks, Contexts]:
        """Draw the block of a shape, with the limit's attention or a random one for each context, and its contexts."""
        d, role, Lambda = self.d[place], f"static step/{place}", self._covariance(seed, place)
        if layer == LIMIT:
            attention = limit_attention(Lambda, self.N[place], self.M[place])
        else:
            like = torch.zeros((), dtype=torch.float64)
            shape = (self.contexts, 1, d + 1, d + 1)
            V, K = (normal(stream(seed, f"{role}/{name}"), shape, like) / (d + 1) ** 0.5 for name in "VK")
            attention = key_value(V, K, self.M[place])
        drawn = contexts(seed, role, (self.contexts, self.M[place], self.queries), torch.tensor(Lambda))
        return Blocks(attention, first_layer(seed, role, self.m, d + 1, bias=0.1)), drawn


def _compared(block: Blocks, drawn: Contexts) -> dict[str, np.ndarray]:
    W, a = block.weights["W"], unlabelled(drawn.queries)
    whole = block.mixed(drawn.x, drawn.y, a)
    expected, patch = block.feed(whole), redirection(W, a, whole)
    changes = {"bare": 0 * W, "token": patch, "other": patch.roll(1, 1), "static": block.uncut(drawn.x, drawn.y)[:, None]}
    made = {name: block.feed(a[..., None, :], W + change)[..., 0, :] for name, change in changes.items()}
    truth = torch.einsum("sqd,sd->sq", drawn.queries, drawn.w)
    found = {name: ((each - expected).abs() / expected.abs().mean())[..., 0] for name, each in made.items()}
    found |= {"miss": (whole[..., -1] - truth).square() / truth.square().mean(), "output": expected[..., 0]}
    return {name: each.numpy() for name, each in found.items()}


def _stepped(block: Blocks, drawn: Contexts, Gamma: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "S Q"]:
    """Return the outputs alone, each context's W changed by its step."""
    W = block.weights["W"].numpy()
    steps = [one_block.step(W, Gamma, x.numpy(), y.numpy()) for x, y in zip(drawn.x, drawn.y, strict=True)]
    return block.feed(unlabelled(drawn.queries), torch.tensor(W + np.stack(steps)))[..., 0].numpy()


_QUICK = StaticStep(d=(3, 5), M=(11, 4), N=(7, 9), kappa=4.0, m=16, contexts=100, queries=10)
STATIC_STEP = Experiment(
    slug="lenses-static-step",
    title="One change of weights for every query",
    quick=_QUICK,
    full=replace(_QUICK, d=(3, 5, 7), M=(11, 4, 17), N=(7, 9, 31)),
)
