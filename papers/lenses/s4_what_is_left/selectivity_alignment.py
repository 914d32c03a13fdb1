"""lenses-selectivity-alignment: how networks choose among examples, and how their vector lies to an exact gradient step."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Experiment, expectation, near_misses, variable
from icl_lib.measure.cosine import cosine
from icl_lib.measure.estimate import mean
from papers.dherin.theory.finetuning import mean_cosine
from papers.dherin.trained import Training
from papers.dherin.trainings import ONE_BLOCK, PREFIX_ATTENTION
from papers.lenses.s4_what_is_left import parts
from papers.lenses.s4_what_is_left.asked import Asked
from papers.lenses.s4_what_is_left.contexts import Contexts, isotropic
from papers.lenses.s4_what_is_left.readers import CHUNK, Reader, dimension, names, readers
from papers.regression.decoders import DecoderTraining
from papers.regression.trainings import FIXED

COSINES = {
    "whole": "cosine of the answers' vector and the exact gradient step",
    "task": "cosine of the answers' vector and the task",
    "step_task": "cosine of the exact gradient step and the task",
    "one": "alignment of the patch for one query with the exact gradient step",
    "ceiling": "the most that a patch for one query reaches",
}


@dataclass(frozen=True)
class SelectivityAlignment(Asked):
    """Networks with softmax attention after k examples of contexts as in their training.

    Shared stream: weights: blocks and decoders are trained each for themselves, as for the pages that ship them.
    Shared stream: data/#: the same.
    """

    def __post_init__(self):
        super().__post_init__()
        if list(self.k) != sorted(set(self.k)):
            raise ValueError(f"k is {self.k}: give each length once, from the smallest to the largest")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the weight of examples in every layer, and the cosines of the vector."""
        found = [[self._network(*each, seed) for each in self._all(training, seed, device)] for training in self.trainings]
        value = {name: np.array([[each[name] for each in row] for row in found]) for name in (*COSINES, "selectivity", "mass")}
        columns = {}
        for name, told in COSINES.items():
            columns[name] = variable("network seed k", value[name][..., 0], f"mean {told}")
            columns[f"{name}_se"] = variable("network seed k", value[name][..., 1], "standard error over contexts")
        told = "weight of the example that one attends to, over uniform, mean over heads"
        columns["selectivity"] = variable("network seed k layer", value["selectivity"], told)
        columns["mass"] = variable("network seed k layer", value["mass"], "share of attention on the examples, mean over heads")
        columns["d"] = variable("network", [dimension(each) for each in self.trainings], "dimension")
        for name in ("ceiling", "ceiling_se"):  # where all networks have been trained
            columns[name] = variable(
                "network seed kept", columns[name].values[..., : len(self._kept)], columns[name].attrs["long_name"]
            )
        columns["ceiling_se"].attrs["blocks"] = self.contexts
        coords = {
            "network": names(*self.trainings),
            "k": list(self.k),
            "kept": self._kept,
            "layer": 1 + np.arange(self._layers),
        }
        return xr.Dataset(columns, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the mean of |cos(c, x)| beside the ceiling, and how far vector and step are from the task's direction."""
        exact, next_one = ([[mean_cosine(int(d) + more)] * len(dataset.kept) for d in dataset.d] for more in (0, 1))
        off = ((1 - dataset.task) / (1 - dataset.step_task)).assign_attrs(
            long_name="1 less the cosine of vector and task, over that of step and task", units="1"
        )
        return dataset.assign(
            ceiling_theory=variable("network kept", exact, "mean of |cos(c, x)|"),
            ceiling_near=near_misses("network kept", {"d + 1 for d": next_one}),
            off=off,
            reach=variable(
                "network k", [[mean_cosine(int(d))] * len(self.k) for d in dataset.d], "the same mean, at every length"
            ),
            most=dataset.selectivity.max("layer").assign_attrs(long_name="selectivity of the most selective layer", units="1"),
        )

    @property
    def _kept(self) -> list[int]:
        """The lengths that no network exceeds its training with; they come first."""
        shortest = min(training.N for training in self.trainings)
        return [k for k in self.k if k <= shortest]

    @property
    def _layers(self) -> int:
        return max((1, *(training.layers for training in self.decoders)))

    def _all(self, training: Training | DecoderTraining, seed: int, device: str):
        """Yield each network with its contexts and the most examples of them."""
        for s, reader in enumerate(readers(training, seed, device)):
            role, d = f"selectivity alignment/{training.name}/{s}", dimension(training)
            yield reader, isotropic(seed, role, (self.contexts, training.N, self.queries), d), training.N

    def _network(self, reader: Reader, drawn: Contexts, N: int, seed: int) -> dict[str, np.ndarray]:
        shape = (len(self.k),)
        found = {name: np.full((*shape, 2), np.nan) for name in COSINES}
        found |= {name: np.full((*shape, self._layers), np.nan) for name in ("selectivity", "mass")}
        for place, k in enumerate(self.k):
            if k > N:
                continue
            read = [
                _read(reader, Contexts(*(part[i : i + CHUNK] for part in drawn)), k) for i in range(0, self.contexts, CHUNK)
            ]
            for name, values in zip(COSINES, torch.cat([each for each, _ in read], -1), strict=True):
                found[name][place] = np.stack(mean(values))
            layers = torch.stack([each for _, each in read]).mean(0).numpy()
            found["selectivity"][place, : layers.shape[-1]], found["mass"][place, : layers.shape[-1]] = layers
        return found


def _read(reader: Reader, drawn: Contexts, k: int) -> tuple[Float[Tensor, "c B"], Float[Tensor, "2 layers"]]:
    """Return the cosines of each context, and selectivity and mass of each layer."""
    (x, y), queries = drawn.first(k), drawn.queries
    t, attention = reader.read(x, y, queries, k)
    G, h = parts.fitted(t, queries), torch.einsum("bkd,bk->bd", x, y)
    asked = cosine(h[:, None], queries)
    at_query = t.sign() * torch.einsum("bqd,bd->bq", queries, h).sign() * asked.abs()
    found = [cosine(G, h), cosine(G, drawn.w), cosine(h, drawn.w), at_query.mean(-1), asked.abs().mean(-1)]
    return torch.stack(found), torch.stack([selectivity(attention).mean((1, 2, 3)), attention.sum(-1).mean((1, 2, 3))])


def selectivity(attention: Float[Tensor, "*B k"]) -> Float[Tensor, "*B"]:
    """Return k sum_i p_i^2 with p the attention on the k examples over its sum: 1 if uniform, k if on one example."""
    p = attention / attention.sum(-1, keepdim=True)
    return attention.shape[-1] * p.square().sum(-1)


_QUICK = SelectivityAlignment(
    blocks=(ONE_BLOCK, PREFIX_ATTENTION),
    decoders=(FIXED[0], FIXED[2]),
    k=(1, 2, 3, 5, 10, 20, 50, 100),
    contexts=40,
    queries=32,
)
SELECTIVITY_ALIGNMENT = Experiment(
    slug="lenses-selectivity-alignment",
    title="Attention on the examples, and the direction of the vector",
    quick=_QUICK,
    full=replace(_QUICK, contexts=500, queries=64),
)
