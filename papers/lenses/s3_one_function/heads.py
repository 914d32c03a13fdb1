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
    x, long, single   variances of the logits of one head with tokens N(0, I), its examples, and prompts
    """

    d: Several[AtLeastTwo]
    N: Several[AtLeastTwo]
    kappa: Positive
    eps: Positive
    prompts: AtLeastTwo
    x: Several[Positive]
    long: Several[AtLeastTwo]
    single: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the pair's risk with the weights of its optimum, and the scaled error of one head."""
        pair = [[self._pair(seed, d, N) for N in self.N] for d in self.d]
        risk, risk_error = np.moveaxis(np.array(pair), -1, 0)
        noise, noise_error = np.moveaxis(np.array([self._single(seed, d) for d in self.d]), 1, 0)
        columns = {
            "risk": variable("d N", risk, "risk of the pair"),
            "risk_se": variable("d N", risk_error, "standard error"),
            "noise": variable("d long x", noise, "N/d^2 times the squared error of one head"),
            "noise_se": variable("d long x", noise_error, "standard error"),
        }
        columns["risk_se"].attrs["blocks"], columns["noise_se"].attrs["blocks"] = self.prompts, self.single
        return xr.Dataset(columns, coords={name: list(getattr(self, name)) for name in ("d", "N", "x", "long")})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put Zhang's risk at N - 1 examples beside it, and the noise of one head in long contexts."""
        covariances = [self._covariance(seed, d) for d in self.d]
        risks = [[[one_function.one_step_risk(each, N - less) for N in self.N] for each in covariances] for less in (1, 0, 2)]
        noise = {name: self._each(formula) for name, formula in NOISE.items()}
        found = dataset.assign(
            risk_theory=variable("d N", risks[0], "risk of one step with N - 1 examples"),
            risk_near=near_misses("d N", {"N for N - 1": risks[1], "N - 2 for N - 1": risks[2]}),
            noise_theory=variable("d long x", noise.pop("right"), "(e^x/x)(1 + x/d)"),
            noise_near=near_misses("d long x", noise),
        )
        base = found.risk_near.sel(mistake="N for N - 1", drop=True)
        ratios = {name.replace("risk", "ratio"): found[name] / base for name in ("risk", "risk_se", "risk_theory")}
        told = ("risk of the pair over that of one step with N examples", "standard error", "one step with N - 1")
        for ratio, words in zip(ratios.values(), told, strict=True):
            ratio.attrs |= {"long_name": words, "units": "1"}
        return found.assign(ratios)

    def _each(self, formula) -> list[list[list[float]]]:
        return [[[formula(d, x) for x in self.x] for _ in self.long] for d in self.d]

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
            z, q = (normal(generator, shape, like) for shape in ((max(self.long), d), (d,)))
            q = q * d**0.5 / q.norm()
            logits = eps * (z @ q)
            read = [N * (logits[:, :N].softmax(-1) @ z[:N] / eps - q).square().sum(-1) for N in self.long]
            errors.append(torch.stack(read) / d**2)
        return mean(torch.stack(errors, -1))


NOISE = {
    "right": lambda d, x: one_function.single_head_noise(d, x),
    "1/x, as of linear attention": lambda d, x: (1 + x / d) / x,
    "without x/d": lambda d, x: np.exp(x) / x,
}
_QUICK = Heads(
    d=(3, 6), N=(6, 12), kappa=4.0, eps=0.01, prompts=100_000, x=(0.25, 0.5, 1.0, 1.5), long=(3000, 6000), single=1800
)
HEADS = Experiment(
    slug="lenses-heads",
    title="One head, and two opposite ones",
    quick=_QUICK,
    full=replace(_QUICK, prompts=1_000_000, long=(5000, 20_000), single=10_000),
)
