"""dherin-gradient-step: a block with linear attention against one explicit step of gradient descent on least squares."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.experiments.dherin.random_blocks import LIKE, leave_out, orders, regression_tokens, subset_sizes
from icl_lib.experiments.experiment import Experiment
from icl_lib.models.contextual.gradient_step import ResidualContextAttention, descent_weights
from icl_lib.models.contextual.layers import LinearAttention
from icl_lib.patches.rank_one import redirection
from icl_lib.results import variable
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from icl_lib.theory.dherin import one_step


@dataclass(frozen=True)
class GradientStep:
    """Blocks W A(C, q) with W = (w_0, -1), one prompt each; w_0 ~ N(0, I_d), eta = rate / N.

    shares   of the context in Y; the empty set and the whole context are always there
    """

    shares: tuple[float, ...]
    blocks: int
    d: int
    N: int
    rate: float

    def __post_init__(self):
        if self.d < 2 or self.rate == 0:
            raise ValueError(f"take d of 2 or more, for directions beside the query's, and a rate that is not 0, not {self}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compute the block's output with context, with the patch, and with self-attention; and the step by numpy."""
        d, eta, lead = self.d, self.rate / self.N, (self.blocks,)
        tokens = regression_tokens(seed, "gradient step/prompts", lead, self.N, d)
        order = orders(seed, "gradient step/Y", lead, self.N)
        w = normal(stream(seed, "gradient step/w"), (*lead, d), LIKE)
        W = torch.cat([w, -torch.ones(*lead, 1, dtype=LIKE.dtype)], -1)[:, None, :]
        layer, weights = ResidualContextAttention(d, d + 1), descent_weights(d, eta, LIKE)
        itself = tokens[:, -1] + LinearAttention(d, d + 1, d + 1)(weights, tokens)
        full, sizes = layer(weights, tokens), subset_sizes(self.shares, self.N)
        cases = [(w[s].numpy(), tokens[s, :-1, :-1].numpy(), tokens[s, :-1, -1].numpy(), eta, tokens[s, -1, :-1].numpy())
                 for s in range(self.blocks)]  # fmt: skip
        step = np.array([one_step.stepped(*case) for case in cases])
        size, length = np.array([scale(*case) for case in cases]), tokens[:, -1].norm(dim=-1).numpy()
        patched = [self._patched(layer, weights, W, leave_out(tokens, order[:, :k]), full) for k in sizes]
        update = redirection(W, tokens[:, -1], full)[:, 0].numpy()
        projected = np.array([one_step.patch(*case)[0] for case in cases])
        gradient = np.array([one_step.gradient(*case[:3]) for case in cases])
        static = W.clone()
        static[:, 0, :-1] -= eta * torch.from_numpy(gradient)
        self_theory = step + np.array([one_step.self_attention_excess(case[0], eta, case[-1]) for case in cases])
        found = {
            "output": apply(W, full), "step": step, "before": np.array([case[0] @ case[-1] for case in cases]),
            "output_self": apply(W, itself), "self_theory": self_theory, "scale": size,
            "far_update": np.linalg.norm(update - projected, axis=-1) / (size / length),
            "far_gradient": np.linalg.norm(update[:, :-1] + eta * gradient, axis=-1) / (size / length),
            "static": self._static(layer, weights, W, static, tokens, seed),
            "swapped": self._static(layer, weights, W, W + torch.from_numpy(update)[:, None], tokens, seed),
        }  # fmt: skip
        columns = {name: variable("block", found[name], text) for name, text in NAMES.items()}
        columns["patched"] = variable("size block", np.array(patched), "output without Y, with the update")
        return xr.Dataset(columns, coords={"size": sizes, "eta": eta})

    def _patched(self, layer, weights, W: Tensor, rest: Tensor, full: Tensor) -> np.ndarray:
        a = layer(weights, rest)
        return apply(W + redirection(W, a, full), a)

    def _static(self, layer, weights, W: Tensor, changed: Tensor, tokens: Tensor, seed: int) -> np.ndarray:
        """Return the error of changed weights at a fresh query without context, over the size of the step's terms there."""
        other = tokens.clone()
        other[:, -1, :-1] = normal(stream(seed, "gradient step/query"), (self.blocks, self.d), LIKE)
        expected = apply(W, layer(weights, other))
        eta, size = self.rate / self.N, []
        for s in range(self.blocks):
            case = other[s].numpy()
            size.append(scale(W[s, 0, :-1].numpy(), case[:-1, :-1], case[:-1, -1], eta, case[-1, :-1]))
        return abs(apply(changed, other[:, -1]) - expected) / np.array(size)


def apply(W: Float[Tensor, "S 1 n"], a: Float[Tensor, "S n"]) -> Float[np.ndarray, "S"]:
    """Return W a, one number a block."""
    return torch.einsum("smn,sn->s", W, a).numpy()


def scale(w: np.ndarray, x: np.ndarray, y: np.ndarray, eta: float, q: np.ndarray) -> float:
    """Return |w_0| |q| + eta |grad L| |q|: the size of the two terms of the step, which can cancel in their sum."""
    return float((np.linalg.norm(w) + abs(eta) * np.linalg.norm(one_step.gradient(w, x, y))) * np.linalg.norm(q))


NAMES = {
    "output": "output with the whole context",
    "step": "<w_0 - eta grad L(w_0), q>",
    "before": "<w_0, q>, the output before the step",
    "output_self": "output when the query is a token of the sum, too",
    "self_theory": "the step plus -eta |q|^2 <w_0, q>",
    "scale": "(|w_0| + eta |grad L|) |q|",
    "far_update": "distance of the update from the step projected on the query, over scale / |q|",
    "far_gradient": "distance of the update from the whole step -eta grad L, over scale / |q|",
    "static": "error at a fresh query of w_0 - eta grad L as weights, over its scale",
    "swapped": "error at a fresh query of the update made for another, over its scale",
}

GRADIENT_STEP = Experiment(
    slug="dherin-gradient-step", title="Linear attention whose patch is one step of gradient descent",
    paper="dherin", section="2", notebook="dherin_2_contextual_blocks",
    quick=GradientStep(shares=(0.05, 0.5), blocks=40, d=5, N=20, rate=1.0),
    full=GradientStep(shares=(0.05, 0.25, 0.5, 0.75), blocks=200, d=5, N=20, rate=1.0),
)  # fmt: skip
