"""dherin-static-deep: static patches of trained networks of several blocks, fitted from the first block to the last."""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, variable
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import forward
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.fits import Ridge
from papers.dherin.network import Network
from papers.dherin.static_patches.static_medians import PARTS, median_interval, parts
from papers.dherin.static_rules import StaticPatch
from papers.dherin.trained import ManyBlocks, Training, regression, tasks, tokens, trained
from papers.dherin.trainings import FOUR_BLOCKS, TEN_BLOCKS

PATCHES = ("down projection", "all matrices")
"""Which matrices of each block are patched."""
TARGETS = ("own", "other context", "shuffled")
"""What the down projections are fitted to: states under the context, under another context at the same queries, at others."""


def down_only(strength: float) -> StaticPatch:
    """Return the patch of the down projections."""
    return StaticPatch(Ridge(strength), (), "W_down")


def every_matrix(strength: float) -> StaticPatch:
    """Return the patch of gate and up, then of the down projections."""
    return StaticPatch(Ridge(strength), ("W_gate", "W_up"), "W_down")


class Asked(NamedTuple):
    """All queries of every context: tokens alone, states in every block with the context, the predictions to reach.

    elsewhere: the states of the same queries behind another context.
    """

    alone: Float[Tensor, "C Q 1 D"]
    states: list[State]
    elsewhere: list[State]
    aim: Float[Tensor, "C Q"]
    none: Float[Tensor, "C Q"]
    label: Float[Tensor, "C Q"]


@dataclass(frozen=True)
class StaticDeep(Declaration):
    """``contexts`` of N examples for each network, K calibration queries each and ``queries`` new ones, from N(0, I).

    training, deeper  two networks of blocks with a gated MLP; their replicate 0 is taken
    N                 examples of a context; contexts: contexts of each network
    queries           new queries of a context, on which patches are tested; K: calibration queries of a context
    strength          lambda_0 of the ridge
    """

    training: Training
    deeper: Training
    N: Count
    contexts: Annotated[int, Ge(6)]
    queries: Count
    K: Several[Count]
    strength: Positive

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.training.model, ManyBlocks) or not isinstance(self.deeper.model, ManyBlocks):
            raise ValueError("the patches are those of gated MLPs: take trainings of ManyBlocks")
        if max(self.training.model.d, self.deeper.model.d) > self.N:
            raise ValueError("fewer examples than dimensions leave the task open: take N of at least d")
        if list(self.K) != sorted(set(self.K)):
            raise ValueError(f"K is {self.K}: give each number once, from the smallest to the largest")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit and test on every context of both networks."""
        settings = (self.training, self.deeper)
        cells = [self.readings(setting, seed) for setting in settings]
        depth = max(setting.model.depth for setting in settings)
        columns = {}
        for name, (dims, text) in NAMES.items():
            each = [median_interval(cell[name].numpy()) for cell in cells]
            if "block" in dims:
                each = [padded(row, depth) for row in each]
            columns[name] = variable(f"part {dims} network".split(), np.stack(each, -1).astype("f4"), text)
        coords = {"part": list(PARTS), "patch": list(PATCHES), "targets": list(TARGETS), "K": list(self.K)}
        blocks = {"block": np.arange(1, depth + 1), "network": [f"{setting.model.depth} blocks" for setting in settings]}
        return xr.Dataset(columns, coords=coords | blocks)

    def readings(self, training: Training, seed: int) -> dict[str, Tensor]:
        """Return all readings of one network, contexts last."""
        found = trained(training, seed, "cpu")
        network, weights = found.network, found.replicate(0)
        asked = self.ask(network, weights, training, seed)
        M = max(self.K)
        level = (asked.none - asked.aim)[:, M:].square().mean(-1)
        by_K = [self.fitted(network, weights, asked, k, level) for k in self.K]
        stacked = {name: torch.stack([one[name] for one in by_K], 1 if name != "held_out" else 0) for name in by_K[0]}
        scalars = {"task_icl": asked.aim - asked.label, "task_none": asked.none - asked.label}
        stacked["estimate"] = (stacked["held_out"] / stacked["error"][0]).log10()
        stacked["optimism"] = (stacked["calibration"][0] / stacked["error"][0]).log10()
        stacked["excess"] = (stacked["error"] / stacked["error"][:, -1:]).log10()
        stacked["rank"] = self.rank(network, weights, asked)
        return stacked | {"level": level} | {name: value[:, M:].square().mean(-1) for name, value in scalars.items()}

    def ask(self, network: Network, weights: Weights, training: Training, seed: int) -> Asked:
        """Draw contexts and queries, and pass them through the network with and without the context."""
        d, name, count = training.model.d, training.name or repr(training), max(self.K) + self.queries
        prompts = regression(d).sample(stream(seed, f"contexts/{name}"), (self.contexts,), self.N)
        x = normal(stream(seed, f"queries/{name}"), (self.contexts, count, d), prompts.x)
        queries = network.embed(weights, torch.cat([x, torch.zeros_like(x[..., :1])], -1)[..., None, :])
        context = network.embed(weights, tokens(prompts)[:, :-1])
        states, out = query_states(network, weights, context, queries)
        elsewhere, _ = query_states(network, weights, context.roll(1, 0), queries)
        none = network.states(weights, queries)[1]
        aim, none = (network.read(weights, rows)[..., -1] for rows in (out, none))
        return Asked(queries, states, elsewhere, aim, none, torch.einsum("cqd,cd->cq", x, tasks(prompts)))

    def fitted(self, network: Network, weights: Weights, asked: Asked, k: int, level: Float[Tensor, "C"]) -> dict[str, Tensor]:
        """Return the readings of patches fitted to the first k calibration queries."""
        M, each = max(self.K), {name: [] for name in ("error", "calibration", "task", "size")}
        for patch in (down_only(self.strength), every_matrix(self.strength)):
            patched = self.patched(network, weights, patch, asked, list(range(k)))
            found = predict(network, weights, patched, asked.alone)
            square = (found - asked.aim).square()
            each["error"].append(square[:, M:].mean(-1) / level)
            each["calibration"].append(square[:, :k].mean(-1) / level)
            each["task"].append((found - asked.label)[:, M:].square().mean(-1))
            each["size"].append(sizes(network, weights, patched))
        targets = [each["error"][0], *self.wrong(network, weights, asked, k, level)]
        found = {name: torch.stack(rows) for name, rows in (each | {"error_targets": targets}).items()}
        return found | {"held_out": self.estimate(network, weights, asked, k, level)}

    def wrong(self, network: Network, weights: Weights, asked: Asked, k: int, level: Float[Tensor, "C"]) -> list[Tensor]:
        """Return the errors of down projections fitted to the states of another context, and of other queries."""
        errors, new = [], slice(max(self.K), None)
        for states in (asked.elsewhere, [State(z.roll(1, 1), v.roll(1, 1)) for z, v in asked.states]):
            other = asked._replace(states=states)
            patched = self.patched(network, weights, down_only(self.strength), other, list(range(k)))
            errors.append((predict(network, weights, patched, asked.alone) - asked.aim)[:, new].square().mean(-1) / level)
        return errors

    def estimate(self, network: Network, weights: Weights, asked: Asked, k: int, level: Float[Tensor, "C"]) -> Tensor:
        """Return the cross-validated error: each part of the k calibration queries predicted by the fit to the rest."""
        square = torch.full((len(level), k), torch.nan, dtype=level.dtype)
        for held in parts(k):
            rest = [row for row in range(k) if row not in held]
            patched = self.patched(network, weights, down_only(self.strength), asked, rest)
            difference = predict(network, weights, patched, asked.alone[:, held]) - asked.aim[:, held]
            square[:, held] = difference.square()
        return square.mean(-1) / level

    def rank(self, network: Network, weights: Weights, asked: Asked) -> Float[Tensor, "L C"]:
        """Return the number of squared singular values of H above lambda in every block, for all calibration queries."""
        rows, alone = [], asked.alone[:, : max(self.K)]
        for block in network.blocks(weights):
            state = network.block.mix(block, alone)
            hidden = network.block.feed_forward.hidden(block, state.z)[..., 0, :]
            square = torch.linalg.svdvals(hidden).square()
            strength = self.strength * square.square().sum(-1) / square.sum(-1)
            rows.append((square > strength[:, None]).sum(-1).to(square))
            alone = network.block.feed(block, state)
        return torch.stack(rows)

    def patched(self, network: Network, weights: Weights, patch: StaticPatch, asked: Asked, rows: list[int]) -> list[Weights]:
        """Return the weights of the blocks patched on some of the queries."""
        states = [State(z[:, rows], v[:, rows]) for z, v in asked.states]
        return patch.network(network, weights, states, asked.alone[:, rows])


def query_states(
    network: Network, weights: Weights, context: Float[Tensor, "C N D"], queries: Float[Tensor, "C Q 1 D"]
) -> tuple[list[State], Float[Tensor, "C Q 1 D"]]:
    """Return each query's state in every block after the context, and the tokens that leave the last block.

    The same as ``network.states`` on (C, x) at the last place, for pre-norm blocks with causal attention: tokens of the
    context do not see the query, so they pass once for all queries.
    """
    states, joint = [], network.block.joint
    for block in network.blocks(weights):
        seen = joint.norm(block, "mix", context)[:, None].expand(-1, queries.shape[1], -1, -1)
        a = joint.layer(block, torch.cat([seen, joint.norm(block, "mix", queries)], -2))
        v = queries + a[..., None, :]
        states.append(State(joint.norm(block, "feed", v), v))
        queries, context = network.block.feed(block, states[-1]), network.block(block, context)
    return states, queries


def predict(network: Network, weights: Weights, blocks: list[Weights], alone: Float[Tensor, "C Q 1 D"]) -> Float[Tensor, "C Q"]:
    """Return the predictions of the blocks for queries alone."""
    return network.read(weights, forward(network, blocks, alone))[..., -1]


def sizes(network: Network, weights: Weights, patched: list[Weights]) -> Float[Tensor, "L C"]:
    """Return |change|_F over |weights|_F of every block, all its patched matrices together."""
    rows = []
    for old, new in zip(network.blocks(weights), patched, strict=True):
        changed = [name for name in old if new[name].ndim > old[name].ndim]
        square = sum((new[name] - old[name]).square().sum((-2, -1)) for name in changed)
        rows.append((square / sum(old[name].square().sum() for name in changed)).sqrt()[..., 0])
    return torch.stack(rows)


def padded(rows: np.ndarray, length: int) -> np.ndarray:
    """Fill the last dimension with NaN up to ``length``."""
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, length - rows.shape[-1])], constant_values=np.nan)


NAMES = {
    "error": ("patch K", "squared distance to the in-context predictions on new queries, over that without a patch"),
    "error_targets": ("targets K", "the same, down projection"),
    "calibration": ("patch K", "the same on the K calibration queries"),
    "held_out": ("K", "the same by cross-validation on the calibration queries, down projection"),
    "estimate": ("K", "log10 of the cross-validated error over that on new queries, down projection"),
    "optimism": ("K", "log10 of the error on the calibration queries over that on new queries, down projection"),
    "rank": ("block", "directions of what the unpatched down projection reads for the queries alone, above the ridge"),
    "excess": ("patch K", "log10 of the error on new queries over that with the most calibration queries"),
    "task": ("patch K", "squared error of the patched network to the labels of new queries"),
    "size": ("patch K block", "|change|_F over |weights|_F, all patched matrices of the block together"),
    "level": ("", "squared distance to the in-context predictions without a patch"),
    "task_icl": ("", "squared error of the network with its context"),
    "task_none": ("", "squared error of the network without context or patch"),
}
"""Readings: dimensions beside part and network, and what they are."""

_QUICK = StaticDeep(training=FOUR_BLOCKS, deeper=TEN_BLOCKS, N=40, contexts=8, queries=30, K=(1, 10, 100), strength=1e-6)
STATIC_DEEP = Experiment(
    slug="dherin-static-deep",
    title="Static patches of networks of four and ten blocks",
    section="3.4 (v4)",
    quick=_QUICK,
    full=replace(_QUICK, contexts=40, queries=200, K=(1, 2, 5, 10, 25, 50, 100, 200)),
)
