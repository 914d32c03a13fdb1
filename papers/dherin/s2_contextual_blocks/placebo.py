"""dherin-placebo: the identity holds for any vector in the place of A(C, x); what the vector knows is another matter."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, variable
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, normal
from papers.dherin.distance import relative
from papers.dherin.network import Network
from papers.dherin.s2_contextual_blocks.random_blocks import state
from papers.dherin.trained import OneBlock, Training, regression, tokens, trained
from papers.dherin.trainings import ONE_BLOCK

VECTORS = ("own context", "labels shuffled", "another task", "Gaussian vector")
"""Where the vector comes from that takes the place of A(C, x)."""


@dataclass(frozen=True)
class Placebo(Declaration):
    """Trained networks of one block on ``prompts`` prompts; the patch turns A(x) into A(C, x), or into another vector.

    prompts   shown to every network, for each kind of vector
    """

    training: Training
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.training.model, OneBlock):
            raise ValueError("the placebo needs a training of one block without skips")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch and predict for every vector."""
        models = trained(self.training, seed, device)
        prompts = regression(self.training.model.d).sample(stream(seed, "placebo/prompts"), (self.prompts,), self.training.N)
        found = [self._one_network(models.network, models.replicate(s), prompts, seed) for s in range(models.replicates)]
        columns = {
            name: variable("replicate vector", np.array([each[name] for each in found]), text) for name, text in NAMES.items()
        }
        return xr.Dataset(columns, coords={"vector": list(VECTORS)})

    def _one_network(self, network: Network, weights: Weights, prompts: Prompts, seed: int) -> dict[str, list[float]]:
        block, (inner,) = network.block, network.blocks(weights)
        mlp, a = block.feed_forward, block.joint.layer(inner, tokens(prompts)[..., -1:, :])
        vectors = self._vectors(network, inner, prompts, seed)

        def predict(changed: Weights, z: Tensor) -> Tensor:
            return mlp(inner | changed, state(z, mlp.outputs).z)[..., 0, :]

        real = predict({}, vectors[0])
        found = {name: [] for name in NAMES}
        for u in vectors:
            patched = predict({"W": inner["W"] + redirection(inner["W"], a, u)}, a)
            found["error"].append(relative(patched, predict({}, u)).max().item())
            found["error_real"].append(relative(patched, real).median().item())
            found["risk"].append((patched[:, -1] - prompts.y_query).square().mean().item())
        return found | {"variance": [prompts.y_query.square().mean().item()] * len(VECTORS)}

    def _vectors(self, network: Network, inner: Weights, prompts: Prompts, seed: int) -> list[Float[Tensor, "P k"]]:
        """Return the vector of each kind; a Gaussian one has the length of the prompt's own."""
        shuffle = torch.rand(prompts.y.shape, generator=stream(seed, "placebo/shuffle")).argsort(-1)
        contexts = (prompts, prompts._replace(y=prompts.y.gather(-1, shuffle)), swap(prompts))
        own, shuffled, other = (network.block.joint.layer(inner, tokens(each)) for each in contexts)
        noise = normal(stream(seed, "placebo/vector"), tuple(own.shape), own)
        return [own, shuffled, other, noise * own.norm(dim=-1, keepdim=True) / noise.norm(dim=-1, keepdim=True)]


def swap(prompts: Prompts) -> Prompts:
    """Return every query with the context of the prompt before it."""
    return prompts._replace(x=prompts.x.roll(1, 0), y=prompts.y.roll(1, 0))


NAMES = {
    "error": "largest relative error of the patched block against f(W u + b)",
    "error_real": "median relative error of the patched block against the block with its own context",
    "risk": "mean squared error of the patched prediction against the query's label",
    "variance": "mean square of the query's label",
}

PLACEBO = Experiment(
    slug="dherin-placebo",
    title="The identity for vectors that carry no context",
    quick=Placebo(training=ONE_BLOCK, prompts=500),
    full=Placebo(training=ONE_BLOCK, prompts=1000),
)
