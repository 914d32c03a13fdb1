"""li-pruning: output, hinge loss and error of trained networks after deleting short and long rows of W_O."""

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
    Several,
    Share,
    expectation,
    variable,
    variables,
)
from icl_lib.seeds import stream
from papers.li.classification import hinge, read, wrong
from papers.li.evaluate import beside_draws
from papers.li.mechanism import neurons
from papers.li.odr import ODRPatterns
from papers.li.patterns import Patterns
from papers.li.pruning import largest_first, random_large, small_neurons
from papers.li.published import pruned_points
from papers.li.softmax_attention import output_weights
from papers.li.task_sets import task_set, unseen_tasks
from papers.li.theory import pruning
from papers.li.trained import A, Setting, Trained, train_models

ORDERS = ("largest first", "random", "one label")
"""Which long rows go first; one label: the largest among those with a_r > 0, a fraction R of these."""
DOMAINS = ("out of domain", "in domain")
LOSSES = ("hinge", "0-1")


@dataclass(frozen=True)
class Pruning(Declaration):
    """Deletion of fractions R of the long rows and of shares P of all rows, the shortest first.

    setting, contrast   trained alike; the contrast starts with long rows, which do not become copies
    seeds               models of either setting
    R                   fractions of the long rows of W_O that are deleted; P: shares of all rows that are deleted
    S_1                 coefficient sum of the ODR patterns; odr: patterns out of domain
    alpha, length       prompts in and out of domain
    prompts             test prompts of a model for each draw, in domain as many in all
    """

    setting: Setting
    contrast: Setting
    seeds: AtLeastTwo
    R: Several[Share]
    P: Several[Share]
    S_1: float
    odr: ODRPatterns
    alpha: PositiveShare
    length: Count
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train, delete and measure.

        The predicted hinge stands beside, since it takes the whole network's outputs prompt by prompt, too many to be kept.
        """
        trained, contrast = train_models((self.setting, self.contrast), self.seeds, seed, device)[self.setting.T]
        readings = [self.read(trained, domain, seed) for domain in DOMAINS]
        other = self.read(contrast, DOMAINS[0], seed)
        columns = variables(NAMES, readings, "domain {} seed", "f4")
        for name in ("hinge", "hinge_of_shares"):
            text = f"{NAMES[name][1]}, the contrast, out of domain"
            columns[f"{name}_contrast"] = variable("order R seed", other[name].astype("f4"), text)
        coords = {"domain": list(DOMAINS), "order": list(ORDERS), "R": list(self.R), "P": list(self.P), "loss": list(LOSSES)}
        return xr.Dataset(columns, coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the points of the slides beside it."""
        return dataset.assign(pruned_points())

    def read(self, trained: Trained, domain: str, seed: int) -> dict[str, np.ndarray]:
        """Return all readings in one domain, the seed last; the deletions meet the same prompts."""
        kept = self.kept(trained, seed)
        margin = self.margins(trained, torch.cat(kept, 1), domain, seed)
        R, P, groups = margin.split([rows.shape[1] for rows in kept], 1)
        whole, short, long, plus, minus = groups.unbind(1)
        s_plus, s_minus = (torch.from_numpy(share) for share in shares(trained, kept[0]))
        predicted = pruning.pruned_output(plus[:, None], -minus[:, None], s_plus, s_minus)
        by_R = (len(ORDERS), len(self.R))
        found = {
            "hinge": hinge(R).unflatten(1, by_R),
            "error": wrong(R).unflatten(1, by_R),
            "hinge_of_shares": hinge(predicted).unflatten(1, by_R),
            "hinge_restored": hinge(R / (s_plus + s_minus) * 2).unflatten(1, by_R),
            "hinge_shortest": hinge(P),
            "error_shortest": wrong(P),
            "error_one_label": wrong(plus),
            "cost_small": torch.stack([loss(short) - loss(whole) for loss in (hinge, wrong)], 1),
            "change_small": (short - whole).abs() / whole.abs().mean(-1, keepdim=True),
            "change_long": (long - whole).abs() / whole.abs().mean(-1, keepdim=True),
        }
        return {name: values.mean(-1).movedim(0, -1).numpy() for name, values in found.items()}

    def kept(self, trained: Trained, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows kept by each deletion (seed, deletion, m): by order and R, by P, whole, short, as long, labels."""
        W_O = trained.parameters["W_O"]
        small, positive = small_neurons(W_O), (output_weights(trained.setting.m) > 0).expand(W_O.shape[:-1])
        length = W_O.norm(dim=-1)
        R = [largest_first(W_O, R) for R in self.R] + [random_large(stream(seed, "random"), W_O, R) for R in self.R]
        R += [largest_first(W_O * positive[..., None], R) for R in self.R]
        P = [first(-length, torch.full(length.shape[:1], round(P * length.shape[-1]))) for P in self.P]
        groups = [torch.zeros_like(small), small, first(length, small.sum(-1)), ~positive, positive]
        return tuple(~torch.stack(deleted, 1) for deleted in (R, P, groups))

    def margins(self, trained: Trained, kept: Tensor, domain: str, seed: int) -> Tensor:
        """Return z F of every deletion on the same prompts, (seed, deletion, prompt)."""
        if domain == DOMAINS[1]:
            patterns = Patterns(*(rows[None, None] for rows in trained.setting.patterns()))
            tasks = unseen_tasks(task_set(trained.setting.tasks, trained.setting.M1), trained.setting.M1)
        else:
            patterns, tasks = self.odr.drawn(trained, self.S_1, seed, "patterns"), task_set("all", self.odr.count)
        probe = {"alpha": self.alpha, "length": self.length, "seed": seed, "name": f"prompts/{domain}"}
        prompts = self.prompts * self.odr.draws // patterns.relevant.shape[1]
        return deleted_margins(trained, kept, patterns, tasks, prompts=prompts, **probe)


def deleted_margins(
    trained: Trained,
    kept: Tensor,
    patterns: Patterns,
    tasks: Tensor,
    *,
    alpha: float,
    length: int,
    prompts: int,
    seed: int,
    name: str,
) -> Tensor:
    """Return z F (seed, deletion, prompt) on fresh prompts over ``patterns`` (seed or 1, draws, ...).

    A deleted row gives relu(0) = 0, so its weight a_r may be set to 0 in its place: then one pass does for all deletions.
    """
    law = trained.setting.law(tasks, alpha, patterns)
    model = beside_draws(trained.model()).on(patterns)
    model = replace(
        model, table=model.table[:, :, None], neurons=model.neurons[:, :, None], a=(model.a * kept)[:, None]
    )  # (seed, draw, deletion, ...)
    lead = (len(kept), patterns.relevant.shape[1], 1)
    found = read(model, law, prompts=prompts, length=length, lead=lead, seed=seed, name=name).margin
    return found.transpose(1, 2).flatten(2)


def first(priority: Tensor, count: Tensor) -> Tensor:
    """Mark the ``count`` rows of highest priority, (seed, m)."""
    return priority.argsort(-1, descending=True).argsort(-1) < count[:, None]


def contributions(trained: Trained) -> Tensor:
    """Return |a_r| relu<w_r, (mu_bar; +-q)> of every row at the mean input of its own label, (seed, m)."""
    setting, model = trained.setting, trained.model()
    rows = neurons(model)
    feature = torch.einsum("smd,d->sm", rows.feature, setting.patterns().relevant.mean(0))
    label = torch.einsum("smk,k->sm", rows.label, setting.label())
    return model.a.abs() * (feature + model.a.sign() * label).relu()


def shares(trained: Trained, kept: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return s_plus and s_minus (seed, deletion, 1): what survives of the contributions of each label."""
    each = (contributions(trained) * (trained.model().a.sign() == label) for label in (1, -1))
    return tuple(pruning.surviving_share(part[:, None].numpy(), kept.numpy())[..., None] for part in each)


NAMES = {
    "hinge": ("order R", "hinge loss"),
    "hinge_of_shares": ("order R", "hinge loss predicted from the whole network's outputs and the surviving shares"),
    "hinge_restored": ("order R", "hinge loss of the output divided by the mean surviving share"),
    "error": ("order R", "0-1 error"),
    "hinge_shortest": ("P", "hinge loss without the share P of all rows, the shortest first"),
    "error_shortest": ("P", "0-1 error without the share P of all rows, the shortest first"),
    "error_one_label": ("", "0-1 error when all rows with a_r < 0 are deleted"),
    "cost_small": ("loss", "change of the loss when all short rows are deleted"),
    "change_small": ("", "mean |change of F| over mean |F| when all short rows are deleted"),
    "change_long": ("", "the same when as many of the longest rows are deleted"),
}
"""Readings of one domain: dimensions beside domain and seed, and what they are."""

_QUICK = Pruning(
    setting=replace(A, T=200),
    contrast=replace(A, T=200, xi=0.3),
    seeds=4,
    R=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    P=(0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
    S_1=1.1,
    odr=ODRPatterns(count=3, distractors=10, draws=5),
    alpha=0.6,
    length=20,
    prompts=1000,
)
PRUNING = Experiment(
    slug="li-pruning",
    title="Deleting short and long neurons",
    quick=_QUICK,
    full=replace(
        _QUICK,
        setting=A,
        contrast=replace(A, xi=0.3),
        seeds=12,
        P=(0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        odr=replace(_QUICK.odr, draws=10),
        prompts=1500,
    ),
)
