"""lenses-one-norm: a norm between attention and the first layer costs a scalar that the context determines."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, variable, variables
from icl_lib.models.contextual.norms import LayerNorm, Norm, RMSNorm
from papers.lenses.blocks import Blocks, Contexts, contexts, first_layer, key_value, unlabelled
from papers.lenses.theory import one_block
from papers.regression.spectra import geometric_covariance
from papers.zhang.theory.optimum import Gamma

NORMS = {"root mean square": RMSNorm(0.0), "mean and deviation": LayerNorm(0.0)}
NAMES = {
    "corrected": ("block query", "error of the patched query over the factor"),
    "uncorrected": ("block query", "error of the patched query"),
}


@dataclass(frozen=True)
class OneNorm(Declaration):
    """Blocks with the attention of the limit and a norm before W, without biases.

    d, M, N   dimensions, examples of a context, training length
    kappa     condition number of the covariance of inputs
    m         neurons of the MLP
    """

    d: Several[AtLeastTwo]
    M: AtLeastTwo
    N: Count
    kappa: Positive
    m: Count
    blocks: Count
    queries: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compare the block with its context and the query alone, whose W is changed as if there were no norm."""
        drawn = [self._drawn(seed, d) for d in self.d]
        found = [[_compared(*each, norm) for each in drawn] for norm in NORMS.values()]
        factors = [_factor(*each).numpy() for each in drawn]
        columns = variables(NAMES, found, "norm d {}") | {
            "excess": variable("d block query", np.array(factors) - 1, "sqrt(1 + y_hat^2/|x_q|^2) - 1")
        }
        return xr.Dataset(columns, coords={"norm": list(NORMS), "d": list(self.d)})

    def _drawn(self, seed: int, d: int) -> tuple[Blocks, Contexts]:
        Lambda = geometric_covariance(d, self.kappa, seed, f"one norm/{d}/basis")
        V, K = (torch.tensor(each) for each in one_block.limit_weights(Gamma(Lambda, self.N)))
        drawn = contexts(seed, f"one norm/{d}", (self.blocks, self.M, self.queries), torch.tensor(Lambda))
        return Blocks(key_value(V, K, self.M), first_layer(seed, f"one norm/{d}", self.m, d + 1, bias=0.0)), drawn


def _factor(block: Blocks, drawn: Contexts) -> Float[Tensor, "S Q"]:
    """Return what the query's token gains in length by attention, from the tokens themselves."""
    z = unlabelled(drawn.queries)
    return block.mixed(drawn.x, drawn.y, z).norm(dim=-1) / z.norm(dim=-1)


def _compared(block: Blocks, drawn: Contexts, norm: Norm) -> dict[str, np.ndarray]:
    z = unlabelled(drawn.queries)
    whole, D = block.mixed(drawn.x, drawn.y, z), z.shape[-1]
    gains = {"m_feed": torch.ones(D, dtype=z.dtype), "b_feed": torch.zeros(D, dtype=z.dtype)}
    moved = block.mixed(drawn.x, drawn.y, torch.eye(D, dtype=z.dtype).expand(len(z), D, D)) - torch.eye(D, dtype=z.dtype)
    W = block.weights["W"] + torch.einsum("mn,skn->smk", block.weights["W"], moved)
    expected = block.feed(norm(gains, "feed", whole))
    patched = block.feed(norm(gains, "feed", z), W)
    size, factor = expected.abs().mean(), _factor(block, drawn)[..., None]
    errors = {"corrected": patched / factor - expected, "uncorrected": patched - expected}
    return {name: (error.abs() / size)[..., 0].numpy() for name, error in errors.items()}


_QUICK = OneNorm(d=(3, 5), M=11, N=7, kappa=4.0, m=16, blocks=10, queries=20)
ONE_NORM = Experiment(
    slug="lenses-one-norm",
    title="What one norm costs",
    quick=_QUICK,
    full=replace(_QUICK, d=(3, 5, 8)),
)
