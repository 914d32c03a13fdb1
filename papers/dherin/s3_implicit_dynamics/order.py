"""dherin-order: the path and the end of the implicit dynamics when the same context comes in other orders."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Experiment, variable
from icl_lib.models.contextual.blocks import Block, NoSkip
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import SoftmaxAttention
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.dherin.modern_parts import RotarySoftmaxAttention
from papers.dherin.network import LastEntry, Network
from papers.dherin.s3_implicit_dynamics.consumed import LIKE, Case, Paths, trained_cases
from papers.dherin.theory import dynamics
from papers.dherin.trained import regression, tokens
from papers.dherin.trainings import ONE_BLOCK

SECOND = ("second block, causal", "second block, not causal")


@dataclass(frozen=True)
class Order(Paths):
    """Contexts in the order given, reversed, and in ``orders`` - 2 random orders; also the second of two attention blocks.

    orders         of a context: the one given, its reverse and random ones
    drawn_orders   orders of one prompt, shown to a trained network, whose paths are kept for the figure
    """

    orders: AtLeastTwo
    drawn_orders: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure every case, and keep the paths of one."""
        orders = context_orders(self.N, self.orders, seed)
        rows, nets = [], []
        for case in self.cases(seed, device):
            rows.append(compare(case, orders))
            nets += [case.net] * len(case.tokens)
        for net, end in self.second_blocks(orders, seed):
            rows.append((end, np.full((len(end), self.N + 1), np.nan), np.full(len(end), np.nan)))
            nets += [net] * len(end)
        end, distance, path = (np.concatenate(column) for column in zip(*rows, strict=True))
        first = next(iter(trained_cases(self.training, 1, self.N, seed, device)))
        position, kept = coordinates(first, context_orders(self.N, self.drawn_orders, seed))
        columns = {
            "end": variable("case", end, "|W_N - W_N'| / |W_N - W_0|, largest over the orders"),
            "distance": variable("case i", distance.astype("f4"), "|W_i - W_i'| / |W_N - W_0|, largest over the orders"),
            "path": variable("case", path, "|W_i - W_i'| / (|W_i - W_0| + |W_i' - W_0|), largest over orders and 0 < i < N"),
            "position": variable("order i axis", position, "two principal coordinates of W_i - W_0, trained network"),
            "kept": variable("", kept, "share of the squared distances from the mean that the two coordinates keep"),
        }
        return xr.Dataset(columns, coords={"net": ("case", nets), "i": np.arange(self.N + 1)})

    def second_blocks(self, orders: list[Tensor], seed: int) -> Iterator[tuple[str, ndarray]]:
        """Yield how far the second block's W_N moves with the order, for causal attention and without the mask."""
        n = self.d + 1
        for net, causal in zip(SECOND, (True, False), strict=True):
            layer = SoftmaxAttention(self.heads, self.width // self.heads, n, self.width, causal)
            network = Network(Block(NoSkip(layer), MLP(self.width, (self.hidden,), n, "relu")), 2, LastEntry())
            for k in range(self.networks):
                weights = network.start(stream(seed, f"weights/two blocks/{k}"), (), LIKE)
                drawn = tokens(regression(self.d).sample(stream(seed, f"prompts/two blocks/{k}"), (self.prompts,), self.N))
                W = network.blocks(weights)[1]["W"]
                a_0 = network.states(weights, drawn[:, -1:])[0][1].z[:, 0]
                prompts = (torch.cat([drawn[:, :-1][:, order], drawn[:, -1:]], 1) for order in orders)
                change = [redirection(W, a_0, network.states(weights, prompt)[0][1].z[:, -1]) for prompt in prompts]
                yield net, apart(torch.stack(change, 1))


def context_orders(N: int, count: int, seed: int) -> list[Tensor]:
    """Return the given order, its reverse, and random ones."""
    drawn = [torch.randperm(N, generator=stream(seed, f"order/{k}")) for k in range(2, count)]
    return [torch.arange(N), torch.arange(N).flip(0), *drawn][:count]


def compare(case: Case, orders: list[Tensor]) -> tuple[ndarray, ndarray, ndarray]:
    """Return how far apart the orders are at the end (B), after i tokens (B, N + 1), and at their farthest on the way (B).

    Rotary attention has no quick way to all prefixes: its end alone is taken, and the others are NaN.
    """
    layer, (B, T) = case.block.joint.layer, case.tokens.shape[:2]
    if isinstance(layer, RotarySoftmaxAttention):
        ends = torch.stack([layer(case.weights, case.along(order).tokens) for order in orders], 1)
        change = redirection(case.W, layer(case.weights, case.tokens[:, -1:])[:, None], ends)
        return apart(change), np.full((B, T), np.nan), np.full(B, np.nan)
    a = torch.stack([case.along(order).prefixes() for order in orders], 1)  # (B, order, i, k)
    vectors = dynamics.path_vectors(case.W.numpy(), a.numpy())
    gone, distance = np.linalg.norm(vectors, axis=-1), np.linalg.norm(vectors - vectors[:, :1], axis=-1)
    path = distance[..., 1:-1] / (gone + gone[:, :1])[..., 1:-1]
    end = apart(redirection(case.W, a[:, :1, 0], a[:, :, -1]))
    return end, distance.max(1) / gone[:, :1, -1], path.max((1, 2))


def apart(change: Float[Tensor, "B order m n"]) -> ndarray:
    """Return |W_N - W_N'| / |W_N - W_0|, the largest over the orders."""
    return ((change - change[:, :1]).norm(dim=(2, 3)).amax(1) / change[:, 0].norm(dim=(1, 2))).numpy()


def coordinates(case: Case, orders: list[Tensor]) -> tuple[ndarray, float]:
    """Return two principal coordinates (order, i, 2) of the paths of the first prompt, from W_0, and the share they keep."""
    a = torch.cat([case.along(order).prefixes()[:1] for order in orders])
    vectors = dynamics.path_vectors(case.W.numpy(), a.numpy())
    centred = vectors.reshape(-1, vectors.shape[-1])
    centred = centred - centred.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    position = vectors @ axes[:2].T
    return position * np.where(position[0, -1] < 0, -1, 1), float((sizes[:2] ** 2).sum() / (sizes**2).sum())


_QUICK = Order(
    layers=("softmax attention", "linear attention", "rotary attention", "tanh RNN", "GRU"),
    d=2,
    N=25,
    width=32,
    heads=8,
    hidden=128,
    networks=2,
    prompts=2,
    orders=4,
    drawn_orders=4,
    training=ONE_BLOCK,
)
ORDER = Experiment(
    slug="dherin-order",
    title="Order of the context: paths and ends",
    quick=_QUICK,
    full=replace(_QUICK, N=60, networks=6, orders=5),
)
