"""dherin-gradient-step: a block with linear attention against one explicit step of gradient descent on least squares."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
import xarray as xr
from annotated_types import Ge
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion.declaration import Count, Declaration, Positive, Several, Share
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.identity import expectation
from icl_lib.companion.results import variable
from icl_lib.models.contextual.gradient_step import ResidualContextAttention, descent_weights
from icl_lib.models.contextual.layers import LinearAttention
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.s2_contextual_blocks.random_blocks import LIKE, leave_out, orders, regression_tokens, subset_sizes
from papers.dherin.theory import one_step


@dataclass(frozen=True)
class GradientStep(Declaration):
    """Blocks W A(C, q) with W = (w_0, -1), one prompt each; w_0 ~ N(0, I_d), eta = rate / N.

    d        2 or more, for directions beside the query's
    shares   of the context in Y; the empty set and the whole context are always there
    """

    shares: Several[Share]
    blocks: Count
    d: Annotated[int, Ge(2)]
    N: Count
    rate: Positive

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compute the block's output with context, with the patch, with self-attention, and at a fresh query."""
        W, tokens, fresh = self._drawn(seed)
        order = orders(seed, "gradient step/Y", (self.blocks,), self.N)
        layer, weights = ResidualContextAttention(self.d, self.d + 1), descent_weights(self.d, self.eta, LIKE)
        itself = tokens[:, -1] + LinearAttention(self.d, self.d + 1, self.d + 1)(weights, tokens)
        full, sizes = layer(weights, tokens), subset_sizes(self.shares, self.N)
        patched = []
        for k in sizes:
            a = layer(weights, leave_out(tokens, order[:, :k]))
            patched.append(apply(W + redirection(W, a, full), a))
        update = redirection(W, tokens[:, -1], full)
        found = {
            "output": apply(W, full),
            "output_self": apply(W, itself),
            "output_fresh": apply(W, layer(weights, fresh)),
            "output_swapped": apply(W + update, fresh[:, -1]),
        }
        columns = {name: variable("block", found[name], text) for name, text in NAMES.items()}
        columns["change"] = variable("block entry", update[:, 0].numpy(), "the update of W for Y = C")
        columns["patched"] = variable("size block", np.array(patched), "output without Y, with the update")
        return xr.Dataset(columns, coords={"size": sizes, "eta": self.eta})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the step of gradient descent beside it, and how far the update and other queries are from it."""
        W, tokens, fresh = self._drawn(seed)
        cases, update, length = list(self._cases(W, tokens)), dataset.change.values, tokens[:, -1].norm(dim=-1).numpy()
        step, size = (np.array([formula(*case) for case in cases]) for formula in (one_step.stepped, scale))
        gradient = np.array([one_step.gradient(*case[:3]) for case in cases])
        projected = np.array([one_step.patch(*case)[0] for case in cases])
        static = W.clone()
        static[:, 0, :-1] -= self.eta * torch.from_numpy(gradient)
        size_fresh, expected = np.array([scale(*case) for case in self._cases(W, fresh)]), dataset.output_fresh.values
        found = {
            "step": step,
            "before": np.array([case[0] @ case[-1] for case in cases]),
            "self_theory": step + np.array([one_step.self_attention_excess(case[0], self.eta, case[-1]) for case in cases]),
            "scale": size,
            "far_update": np.linalg.norm(update - projected, axis=-1) / (size / length),
            "far_gradient": np.linalg.norm(update[:, :-1] + self.eta * gradient, axis=-1) / (size / length),
            "static": abs(apply(static, fresh[:, -1]) - expected) / size_fresh,
            "swapped": abs(dataset.output_swapped.values - expected) / size_fresh,
        }
        return dataset.assign({name: variable("block", found[name], text) for name, text in EXPECTED.items()})

    @property
    def eta(self) -> float:
        """The step size."""
        return self.rate / self.N

    def _drawn(self, seed: int) -> tuple[Float[Tensor, "S 1 n"], Float[Tensor, "S T n"], Float[Tensor, "S T n"]]:
        """Draw W, the prompts, and the prompts with fresh queries."""
        tokens = regression_tokens(seed, "gradient step/prompts", (self.blocks,), self.N, self.d)
        w = normal(stream(seed, "gradient step/w"), (self.blocks, self.d), LIKE)
        fresh = tokens.clone()
        fresh[:, -1, :-1] = normal(stream(seed, "gradient step/query"), (self.blocks, self.d), LIKE)
        return torch.cat([w, -torch.ones(self.blocks, 1, dtype=LIKE.dtype)], -1)[:, None, :], tokens, fresh

    @expectation
    def _cases(self, W: Tensor, tokens: Tensor) -> Iterator[tuple]:
        """Yield w_0, x, y, eta and q of every block."""
        for w, prompt in zip(W[:, 0, :-1].numpy(), tokens.numpy(), strict=True):
            yield w, prompt[:-1, :-1], prompt[:-1, -1], self.eta, prompt[-1, :-1]


def apply(W: Float[Tensor, "S 1 n"], a: Float[Tensor, "S n"]) -> Float[np.ndarray, "S"]:
    """Return W a, one number a block."""
    return torch.einsum("smn,sn->s", W, a).numpy()


def scale(w: np.ndarray, x: np.ndarray, y: np.ndarray, eta: float, q: np.ndarray) -> float:
    """Return |w_0| |q| + eta |grad L| |q|: the size of the two terms of the step, which can cancel in their sum."""
    return float((np.linalg.norm(w) + abs(eta) * np.linalg.norm(one_step.gradient(w, x, y))) * np.linalg.norm(q))


NAMES = {
    "output": "output with the whole context",
    "output_self": "output when the query is a token of the sum, too",
    "output_fresh": "output with the whole context at a fresh query",
    "output_swapped": "output at that query without context, with the update made for the other",
}
EXPECTED = {
    "step": "<w_0 - eta grad L(w_0), q>",
    "before": "<w_0, q>, the output before the step",
    "self_theory": "the step plus -eta |q|^2 <w_0, q>",
    "scale": "(|w_0| + eta |grad L|) |q|",
    "far_update": "distance of the update from the step projected on the query, over scale / |q|",
    "far_gradient": "distance of the update from the whole step -eta grad L, over scale / |q|",
    "static": "error at a fresh query of w_0 - eta grad L as weights, over its scale",
    "swapped": "error at a fresh query of the update made for another, over its scale",
}

_QUICK = GradientStep(shares=(0.05, 0.5), blocks=40, d=5, N=20, rate=1.0)
GRADIENT_STEP = Experiment(
    slug="dherin-gradient-step",
    title="Linear attention whose patch is one step of gradient descent",
    quick=_QUICK,
    full=replace(_QUICK, shares=(0.05, 0.25, 0.5, 0.75), blocks=200),
)  # fmt: skip
