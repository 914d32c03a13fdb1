"""lenses-heads: what one head of softmax attention and a pair of opposite heads make of a linear task."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.measure.estimate import Estimate, mean
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.lenses.blocks import contexts
from papers.lenses.theory import one_function
from papers.regression.spectra import geometric_covariance


@dataclass(frozen=True)
class Heads(Declaration):
    """Linear tasks, read by softmax attention whose values are the labels; w ~ N(0, I), y = <w, x>, no noise.

    d, N      dimensions and examples of a context, for the pair
    kappa     condition number of the covariance of inputs; eps: size of the pair's logits
    prompts   of each, for the pair
    x, long, single    variances of the logits of one head, its dimensions of tokens N(0, I), examples and prompts
    """

    d: Several[AtLeastTwo]
    N: Several[AtLeastTwo]
    kappa: Positive
    eps: Positive
    prompts: AtLeastTwo
    x: Several[Positive]
    long: AtLeastTwo
    single: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the pair's risk with the weights of its optimum, and the scaled error of one head."""
        pair = [[self._pair(seed, d, N) for N in self.N] for d in self.d]
        single = [self._single(seed, d) for d in self.d]
        found = {
            "risk": ("d N", pair, "risk of the pair"),
            "noise": ("d x", single, "N/d^2 times the squared error of one head"),
        }
        columns = {
            f"{name}{end}": variable(dims, np.array(each)[..., k] if name == "risk" else np.array(each)[:, k], words)
            for name, (dims, each, told) in found.items()
            for k, (end, words) in enumerate((("", told), ("_se", "standard error")))
        }
        return xr.Dataset(columns, coords={"d": list(self.d), "N": list(self.N), "x": list(self.x)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put Zhang's risk at N - 1 examples beside it, and the noise of one head in long contexts."""
        covariances = [self._covariance(seed, d) for d in self.d]
        risks = [[[one_function.one_step_risk(each, N - less) for N in self.N] for each in covariances] for less in (1, 0, 2)]
        noise = [[one_function.single_head_noise(d, x) for x in self.x] for d in self.d]
        blocks = {"risk_se": self.prompts, "noise_se": self.single}
        found = dataset.assign(
            risk_theory=variable("d N", risks[0], "risk of one step with N - 1 examples"),
            risk_near=near_misses("d N", {"N for N - 1": risks[1], "N - 2 for N - 1": risks[2]}),
            noise_theory=variable("d x", noise, "(e^x/x)(1 + x/d)"),
            noise_near=near_misses("d x", {"1/x, as of linear attention": _linear(self), "without x/d": _without(self)}),
        )
        base = found.risk_near.sel(mistake="N for N - 1", drop=True)
        ratios = {name.replace("risk", "ratio"): found[name] / base for name in ("risk", "risk_se", "risk_theory")}
        ratios["ratio"].attrs |= {"long_name": "risk of the pair over that of one step with N examples", "units": "1"}
        errors = {name: found[name].assign_attrs(blocks=count) for name, count in blocks.items()}
        return found.assign(errors).assign(ratios)

    def _covariance(self, seed: int, d: int) -> np.ndarray:
        return geometric_covariance(d, self.kappa, seed, f"heads/{d}/basis")

    def _pair(self, seed: int, d: int, N: int) -> Estimate:
        Lambda = self._covariance(seed, d)
        inverse = torch.tensor(np.linalg.inv(one_function.pair_weights(Lambda, N)))
        x, y, queries, w = contexts(seed, f"heads/{d}/{N}", (self.prompts, N, 1), torch.tensor(Lambda))
        logits = self.eps * torch.einsum("bnd,de,be->bn", x, inverse, queries[:, 0])
        up, down = (((sign * logits).softmax(-1) * y).sum(-1) for sign in (1, -1))
        return mean(((up - down) / (2 * self.eps) - (queries[:, 0] * w).sum(-1)).square())

    def _single(self, seed: int, d: int) -> Estimate:
        """Measure one head at queries of length sqrt(d), where a logit has the variance x, at all x on the same tokens.

        The mean of the squared error over w ~ N(0, I) is |sum_i attn_i x_i/eps - x_q|^2.
        """
        generator, like = stream(seed, f"heads/{d}/single"), torch.zeros((), dtype=torch.float64)
        eps = torch.tensor(self.x, dtype=like.dtype).div(d).sqrt()[:, None]
        errors = []
        for _ in range(self.single):
            z, q = (normal(generator, shape, like) for shape in ((self.long, d), (d,)))
            q = q * d**0.5 / q.norm()
            errors.append(((eps * (z @ q)).softmax(-1) @ z / eps - q).square().sum(-1))
        return mean(torch.stack(errors, -1) * self.long / d**2)


def _linear(declared: Heads) -> list[list[float]]:
    return [[(1 + x / d) / x for x in declared.x] for d in declared.d]


def _without(declared: Heads) -> list[list[float]]:
    return [[np.exp(x) / x for x in declared.x] for d in declared.d]


_QUICK = Heads(d=(3, 6), N=(6, 12), kappa=4.0, eps=0.01, prompts=100_000, x=(0.25, 0.5, 1.0, 1.5), long=6000, single=2500)
HEADS = Experiment(
    slug="lenses-heads",
    title="One head, and two opposite ones",
    quick=_QUICK,
    full=replace(_QUICK, prompts=1_000_000, long=20_000, single=10_000),
)
