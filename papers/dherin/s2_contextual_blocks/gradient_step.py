"""dherin-gradient-step: a block with linear attention against one explicit step of gradient descent on least squares."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, Share, expectation, variable
from icl_lib.models.contextual.layers import LinearAttention
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.gradient_step import ResidualContextAttention, descent_weights
from papers.dherin.s2_contextual_blocks.random_blocks import LIKE, leave_out, orders, regression_tokens, subset_sizes
from papers.dherin.theory import one_step


@dataclass(frozen=True)
class GradientStep(Declaration):
    """Blocks W A(C, q) with W = (w_0, -1), one prompt each; w_0 ~ N(0, I_d), eta = rate / N.

    shares   of the context in Y; the empty set and the whole context are always there
    blocks   with one prompt each; N: examples of a prompt; rate: step size eta times N
    d        2 or more, for directions beside the query's
    """

    shares: Several[Share]
    blocks: Count
    d: AtLeastTwo
    N: Count
    rate: Positive

    @property
    def eta(self) -> float:
        """The step size."""
        return self.rate / self.N

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compute the block's output with context, with the patch, with self-attention, and at a fresh query."""
        W, tokens, fresh = self._drawn(seed)
        order, sizes = orders(seed, "gradient step/Y", (self.blocks,), self.N), subset_sizes(self.shares, self.N)
        layer, weights = ResidualContextAttention(self.d, self.d + 1), descent_weights(self.d, self.eta, LIKE)
        itself = tokens[:, -1] + LinearAttention(self.d, self.d + 1, self.d + 1)(weights, tokens)
        full, bare = layer(weights, tokens), [layer(weights, leave_out(tokens, order[:, :k])) for k in sizes]
        patched = np.array([apply(W + redirection(W, a, full), a) for a in bare])
        update = redirection(W, tokens[:, -1], full)
        swapped = apply(W + update, fresh[:, -1])
        columns = {
            "output": variable("block", apply(W, full), "output with the whole context"),
            "output_self": variable("block", apply(W, itself), "output when the query is a token of the sum, too"),
            "output_fresh": variable("block", apply(W, layer(weights, fresh)), "output with the context at a fresh query"),
            "output_swapped": variable("block", swapped, "output at that query without context, with the other's update"),
            "change": variable("block entry", update[:, 0].numpy(), "the update of W for Y = C"),
            "patched": variable("size block", patched, "output without Y, with the update"),
        }
        return xr.Dataset(columns, coords={"size": sizes})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the step of gradient descent beside it, and how far the update and other queries are from it."""
        W, tokens, fresh = (each.numpy() for each in self._drawn(seed))
        w, q, q_fresh = W[:, 0, :-1], tokens[:, -1, :-1], fresh[:, -1, :-1]
        cases = [(*case, self.eta, at) for *case, at in zip(w, tokens[:, :-1, :-1], tokens[:, :-1, -1], q, strict=True)]
        step, projected = (np.array([formula(*case) for case in cases]) for formula in (one_step.stepped, one_step.patch))
        whole = -self.eta * np.array([one_step.gradient(*case[:3]) for case in cases])
        size = np.linalg.norm(w, axis=-1) + np.linalg.norm(whole, axis=-1)
        scale, scale_fresh = (size * np.linalg.norm(each, axis=-1) for each in (q, q_fresh))
        update, expected = dataset.change.values, dataset.output_fresh.values
        off, off_whole = np.linalg.norm(update - projected[:, 0], axis=-1), np.linalg.norm(update[:, :-1] - whole, axis=-1)
        missed, missed_swapped = abs(((w + whole) * q_fresh).sum(-1) - expected), abs(dataset.output_swapped.values - expected)
        columns = {
            "step": (step, "<w_0 - eta grad L(w_0), q>"),
            "before": ((w * q).sum(-1), "<w_0, q>, the output before the step"),
            "scale": (scale, "(|w_0| + eta |grad L|) |q|: size of the two terms of the step, which may cancel"),
            "far_update": (off / size, "distance of the update from the step projected on q, over scale / |q|"),
            "far_gradient": (off_whole / size, "distance of the update from the whole step -eta grad L, over scale / |q|"),
            "static": (missed / scale_fresh, "error at a fresh query of w_0 - eta grad L as weights, over its scale"),
            "swapped": (missed_swapped / scale_fresh, "error at a fresh query of the update made for another, over its scale"),
        }
        return dataset.assign({name: variable("block", *column) for name, column in columns.items()})

    def _drawn(self, seed: int) -> tuple[Float[Tensor, "S 1 n"], Float[Tensor, "S T n"], Float[Tensor, "S T n"]]:
        """Draw W, the prompts, and the prompts with fresh queries."""
        tokens = regression_tokens(seed, "gradient step/prompts", (self.blocks,), self.N, self.d)
        w = normal(stream(seed, "gradient step/w"), (self.blocks, self.d), LIKE)
        fresh = tokens.clone()
        fresh[:, -1, :-1] = normal(stream(seed, "gradient step/query"), (self.blocks, self.d), LIKE)
        return torch.cat([w, -torch.ones(self.blocks, 1, dtype=LIKE.dtype)], -1)[:, None, :], tokens, fresh


def apply(W: Float[Tensor, "S 1 n"], a: Float[Tensor, "S n"]) -> Float[np.ndarray, "S"]:
    """Return W a, one number a block."""
    return torch.einsum("smn,sn->s", W, a).numpy()


_QUICK = GradientStep(shares=(0.05, 0.5), blocks=40, d=5, N=20, rate=1.0)
GRADIENT_STEP = Experiment(
    slug="dherin-gradient-step",
    title="Linear attention whose patch is one step of gradient descent",
    quick=_QUICK,
    full=replace(_QUICK, shares=(0.05, 0.25, 0.5, 0.75), blocks=200),
)
