"""dherin-positions: the update of every token in every block from the block's true input, the query alone as base."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Positive, Several, expectation, variable
from icl_lib.models.contextual.blocks import Block, State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import redirection
from icl_lib.patches.sites import Nowhere
from papers.dherin.all_positions.position_blocks import Architecture, Pair, Variant, draw, states, theory_output, variants
from papers.dherin.distance import relative
from papers.dherin.theory import positions


@dataclass(frozen=True)
class Positions(Declaration):
    """Random networks of every variant, each on prompts of its own.

    architecture   variants change its skips, norms and causality; shapes: further (d, heads, N) in its own variant, with fewer
                   prompts in proportion when they are longer
    N              examples of a prompt; variants: blocks that are measured, by what they have
    networks       random networks of a variant; prompts: prompts shown to a network
    epsilon        in the denominator, as in the published code; scales: factors on what W reads for the query alone
    """

    architecture: Architecture
    N: Count
    variants: Several[Variant]
    shapes: tuple[tuple[Count, Count, Count], ...]
    networks: Count
    prompts: Count
    epsilon: Positive
    scales: Several[Positive]

    def __post_init__(self):
        super().__post_init__()
        self.cases()  # heads that do not divide d + 1 are refused here

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare every block's output at every token with what the patched block makes of the query alone."""
        cases = self.cases()
        rows = [self.read(name, shape, N, seed) for name, (shape, N) in cases.items()]
        columns = {
            name: variable("variant block network", np.stack([row[name] for row in rows]), text) for name, text in NAMES.items()
        }
        map_text = "|patched - full| / |full|, worst prompt and network of the first variant"
        columns["by_position"] = variable("block position", rows[0]["by_position"].max(-1), map_text)
        cost = [self.cost(f"{s}", seed) for s in range(self.networks)]
        for name, text in COST.items():
            columns[name] = variable("scale network", np.stack([one[name] for one in cost], -1), text)
        squares = np.stack([one["squares"] for one in cost], 1)
        columns["squares"] = variable("scale network prompt", squares, "|n|^2 of what W reads for the query alone")
        places = {"block": np.arange(1, self.architecture.blocks + 1), "position": np.arange(1, self.N + 2)}
        return xr.Dataset(columns, coords={"variant": list(cases), "scale": list(self.scales)} | places)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the share that epsilon leaves out beside what the update misses."""
        square = np.sort(dataset.squares.values, -1)[..., self.prompts // 2]  # torch's median: the lower share of two
        median = positions.missing_share(square, self.epsilon)
        return dataset.assign(
            square_missing=variable("scale network", square, "|n|^2 at which the median share is missed"),
            missing_theory=variable("scale network", median, "epsilon / (|n|^2 + epsilon), median"),
            epsilon=variable("", self.epsilon, "what is added to |n|^2"),
        )

    def cases(self) -> dict[str, tuple[Architecture, int]]:
        """Return the architecture and prompt length of every variant."""
        cases = {name: (shape, self.N) for name, shape in variants(self.architecture, self.variants).items()}
        for d, heads, N in self.shapes:
            shape = replace(self.architecture, d=d, heads=heads)
            cases[f"d = {d}, {heads} head{'s' * (heads > 1)}, N = {N}"] = shape, N
        return cases

    def read(self, name: str, shape: Architecture, N: int, seed: int) -> dict[str, np.ndarray]:
        """Return the readings of one variant by block, networks last."""
        each = []
        for s in range(self.networks):
            prompts = max(1, self.prompts * self.N // max(N, self.N))
            network, weights, sequence = draw(shape, N, prompts, f"{name}/{s}", seed)
            blocks = []
            for block in network.blocks(weights):
                pair = states(network.block, block, sequence, sequence[:, -1:])
                out = network.block.feed(block, pair.full)[..., 0, :]
                blocks.append(exactness(network.block, shape, block, pair, out) | ranks(network.block, block, sequence, pair))
                sequence = out
            each.append({key: np.stack([one[key] for one in blocks]) for key in blocks[0]})
        return {key: np.stack([one[key] for one in each], -1) for key in each[0]}

    def cost(self, name: str, seed: int) -> dict[str, np.ndarray]:
        """Return what epsilon costs when the state of the query alone is scaled: the missing share, and the outputs' errors."""
        network, weights, sequence = draw(self.architecture, self.N, self.prompts, f"epsilon/{name}", seed)
        block = network.blocks(weights)[0]
        bare, full = states(network.block, block, sequence, sequence[:, -1:])
        expected, rows = network.block.feed(block, full), []
        for scale in self.scales:
            small = State(scale * bare.z, full.v)
            square = small.z[:, 0, 0].square().sum(-1)
            exact = redirection(block["W"], small.z[..., 0, :], full.z[..., 0, :])
            change = torch.einsum("mn,btn->btm", block["W"], (full.z - small.z)[..., 0, :])
            row = small.z[..., 0, :] / (square + self.epsilon)[:, None, None]
            damped = torch.einsum("btm,btn->btmn", change, row.expand(*change.shape[:-1], -1))
            made = torch.einsum("btmn,btn->btm", damped, small.z[..., 0, :])
            missing = ((change - made).norm(dim=-1) / change.norm(dim=-1)).median()
            found = [network.block.feed({**block, "W": block["W"] + D}, small) for D in (exact, damped)]
            errors = [relative(one, expected)[..., 0] for one in found]
            rows.append(
                {
                    "squares": square,
                    "square": square.median(),
                    "missing": missing,
                    "error_exact": errors[0].amax(),
                    "error_epsilon": errors[1].median(),
                }
            )
        return {key: torch.stack([row[key] for row in rows]).numpy() for key in rows[0]}


def exactness(
    block: Block, shape: Architecture, weights: Weights, pair: Pair, out: Float[Tensor, "B T D"]
) -> dict[str, np.ndarray]:
    """Return the errors in one block; the fault is to leave out b', or without skips the update of the token before."""
    error = relative(theory_output(block, shape.site(), weights, pair), out).amax(0)
    shortest = pair.bare.z.square().sum(-1).amin()
    fault, expected = theory_output(block, Nowhere(), weights, pair), out
    if not shape.skips:
        fault, expected = fault[:, :-1], out[:, 1:]
    return {
        "error": error.amax().numpy(),
        "fault": relative(fault, expected).amax().numpy(),
        "shortest": shortest.numpy(),
        "by_position": error.numpy(),
    }


def ranks(block: Block, weights: Weights, sequence: Float[Tensor, "B T D"], pair: Pair) -> dict[str, np.ndarray]:
    """Return what shows the rank of the summed update: singular values and ranks in both precisions.

    The other base: every token has itself alone as base, so the row vectors differ. Ranks count singular values beyond the
    rounding of W and of the sum, whose terms may cancel.
    """
    single, rows = {name: w.float() for name, w in weights.items()}, sequence.float()
    own = Pair(block.mix(weights, sequence[..., None, :]), pair.full)
    summed, own, half = total(weights, pair), total(weights, own), total(single, states(block, single, rows, rows[:, -1:]))
    found = {"rank": summed, "rank_single": half, "rank_cast": half.double()}
    found = {name: rank(matrix, weights["W"].norm().item()).double().mean() for name, matrix in found.items()}
    for name, matrix in {"second": summed, "second_own_base": own}.items():
        values = torch.linalg.svdvals(matrix)
        found[name] = (values[:, 1] / (values[:, 0] + weights["W"].norm())).amax()
    return {name: value.numpy() for name, value in found.items()}


def total(weights: Weights, pair: Pair) -> Float[Tensor, "B m n"]:
    """Return sum_i DeltaW_i."""
    return redirection(weights["W"], pair.bare.z[..., 0, :], pair.full.z[..., 0, :]).sum(1)


def rank(matrix: Float[Tensor, "B m n"], size: float) -> Int[Tensor, "B"]:
    """Return the numerical rank of matrices made of terms of a size, by torch's tolerance for their own largest or that."""
    tolerance = max(matrix.shape[-2:]) * torch.finfo(matrix.dtype).eps
    return torch.linalg.matrix_rank(matrix, atol=tolerance * size, rtol=tolerance)


NAMES = {
    "error": "|patched - full| / |full| at the block's output, worst token and prompt",
    "fault": "the same with b' left out; without skips, with the update of the token before",
    "shortest": "|n|^2 of what W reads for the query alone, least over prompts",
    "second": "second singular value of the summed update over the first plus |W|, worst prompt",
    "second_own_base": "the same when every token is its own base",
    "rank": "numerical rank of the summed update, mean over prompts",
    "rank_single": "the same in float32",
    "rank_cast": "the same for float32 updates, cast to float64 before the rank is taken",
}
COST = {
    "square": "|n|^2 of what W reads for the query alone, median",
    "missing": "share of W (n_i - n) that the update with epsilon misses, median over tokens",
    "error_exact": "|patched - full| / |full| at the output without epsilon, worst token",
    "error_epsilon": "the same with epsilon, median token",
}

_QUICK = Positions(
    architecture=Architecture(d=2, heads=3, blocks=5, widening=4, skips=True, norms=False, causal=True),
    N=50,
    variants=("skips", "skips, norms", "not causal", "not causal, norms", "no skips", "no skips, norms"),
    shapes=((2, 1, 50), (9, 1, 50), (2, 3, 200)),
    networks=2,
    prompts=3,
    epsilon=1e-8,
    scales=(1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
)
POSITIONS = Experiment(
    slug="dherin-positions",
    title="Updates at all positions and in all blocks",
    section="sequel 1",
    quick=_QUICK,
    full=replace(_QUICK, shapes=((2, 1, 50), (9, 1, 50), (9, 5, 200), (2, 3, 1000)), networks=12, prompts=8),
)
