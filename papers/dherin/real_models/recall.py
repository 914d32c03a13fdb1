"""dherin-recall: static patches of models that look up pairs, judged on keys that were asked for and on keys that were not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor, nn

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, expectation, variable, variables
from icl_lib.seeds import stream
from papers.dherin.fits import Ridge
from papers.dherin.gains import one_factor
from papers.dherin.model_families import seats
from papers.dherin.passes import Passage, Rule, patched, record, run
from papers.dherin.real_models.recall_training import GPT, LLAMA, Contexts, RecallTraining
from papers.dherin.seats import Seat, restored

WAYS = ("context", "no patch", "last alone", "all matrices", "placebo", "distilled")
GROUPS = ("asked", "not asked")
VIEWS = ("no patch", "asked of the others", "asked of all")
SEEN = ("in view", "asked", "neither")


class Looking(NamedTuple):
    """A trained model, its seats, the facts that it looks up, and one context: keys and values of the pairs (P,)."""

    model: nn.Module
    seats: tuple[Seat, ...]
    training: RecallTraining
    keys: Int[Tensor, "P"]
    values: Int[Tensor, "P"]


@dataclass(frozen=True)
class Recall(Declaration):
    """Contexts of pairs; a patch is fitted to queries for some of the keys, with the first half of the fillers.

    one, other     trainings of models of two classes
    runs           networks of each
    contexts       of each network
    asked          keys of a context that queries of the fit ask for
    in_view        pairs that stay in view in a second part
    asked_behind   keys of the others that queries of the fit ask for there
    strength       of the ridge
    rate, steps    of the gradient distillation: Adam on the same matrices, on the same queries
    """

    one: RecallTraining
    other: RecallTraining
    runs: Count
    contexts: AtLeastTwo
    asked: Count
    in_view: Count
    asked_behind: Count
    strength: Positive
    rate: Positive
    steps: Count

    def __post_init__(self):
        super().__post_init__()
        pairs = min(self.one.facts.pairs, self.other.facts.pairs)
        if self.asked >= pairs or self.in_view + self.asked_behind >= pairs:
            raise ValueError(f"of {pairs} pairs some have to be left that no query of the patch asks for")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Fit and judge patches for every context of every network."""
        trainings = (self.one, self.other)
        cells = [[self.network(training, seed, r) for r in range(self.runs)] for training in trainings]
        coords = {"model": [training.model for training in trainings], "way": list(WAYS), "group": list(GROUPS)}
        coords |= {"view": list(VIEWS), "seen": list(SEEN)}
        return xr.Dataset(variables(NAMES, cells, "model network context {}", "f4"), coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Add what guessing gives: one value of all."""
        guessed = [1 / training.facts.values for training in (self.one, self.other)]
        return dataset.assign(chance=variable("model", guessed, "share of right answers by guessing"))

    def network(self, training: RecallTraining, seed: int, r: int) -> list[dict[str, np.ndarray]]:
        """Return the readings of one network, context by context."""
        model = training.trained(seed=seed, run=r)
        found, drawn = seats(model), training.facts.draw(stream(seed, f"contexts/{training.model}/{r}"), self.contexts)
        placebo = training.facts.draw(stream(seed, f"placebo/{training.model}/{r}"), self.contexts).values
        each = [Looking(model, found, training, keys, values) for keys, values in zip(*drawn, strict=True)]
        pairs = zip(each, placebo, strict=True)
        return [self.whole(looking, values) | self.half(looking) for looking, values in pairs]

    def whole(self, looking: Looking, placebo: Int[Tensor, "P"]) -> dict[str, np.ndarray]:
        """Return accuracies and sizes when nothing of the context is left."""
        groups = (range(self.asked), range(self.asked, len(looking.keys)))
        other = looking._replace(values=placebo)
        with torch.no_grad():
            found = [accuracies(looking, groups, every(looking)), accuracies(looking, groups, ())]
        sizes = []
        for parts, source in ((("last",), looking), (("reads", "last"), looking), (("last",), other)):
            with self.patch(source, groups[0], (), parts) as size:
                found.append(accuracies(looking, groups, ()))
                sizes.append(size.max().item())
        with restored(looking.seats) as changed:
            self.distil(looking, groups[0])
            found.append(accuracies(looking, groups, ()))
            sizes.append(changed().max().item())
        return {"accuracy": np.array(found), "size": np.array([0, 0, *sizes])}

    def half(self, looking: Looking) -> dict[str, np.ndarray]:
        """Return accuracies when some pairs stay in view: of these, of those that the patch was made for, of the others."""
        view, behind = range(self.in_view), range(self.in_view, len(looking.keys))
        asked = behind[: self.asked_behind]
        groups = (view, asked, behind[self.asked_behind :])
        found = [accuracies(looking, groups, view)]
        for calibrated in (asked, (*asked, *view)):
            with self.patch(looking, calibrated, view, ("last",)):
                found.append(accuracies(looking, groups, view))
        return {"kept": np.array(found)}

    def patch(self, looking: Looking, asked: Sequence[int], view: Sequence[int], parts: tuple):
        """Return the context manager of the static patch fitted to queries for some of the pairs."""
        half = range(looking.training.facts.fillers // 2)
        full = record(looking.model, looking.seats, passage(looking, asked, half, every(looking)))
        rule = Rule(Ridge(self.strength), parts, one_factor)
        return patched(looking.model, looking.seats, full, passage(looking, asked, half, view), rule)

    def distil(self, looking: Looking, asked: Sequence[int]) -> None:
        """Train the last matrices on the queries that a patch is fitted to: cross-entropy to the answers with the context."""
        half, answers = range(looking.training.facts.fillers // 2), looking.training.facts.answers
        last = [stored.parameter for seat in looking.seats for stored in seat.last]
        alone = asking(passage(looking, asked, half, ()))
        with torch.no_grad():
            aim = run(looking.model, asking(passage(looking, asked, half, every(looking))))[:, answers].softmax(-1)
        optimizer = torch.optim.Adam(last, lr=self.rate)
        for _ in range(self.steps):
            loss = nn.functional.cross_entropy(run(looking.model, alone)[:, answers], aim)
            for weight, slope in zip(last, torch.autograd.grad(loss, last), strict=True):
                weight.grad = slope
            optimizer.step()
        for weight in last:
            weight.grad = None


def every(looking: Looking) -> range:
    """Return the places of all pairs."""
    return range(len(looking.keys))


def passage(looking: Looking, asked: Sequence[int], fillers: Sequence[int], view: Sequence[int]) -> Passage:
    """Return queries (filler, key) for some of the pairs, each with each filler, behind the pairs in view; rows are theirs.

    Every token keeps the position that it has behind the whole context.
    """
    facts, P, view, fill = looking.training.facts, len(looking.keys), list(view), list(fillers)
    pairs = facts.tokens(Contexts(looking.keys, looking.values))[view]
    keys = facts.key(looking.keys[list(asked)]).repeat_interleave(len(fill))
    queries = torch.stack([facts.filler(torch.tensor(fill)).repeat(len(list(asked))), keys], -1)
    tokens = torch.cat([pairs.expand(len(queries), -1), queries], -1)
    positions = torch.tensor([*view, P, P + 1]).expand_as(tokens)
    return Passage(tokens, positions, positions >= P)


def asking(given: Passage) -> Passage:
    """Return the passage with the last token of each query as its rows."""
    return given._replace(rows=given.positions == given.positions.max())


@torch.no_grad()
def accuracies(looking: Looking, groups: Sequence[Sequence[int]], view: Sequence[int]) -> list[float]:
    """Return the share of right answers to new queries, with the second half of the fillers, for each group of pairs."""
    facts = looking.training.facts
    half = range(facts.fillers // 2, facts.fillers)
    return [_right(looking, asking(passage(looking, group, half, view)), looking.values[list(group)]) for group in groups]


def _right(looking: Looking, given: Passage, values: Int[Tensor, "G"]) -> float:
    logits: Float[Tensor, "R V"] = run(looking.model, given)[:, looking.training.facts.answers]
    return (logits.argmax(-1).unflatten(0, (len(values), -1)) == values[:, None]).double().mean().item()


NAMES = {
    "accuracy": ("way group", "share of right answers to new queries when nothing of the context is left"),
    "size": ("way", "largest size of a change over that of the changed weights, over blocks"),
    "kept": ("view seen", "share of right answers to new queries when some pairs stay in view"),
}

_QUICK = Recall(
    one=LLAMA,
    other=GPT,
    runs=3,
    contexts=4,
    asked=4,
    in_view=4,
    asked_behind=2,
    strength=1e-3,
    rate=1e-2,
    steps=50,
)
RECALL = Experiment(
    slug="dherin-recall",
    title="Static patches of models that look up facts",
    needs=("transformers",),
    section="3.4 (v4)",
    quick=_QUICK,
    full=replace(_QUICK, contexts=40, steps=100),
)
