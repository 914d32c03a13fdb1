"""lenses-one-norm: a norm between attention and the first layer costs a scalar that the context determines."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, variable, variables
from icl_lib.models.contextual.norms import LayerNorm, RMSNorm
from papers.lenses.blocks import Blocks, Contexts, contexts, first_layer, limit_attention, unlabelled
from papers.regression.spectra import geometric_covariance

NORMS = {"root mean square": RMSNorm(0.0), "mean and deviation": LayerNorm(0.0)}
NAMES = {
    "corrected": ("norm context query", "error of the patched query over the factor"),
    "uncorrected": ("norm context query", "error of the patched query"),
}


@dataclass(frozen=True)
class OneNorm(Declaration):
    """A block at each d, with the attention of the limit and a norm before W, without biases.

    d, M, N   dimensions, examples of a context, training length
    kappa     condition number of the covariance of inputs
    m         neurons of the MLP
    contexts  contexts at each d, all read by one block; queries: of each context
    """

    d: Several[AtLeastTwo]
    M: AtLeastTwo
    N: Count
    kappa: Positive
    m: Count
    contexts: Count
    queries: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare the block with its context and the query alone, whose W is changed as if there were no norm."""
        found = [_compared(*self._drawn(seed, d)) for d in self.d]
        columns = variables(NAMES, [errors for _, errors in found], "d {}") | {
            "excess": variable("d context query", [excess for excess, _ in found], "sqrt(1 + y_hat^2/|x_q|^2) - 1")
        }
        return xr.Dataset(columns, coords={"norm": list(NORMS), "d": list(self.d)})

    def _drawn(self, seed: int, d: int) -> tuple[Blocks, Contexts]:
        Lambda = geometric_covariance(d, self.kappa, seed, f"one norm/{d}/basis")
        drawn = contexts(seed, f"one norm/{d}", (self.contexts, self.M, self.queries), torch.tensor(Lambda))
        attention = limit_attention(Lambda, self.N, self.M)
        return Blocks(attention, first_layer(seed, f"one norm/{d}", self.m, d + 1, bias=0.0)), drawn


def _compared(block: Blocks, drawn: Contexts) -> tuple[np.ndarray, dict[str, list[np.ndarray]]]:
    """Return what a query's token gains in length by attention, less 1, and the errors behind each norm."""
    z = unlabelled(drawn.queries)
    whole, W = block.mixed(drawn.x, drawn.y, z), block.weights["W"] + block.uncut(drawn.x, drawn.y)
    factor = whole.norm(dim=-1) / z.norm(dim=-1)
    gains = {"m_feed": torch.ones(z.shape[-1], dtype=z.dtype), "b_feed": torch.zeros(z.shape[-1], dtype=z.dtype)}
    errors = {name: [] for name in NAMES}
    for norm in NORMS.values():
        expected, patched = (block.feed(norm(gains, "feed", each), of)[..., 0] for each, of in ((whole, None), (z, W)))
        for name, made in (("corrected", patched / factor), ("uncorrected", patched)):
            errors[name].append(((made - expected).abs() / expected.abs().mean()).numpy())
    return factor.numpy() - 1, errors


_QUICK = OneNorm(d=(3, 5), M=11, N=7, kappa=4.0, m=16, contexts=10, queries=20)
ONE_NORM = Experiment(
    slug="lenses-one-norm",
    title="What one norm costs",
    quick=_QUICK,
    full=replace(_QUICK, d=(3, 5, 8)),
)
