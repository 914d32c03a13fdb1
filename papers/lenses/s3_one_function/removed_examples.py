"""lenses-removed-examples: what an example does to the output of Li et al.'s network, and the gradient of its score."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    PositiveShare,
    expectation,
    near_misses,
    variable,
    variables,
)
from icl_lib.seeds import stream
from papers.lenses.pattern_networks import STAGES, drawn, network_at
from papers.lenses.theory import one_function
from papers.li.trained import A, Setting

WHERE = "prompt context"
NAMES = {
    "output": ("prompt", "output with all examples"),
    "removal": (WHERE, "output with all examples less that without this one"),
    "slope": (WHERE, "derivative of the output in the score of this example"),
    "attention": (WHERE, "attention on this example"),
    "flips": (WHERE, "neurons that are on with this example and off without it, or the reverse"),
}


@dataclass(frozen=True)
class RemovedExamples(Declaration):
    """The one-layer network of Li et al. on prompts of unseen tasks, before and after training.

    networks        of the setting, each with its own initialisation and training prompts
    alpha, length   share of contexts that the task decides, and examples of a prompt
    prompts         of each network
    """

    setting: Setting
    networks: AtLeastTwo
    alpha: PositiveShare
    length: AtLeastTwo
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Leave out each example in turn, and differentiate the output in the scores."""
        found = [self._read(seed, device, stage) for stage in STAGES]
        measured = xr.Dataset(variables(NAMES, found, "stage network {}"), coords={"stage": list(STAGES)})
        return measured.assign(flips=measured.flips.astype("i2"))

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the gradient over 1 - attention beside the removal, where the same neurons are on and everywhere."""
        slope, attention = dataset.slope.values, dataset.attention.values
        formula = one_function.removal(slope, attention)
        same = dataset.flips.values == 0
        scale = abs(dataset.removal).max([*WHERE.split(), "network"]) + 0 * dataset.removal
        dims = f"stage network {WHERE}"
        kept = dataset.removal.where(same, formula)  # a formula for pairs that flip no neuron is judged on these
        misses = {"without the factor": slope, "1 + attention": slope * (1 + attention)}
        return dataset.assign(
            still=kept.assign_attrs(long_name="what the example adds, where the same neurons are on without it", units="1"),
            still_theory=variable(dims, formula, "dF/ds over 1 - attention"),
            still_near=near_misses(dims, {name: np.where(same, miss, formula) for name, miss in misses.items()}),
            still_scale=scale.assign_attrs(long_name="largest of them", units="1"),
            missed=_share(dataset, dataset.removal - formula),
            missed_slope=_share(dataset, dataset.removal - slope),
        )

    def _read(self, seed: int, device: str, stage: str) -> dict[str, np.ndarray]:
        trained = network_at(self.setting, self.networks, seed, device, stage)
        model = trained.model()
        prompts = drawn(trained, self.alpha, self.length, self.prompts, stream(seed, "removed examples"))[1]
        p = model.contexts(prompts)
        scores = model.attention(prompts).log().requires_grad_()
        F, on = _through(model, scores.softmax(-1), p)
        (slope,) = torch.autograd.grad(F.sum(), scores)
        attention = scores.detach().softmax(-1)
        eye = torch.eye(self.length, dtype=torch.bool)
        others = attention[..., None, :].masked_fill(eye, 0)  # one row for each example left out
        without, on_without = _through(model, others / others.sum(-1, keepdim=True), p[:, :, None])
        found = {
            "output": F.detach(),
            "removal": F.detach()[..., None] - without,
            "slope": slope,
            "attention": attention,
            "flips": (on[..., None, :] != on_without).sum(-1).double(),
        }
        return {name: values.numpy() for name, values in found.items()}


def _through(model, attention: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs for given attention, and which neurons are on."""
    average = torch.einsum("s...l,s...ld->s...d", attention, p.expand(*attention.shape, p.shape[-1]))
    before = torch.einsum("smv,svd,s...d->s...m", model.W_O, model.W_V, average)
    return before.relu() @ model.a, before > 0


def _share(dataset: xr.Dataset, left: xr.DataArray) -> xr.DataArray:
    """Return the sum of the deviations over that of the removals, where the output keeps its sign."""
    keeps = dataset.output * (dataset.output - dataset.removal) > 0
    share = abs(left.where(keeps)).sum(WHERE.split()) / abs(dataset.removal.where(keeps)).sum(WHERE.split())
    return share.assign_attrs(long_name="sum of the deviations over that of the removals, where the answer stays", units="1")


_QUICK = RemovedExamples(setting=replace(A, T=150, B=128), networks=3, alpha=0.8, length=20, prompts=20)
REMOVED_EXAMPLES = Experiment(
    slug="lenses-removed-examples",
    title="Removing an example, and the gradient of its score",
    quick=_QUICK,
    full=replace(_QUICK, setting=A, networks=6, prompts=30),
)
