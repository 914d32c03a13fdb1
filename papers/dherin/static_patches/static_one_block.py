"""dherin-static-one-block: one change of W for all queries of a context, fitted to K of them, in the network of one block."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Several, variable
from icl_lib.models.contextual.weights import Weights
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.fits import LeastSquares
from papers.dherin.network import Network
from papers.dherin.static_patches.static_medians import PARTS, median_interval, parts
from papers.dherin.static_rules import Average, affine
from papers.dherin.trained import OneBlock, Trained, Training, regression, tasks, tokens, trained, untrained
from papers.dherin.trainings import ONE_BLOCK

FITS = ("least squares", "average", "average times rank", "affine")
"""How the change is made of K pairs; affine changes the bias b as well."""
TARGETS = ("own", "other context", "shuffled")
"""What least squares is fitted to: the context's own changes, another context's at the same queries, its own at others."""
NETWORKS = ("trained", "before training")


class Asked(NamedTuple):
    """All queries of the contexts of one network: the calibration ones, then the new ones.

    changes: what the context changes; elsewhere: what another context would change at the same queries.
    """

    reads: Float[Tensor, "C Q n"]
    changes: Float[Tensor, "C Q m"]
    elsewhere: Float[Tensor, "C Q m"]
    aim: Float[Tensor, "C Q"]
    label: Float[Tensor, "C Q"]

    def rows(self, some: slice | list[int]) -> "Asked":
        """Return some of the queries."""
        return Asked(*(part[:, some] for part in self))


@dataclass(frozen=True)
class StaticOneBlock(Declaration):
    """Contexts of N examples; queries from N(0, I) on a span: all of R^d, and the line of the first coordinate.

    N          examples of a context
    contexts   per network; queries: new ones per context
    K          numbers of calibration queries; those around the dimension of each span are added
    """

    training: Training
    N: Count
    contexts: Count
    queries: Count
    K: Several[Count]

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.training.model, OneBlock):
            raise ValueError("the patch is one of W in one block: take a training of OneBlock")
        if self.training.model.d > self.N:
            raise ValueError("fewer examples than dimensions leave the task open: take N of at least d")
        if self.contexts * self.training.replicates < 6:
            raise ValueError("an interval for a median needs 6 contexts or more, those of all replicates together")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit and test on every context of every trained network, and of the networks before their training."""
        d, both = self.training.model.d, (trained(self.training, seed, "cpu"), untrained(self.training, seed))
        spans = sorted({1, d})
        K = sorted({*self.K, *(k for span in spans for k in (span - 1, span, span + 1) if k)})
        cells = [[self.readings(found, span, K, seed) for span in spans] for found in both]
        columns = {}
        for name, (dims, text) in NAMES.items():
            values = np.stack([np.stack([cell[name] for cell in row], -1) for row in cells], -1)
            columns[name] = variable(f"part {dims} span network".split(), values.astype("f4"), text)
        coords = {"part": list(PARTS), "fit": list(FITS), "targets": list(TARGETS), "K": K, "span": spans}
        return xr.Dataset(columns, coords=coords | {"network": list(NETWORKS)})

    def readings(self, found: Trained, span: int, K: list[int], seed: int) -> dict[str, np.ndarray]:
        """Return medians and intervals (part, ...) over the contexts of all replicates."""
        network, each = found.network, []
        for s in range(found.replicates):
            block = network.blocks(found.replicate(s))[0]
            each.append(self.read(network, block, self.ask(network, block, span, max(K), f"{s}", seed), K))
        return {name: median_interval(np.concatenate([one[name] for one in each], -1)) for name in NAMES}

    def ask(self, network: Network, block: Weights, span: int, calibration: int, name: str, seed: int) -> Asked:
        """Draw contexts and queries, and pass them through the layer with and without the context."""
        d, count = self.training.model.d, calibration + self.queries
        prompts = regression(d).sample(stream(seed, f"contexts/{name}"), (self.contexts,), self.N)
        x = normal(stream(seed, f"queries/{name}"), (self.contexts, count, d), prompts.x)
        x[..., span:] = 0
        queries = torch.cat([x, torch.zeros_like(x[..., :1])], -1)[..., None, :]
        context = tokens(prompts)[:, None, :-1].expand(-1, count, -1, -1)
        layer, mlp = network.block.joint.layer, network.block.feed_forward
        bare, *full = (layer(block, torch.cat([*seen, queries], -2)) for seen in ((), (context,), (context.roll(1, 0),)))
        changes = [torch.einsum("mn,cqn->cqm", block["W"], each - bare) for each in full]
        label = torch.einsum("cqd,cd->cq", x, tasks(prompts))
        return Asked(bare, *changes, network.read({}, mlp(block, full[0])), label)

    def read(self, network: Network, block: Weights, asked: Asked, K: list[int]) -> dict[str, np.ndarray]:
        """Return all readings of one network, contexts last."""
        M = max(K)
        none = predict(network, block, asked, torch.zeros_like(block["W"]))
        level = (none - asked.aim)[:, M:].square().mean(-1)
        rank = torch.linalg.matrix_rank(asked.reads)
        by_K = [self.fitted(network, block, asked, (k, M, int(rank.max())), level) for k in K]
        once = {
            "level": level,
            "task_icl": (asked.aim - asked.label)[:, M:].square().mean(-1),
            "task_none": (none - asked.label)[:, M:].square().mean(-1),
            "rank": rank.double(),
        }
        stacked = {name: torch.stack([one[name] for one in by_K], -2) for name in by_K[0]}
        stacked["excess"] = (stacked["error"] / stacked["error"][:, -1:]).log10()
        return {name: value.numpy() for name, value in (stacked | once).items()}

    def fitted(
        self, network: Network, block: Weights, asked: Asked, sizes: tuple[int, int, int], level: Float[Tensor, "C"]
    ) -> dict[str, Tensor]:
        """Return the readings of fits to the first k of M calibration queries of a rank (k, M, rank), contexts last."""
        k, M, rank = sizes

        def error(D: Tensor, c: Tensor | None = None, rows: slice | list[int] = slice(M, None)) -> Tensor:
            some = asked.rows(rows)
            return (predict(network, block, some, D, c) - some.aim).square().mean(-1) / level

        least, H, T = LeastSquares(), asked.reads[:, :k], asked.changes[:, :k]
        D, new = least(H, T), asked.rows(slice(M, None))
        shuffled = T.roll(1, 1) if k > 1 else asked.changes[:, 1:2]
        estimate = [len(held) / k * error(least(*without(held, H, T)), rows=held) for held in parts(k)]
        return {
            "error": torch.stack([error(D), error(Average()(H, T)), error(Average(float(rank))(H, T)), error(*affine(H, T))]),
            "error_targets": torch.stack([error(D), error(least(H, asked.elsewhere[:, :k])), error(least(H, shuffled))]),
            "calibration": error(D, rows=slice(0, k)),
            "held_out": sum(estimate) if k > 1 else level * torch.nan,
            "task": (predict(network, block, new, D) - new.label).square().mean(-1),
            "size": D.norm(dim=(-2, -1)) / block["W"].norm(),
        }


def without(held: list[int], H: Tensor, T: Tensor) -> tuple[Tensor, Tensor]:
    """Return reads and changes without some of the queries."""
    rest = [row for row in range(H.shape[1]) if row not in held]
    return H[:, rest], T[:, rest]


def predict(
    network: Network, block: Weights, asked: Asked, D: Float[Tensor, "*C m n"], c: Float[Tensor, "C m"] | None = None
) -> Float[Tensor, "C Q"]:
    """Return the predictions without the context, W changed by D and b by c."""
    b = block["b"] if c is None else block["b"] + c
    return network.read({}, network.block.feed_forward({**block, "W": block["W"] + D, "b": b}, asked.reads))


NAMES = {
    "error": ("fit K", "squared distance to the in-context predictions on new queries, over that without a patch"),
    "error_targets": ("targets K", "the same, least squares"),
    "excess": ("fit K", "log10 of the error over that with the most calibration queries"),
    "calibration": ("K", "the same on the K calibration queries"),
    "held_out": ("K", "the same by cross-validation on the calibration queries"),
    "task": ("K", "squared error of the patched network, least squares, to the labels of new queries"),
    "size": ("K", "|DeltaW|_F over |W|_F, least squares"),
    "level": ("", "squared distance to the in-context predictions without a patch"),
    "task_icl": ("", "squared error of the network with its context"),
    "task_none": ("", "squared error of the network without context or patch"),
    "rank": ("", "rank of what W reads for all queries together"),
}
"""Readings: dimensions beside part, span and network, and what they are."""

_QUICK = StaticOneBlock(training=ONE_BLOCK, N=100, contexts=30, queries=50, K=(1, 3, 25, 50))
STATIC_ONE_BLOCK = Experiment(
    slug="dherin-static-one-block",
    title="One static patch for many queries, one block",
    section="3.4 (v4)",
    quick=_QUICK,
    full=replace(_QUICK, contexts=100, queries=200, K=(1, 2, 3, 5, 10, 25, 50, 100, 200)),
)
