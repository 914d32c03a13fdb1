"""dherin-update-alignment: cosines between the updates of a prompt's tokens, based on the query or on an unrelated token."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, variable
from icl_lib.models.contextual.weights import Weights
from papers.dherin.all_positions.position_blocks import Architecture, Pair, Variant, draw, states, variants
from papers.dherin.theory.positions import shared_base_alignment

BASES = ("query", "unrelated query")
"""The token whose weights are patched: the prompt's own query, or that of the next prompt, which has another task."""
SHOWN = ("first block, query", "last block, query", "first block, unrelated query")


@dataclass(frozen=True)
class UpdateAlignment(Declaration):
    """Random networks of every variant, each on prompts of its own.

    N          examples of a prompt; variants: blocks that are measured, by what they have
    networks   random networks of a variant; prompts: prompts shown to a network
    """

    architecture: Architecture
    N: AtLeastTwo
    variants: Several[Variant]
    networks: Count
    prompts: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the alignment of all pairs of tokens in every block, and keep three mean matrices of the second variant."""
        rows, shown = [], []
        for name, shape in variants(self.architecture, self.variants).items():
            cells = [self.read(shape, f"{name}/{s}", seed) for s in range(self.networks)]
            rows.append(np.stack([cell[0] for cell in cells], -1))
            shown.append(np.mean([cell[1] for cell in cells], 0))
        place = np.arange(1, self.N + 2)
        matrix, text = shown[1 % len(shown)].astype("f4"), "mean cosine of two tokens' updates"
        columns = {
            "alignment": variable("variant block base group seed", np.array(rows, "f4"), text),
            "matrix": variable("shown position other", matrix, f"{text}, second variant"),
        }
        names = {"variant": list(self.variants), "base": list(BASES), "group": ["others", "last"], "shown": list(SHOWN)}
        places = {"block": np.arange(1, self.architecture.blocks + 1), "position": place, "other": place}
        return xr.Dataset(columns, coords=names | places)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the alignment that the base alone makes beside it, from the moments of the drawn tokens."""
        theory = [
            [self.predicted(shape, f"{name}/{s}", seed) for s in range(self.networks)]
            for name, shape in variants(self.architecture, self.variants).items()
        ]
        text = "its prediction without attention, block 1"
        return dataset.assign(alignment_theory=variable("variant seed", np.array(theory), text))

    @expectation
    def predicted(self, shape: Architecture, name: str, seed: int) -> float:
        """Return the prediction for block one of one network."""
        network, weights, sequence = draw(shape, self.N, self.prompts, name, seed)
        token, query = (moment(rows) for rows in (sequence[:, :-1], sequence[:, -1:]))
        return shared_base_alignment(network.blocks(weights)[0]["W"].numpy(), token, query)

    def read(self, shape: Architecture, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return mean cosines (block, base, group) and three mean matrices, of one network."""
        network, weights, sequence = draw(shape, self.N, self.prompts, name, seed)
        blocks, means, matrices = network.blocks(weights), [], {}
        for l, block in enumerate(blocks):
            bases = (sequence[:, -1:], sequence[:, -1:].roll(1, 0))
            pairs = [states(network.block, block, sequence, base) for base in bases]
            cosines = [cosine_matrix(block, pair) for pair in pairs]
            means.append([groups(one) for one in cosines])
            matrices[l] = [one.mean(0).numpy() for one in cosines]
            sequence = network.block.feed(block, pairs[0].full)[..., 0, :]
        shown = np.stack([matrices[0][0], matrices[len(blocks) - 1][0], matrices[0][1]])
        return np.array(means), shown


def moment(rows: Float[Tensor, "... D"]) -> np.ndarray:
    """Return the mean of z z^T."""
    rows = rows.flatten(0, -2)
    return (torch.einsum("bi,bj->ij", rows, rows) / len(rows)).numpy()


def cosine_matrix(block: Weights, pair: Pair) -> Float[Tensor, "B T T"]:
    """Return <DeltaW_i, DeltaW_j> / (|DeltaW_i| |DeltaW_j|); with one base these are cosines of W (n_i - n)."""
    change = torch.einsum("mn,btn->btm", block["W"], (pair.full.z - pair.bare.z)[..., 0, :])
    unit = change / change.norm(dim=-1, keepdim=True)
    return torch.einsum("bim,bjm->bij", unit, unit)


def groups(cosines: Float[Tensor, "B T T"]) -> list[float]:
    """Return the mean cosine of two different tokens of the context, and of one of them with the query."""
    N = cosines.shape[-1] - 1
    inner = cosines[:, :N, :N]
    between = (inner.sum((-2, -1)) - inner.diagonal(dim1=-2, dim2=-1).sum(-1)) / (N * (N - 1))
    return [between.mean().item(), cosines[:, -1, :N].mean().item()]


_QUICK = UpdateAlignment(
    architecture=Architecture(d=2, heads=3, blocks=5, widening=4, skips=True, norms=False, causal=True),
    N=50,
    variants=("skips", "skips, norms", "no skips"),
    networks=16,
    prompts=12,
)
UPDATE_ALIGNMENT = Experiment(
    slug="dherin-update-alignment",
    title="Alignment of the updates of different tokens",
    section="sequel 1",
    quick=_QUICK,
    full=replace(
        _QUICK,
        variants=("skips", "skips, norms", "not causal", "not causal, norms", "no skips", "no skips, norms"),
        networks=40,
        prompts=64,
    ),
)
