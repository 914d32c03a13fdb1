"""lenses-one-vote: the patch of W_O in Li et al.'s network, its direction, and what pruning makes of it."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from scipy.linalg import helmert
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Declaration, Experiment, PositiveShare, expectation, variables
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.lenses.pattern_networks import STAGES, drawn, network_at
from papers.li.patterns import Patterns
from papers.li.pruning import small_neurons
from papers.li.trained import A, Setting, Trained

UNSEEN, EQUAL, MIXED = "unseen tasks", "other patterns, one sum", "other patterns, two sums"
DOMAINS = (UNSEEN, EQUAL, MIXED)
NAMES = {
    "along": ("network", "share of |W DeltaA|^2 along the label direction"),
    "vote_left": ("network", "share of |W DeltaA|^2 that the change of the weighted vote leaves"),
    "small_rows": ("network", "share of |W DeltaA|^2 in the small rows"),
    "random_rows": ("network", "the same in as many rows, taken in turn"),
    "rows": ("network", "patch of the network without its small rows, against the patch without them"),
    "entries": ("network", "the same with as many entries in the place of whole rows, the smallest first"),
}


@dataclass(frozen=True)
class OneVote(Declaration):
    """The one-layer network of Li et al. with its context and without the second half of it, before and after training.

    networks        of the setting, each with its own initialisation and training prompts
    alpha, length   share of contexts that the task decides, and examples of a prompt
    prompts         of each network and each set of patterns
    """

    setting: Setting
    networks: AtLeastTwo
    alpha: PositiveShare
    length: AtLeastTwo
    prompts: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.setting.M1 % 3:
            raise ValueError(f"M1 is {self.setting.M1}: three patterns with one coefficient sum need a multiple of 3")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the direction of W DeltaA, and the patches of pruned networks."""
        found = [[self._read(seed, device, stage, domain) for domain in DOMAINS] for stage in STAGES]
        return xr.Dataset(variables(NAMES, found, "stage domain {}"), coords={"stage": list(STAGES), "domain": list(DOMAINS)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the mean over networks beside what the vote leaves, with the least and the most."""
        ends = {"": dataset.vote_left.mean, "_low": dataset.vote_left.min, "_high": dataset.vote_left.max}
        found = {f"rest{end}": of("network") for end, of in ends.items()}
        found["rest"].attrs |= {"long_name": "share that the vote leaves, mean over networks", "units": "1"}
        return dataset.assign(found)

    def _read(self, seed: int, device: str, stage: str, domain: str) -> dict[str, np.ndarray]:
        trained = network_at(self.setting, self.networks, seed, device, stage)
        generator = stream(seed, f"one vote/{domain}")
        prompts = drawn(trained, self.alpha, self.length, self.prompts, generator, patterns(trained, domain))[1]
        model = trained.model()
        values = torch.einsum("svd,sbld->sblv", model.W_V, model.contexts(prompts))
        whole = model.attention(prompts)
        half = whole.clone()
        half[..., self.length // 2 :] = 0
        half = half / half.sum(-1, keepdim=True)
        a_full, a = (torch.einsum("sbl,sblv->sbv", each, values) for each in (whole, half))
        W = model.W_O
        moved = torch.einsum("smv,sbv->sbm", W, a_full - a)
        label = torch.einsum("smv,svd,d->sm", W, model.W_V, torch.cat([model.q.new_zeros(prompts.x.shape[-1]), model.q]))
        vote = ((whole - half) * prompts.y).sum(-1)
        along = torch.einsum("sbm,sm->sb", moved, label) / label.norm(dim=-1)[:, None]
        small = small_neurons(W)
        total = moved.square().sum((1, 2))
        found = {
            "along": along.square().sum(1) / total,
            "vote_left": (moved - vote[..., None] * label[:, None]).square().sum((1, 2)) / total,
            "small_rows": (moved.square() * small[:, None]).sum((1, 2)) / total,
            "random_rows": (moved.square() * _first(small)[:, None]).sum((1, 2)) / total,
            "rows": _apart(W, small[..., None].expand_as(W), a, a_full),
            "entries": _apart(W, _smallest(W, small), a, a_full),
        }
        return {name: each.numpy() for name, each in found.items()}


def patterns(trained: Trained, domain: str) -> Patterns | None:
    """Return three orthogonal patterns as long as those of training, with one coefficient sum, or with sums of 2.4 and 0."""
    if domain == UNSEEN:
        return None
    own = trained.setting.patterns()
    M1 = len(own.relevant)
    rows = np.kron(np.eye(3), np.ones((1, M1 // 3)) / (M1 // 3) ** 0.5) if domain == EQUAL else helmert(M1, full=True)[:3]
    return Patterns(torch.tensor(rows) @ own.relevant, own.irrelevant)


def _apart(W: Float[Tensor, "S m n"], gone: Bool[Tensor, "S m n"], a: Tensor, a_full: Tensor) -> Float[Tensor, "S"]:
    """Return |patch of the pruned W - pruned patch of W| over |pruned patch of W|, root mean square over prompts."""
    kept = (~gone).to(W.dtype)[:, None]
    pruned = redirection(kept * W[:, None], a, a_full)
    patch = kept * redirection(W[:, None], a, a_full)
    return ((pruned - patch).square().sum((1, 2, 3)) / patch.square().sum((1, 2, 3))).sqrt()


def _first(small: Bool[Tensor, "S m"]) -> Bool[Tensor, "S m"]:
    return torch.arange(small.shape[1]) < small.sum(1, keepdim=True)


def _smallest(W: Float[Tensor, "S m n"], small: Bool[Tensor, "S m"]) -> Bool[Tensor, "S m n"]:
    """Mark as many entries as the small rows have."""
    rank = W.abs().flatten(1).argsort(1).argsort(1)
    return (rank < small.sum(1, keepdim=True) * W.shape[2]).reshape(W.shape)


_QUICK = OneVote(setting=replace(A, T=150, B=128), networks=3, alpha=0.8, length=20, prompts=100)
ONE_VOTE = Experiment(
    slug="lenses-one-vote",
    title="The patch as one weighted vote",
    quick=_QUICK,
    full=replace(_QUICK, setting=A, networks=10, prompts=200),
)
