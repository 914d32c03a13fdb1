"""lenses-own-and-others: the patch of the examples that carry the query's pattern, against the patch of the others."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Declaration,
    Experiment,
    PositiveShare,
    expectation,
    near_misses,
    variable,
    variables,
)
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.lenses.pattern_networks import STAGES, drawn, network_at
from papers.lenses.theory import one_function
from papers.li.classification import same_pattern
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.trained import A, Setting

NAMES = {
    "odds": ("prompt", "length of the patch of the examples with the query's pattern, over that of the others"),
    "mass": ("prompt", "attention on the examples with the query's pattern"),
    "lengths": ("prompt", "length of what attention gives of the own examples alone, over that of the others alone"),
}


@dataclass(frozen=True)
class OwnAndOthers(Declaration):
    """The one-layer network of Li et al. on prompts of unseen tasks, before and after training.

    networks        of the setting, each with its own initialisation and training prompts
    alpha, length   share of contexts that the task decides, and examples of a prompt
    prompts         of each network, with examples of both kinds
    """

    setting: Setting
    networks: AtLeastTwo
    alpha: PositiveShare
    length: AtLeastTwo
    prompts: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch out the examples with the query's pattern, and those without it."""
        found = [self._read(seed, device, stage) for stage in STAGES]
        return xr.Dataset(variables(NAMES, found, "stage network {}"), coords={"stage": list(STAGES)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the odds of the attention beside it, times the ratio of lengths."""
        dims, (mass, lengths) = "stage network prompt", (dataset[name].values for name in ("mass", "lengths"))
        inverse = one_function.patch_odds(mass, 1 / lengths)
        misses = {"without the lengths": one_function.patch_odds(mass, np.ones_like(mass)), "lengths inverted": inverse}
        return dataset.assign(
            odds_theory=variable(dims, one_function.patch_odds(mass, lengths), "odds of the attention times the lengths"),
            odds_near=near_misses(dims, misses),
        )

    def _read(self, seed: int, device: str, stage: str) -> dict[str, np.ndarray]:
        trained = network_at(self.setting, self.networks, seed, device, stage)
        codes, prompts = drawn(trained, self.alpha, self.length, 2 * self.prompts, stream(seed, "own and others"))
        model, own = trained.model(), same_pattern(codes)
        both = own.any(-1) & ~own.all(-1)
        kept = (~both).byte().argsort(dim=1, stable=True)[:, : self.prompts]
        found = {name: each.gather(1, kept).numpy() for name, each in _odds(model, prompts, own).items()}
        if not both.gather(1, kept).all():
            raise ValueError("too few prompts hold examples of both kinds: take alpha further from 0")
        return found


def _odds(model: SoftmaxAttentionMLP, prompts, own: Tensor) -> dict[str, Tensor]:
    values = torch.einsum("svd,sbld->sblv", model.W_V, model.contexts(prompts))
    attention = model.attention(prompts)
    parts = [attention, attention * ~own, attention * own]
    whole, others, own_alone = (torch.einsum("sbl,sblv->sbv", each / each.sum(-1, keepdim=True), values) for each in parts)
    W = model.W_O[:, None]
    patches = [_patch_length(W, left, whole) for left in (others, own_alone)]
    return {
        "odds": patches[0] / patches[1],
        "mass": (attention * own).sum(-1),
        "lengths": own_alone.norm(dim=-1) / others.norm(dim=-1),
    }


def _patch_length(W: Tensor, a: Tensor, a_full: Tensor) -> Tensor:
    return redirection(W, a, a_full).flatten(-2).norm(dim=-1)


_QUICK = OwnAndOthers(setting=replace(A, T=150, B=128), networks=3, alpha=0.8, length=20, prompts=100)
OWN_AND_OTHERS = Experiment(
    slug="lenses-own-and-others",
    title="The patch of the examples like the query",
    quick=_QUICK,
    full=replace(_QUICK, setting=A, networks=10, prompts=200),
)
