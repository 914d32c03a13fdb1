"""dherin-model-classes: random models of twelve classes, patched for a token within one pass of the class's own forward."""

import copy
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import torch
import xarray as xr
from annotated_types import Ge, Le
from jaxtyping import Float
from torch import Tensor, nn

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, variables
from icl_lib.seeds import stream
from papers.dherin.distance import relative
from papers.dherin.fits import LeastSquares
from papers.dherin.gains import one_factor
from papers.dherin.model_families import seats
from papers.dherin.passes import Passage, Record, Rule, patched, record
from papers.dherin.seats import Seat
from papers.dherin.transformers_models import CLASSES, PRECISIONS, ModelSizes, Name, made, round_weights, words

PRECISION = ("float32", "bfloat16")
PATCHES = {
    "all matrices": ("reads", "last"),
    "last alone": ("last",),
    "position 0": ("last",),
    "last block": ("last",),
    "reads alone": ("reads",),
    "no patch": (),
}
"""Which matrices of a block change. At position 0 the token is told to be the first one; in the last block alone."""


MADE = ("in bfloat16", "in float32")
"""Where the patch is made that is judged in bfloat16; one that is made in float32 is rounded then, like all weights."""


class Text(NamedTuple):
    """A model, its seats, and one text in it."""

    model: nn.Module
    seats: tuple[Seat, ...]
    tokens: Tensor


@dataclass(frozen=True)
class ModelClasses(Declaration):
    """Random models on random tokens; each of the last ones is patched for, with nothing before it left.

    classes   of the package, by name
    sizes     of every model
    tokens    of a text
    queries   last tokens of a text that are patched for, one at a time
    seeds     models of a class, each with a text of its own
    """

    classes: Several[Name]
    sizes: ModelSizes
    tokens: Annotated[int, Ge(2), Le(512)]
    queries: Count
    seeds: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.queries >= self.tokens:
            raise ValueError(f"{self.queries} queries of {self.tokens} tokens: the first of them needs a context")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Patch every model for every query, in both precisions."""
        readings = [[self.read(name, seed, s) for s in range(self.seeds)] for name in self.classes]
        coords = {"model": list(self.classes), "precision": list(PRECISION), "patch": list(PATCHES), "made": list(MADE)}
        return xr.Dataset(variables(NAMES, readings, "model seed {}", "f4"), coords=coords)

    def read(self, name: str, seed: int, s: int) -> dict[str, list]:
        """Return all readings of one model."""
        model = made(name, self.sizes, stream(seed, f"weights/{name}/{s}"))
        tokens = words(seed, f"words/{s}", self.sizes.vocabulary, (1, self.tokens))
        logits, found = {}, {key: [] for key in ("error", "stream", "size")}
        rounded = [self.rounded(Text(model, seats(model), tokens), place) for place in self.places]
        for precision in PRECISION:
            round_weights(model, PRECISIONS[precision])
            text = Text(model, seats(model), tokens)
            cells = [[self.patch(text, place, label) for label in PATCHES] for place in self.places]
            for key in found:
                found[key].append([max(cell[k][key] for cell in cells) for k in range(len(PATCHES))])
            logits[precision] = torch.cat([whole(text, place).logits for place in self.places])
        own = relative(logits["bfloat16"].double(), logits["float32"].double())
        here = torch.tensor([cell[list(PATCHES).index("last alone")]["error"] for cell in cells])
        there = relative(torch.cat(rounded).double(), logits["bfloat16"].double())
        return found | {"own": own.max().item(), "share": (torch.stack([here, there], -1) / own[:, None]).tolist()}

    def rounded(self, text: Text, place: int) -> Float[Tensor, "1 V"]:
        """Return the logits in bfloat16 with a patch of the last matrices that was made in float32."""
        alone, rule = self.alone(text, place, place), Rule(LeastSquares(), ("last",), one_factor)
        with patched(text.model, text.seats, whole(text, place), alone, rule):
            other = copy.deepcopy(text.model)
        round_weights(other, torch.bfloat16)
        return record(other, seats(other), alone).logits

    def alone(self, text: Text, place: int, at: int) -> Passage:
        """Return the token at a place with nothing before it, told that it stands at ``at``."""
        return Passage(text.tokens[:, place, None], torch.tensor([[at]]), torch.tensor([[True]]))

    @property
    def places(self) -> range:
        """The places of the queries."""
        return range(self.tokens - self.queries, self.tokens)

    def patch(self, text: Text, place: int, label: str) -> dict[str, float]:
        """Return errors and size of one patch for the token at a place."""
        full, chosen = whole(text, place), slice(-1 if label == "last block" else 0, None)
        alone = self.alone(text, place, 0 if label == "position 0" else place)
        rule = Rule(LeastSquares(), PATCHES[label], one_factor)
        with patched(text.model, text.seats[chosen], full.take(chosen), alone, rule) as size:
            found = record(text.model, text.seats, alone)
        return {"size": size.max().item(), **errors(found, full)}


def whole(text: Text, place: int) -> Record:
    """Return what the model has at a place with all tokens before it."""
    tokens = text.tokens[:, : place + 1]
    positions = torch.arange(place + 1)[None]
    return record(text.model, text.seats, Passage(tokens, positions, positions == place))


def errors(found: Record, full: Record) -> dict[str, float]:
    """Return the largest relative error over rows: of the logits, and of the token behind a block, of the worst one."""
    behind = [_worst(one, other) for one, other in zip(found.out, full.out, strict=True)]
    return {"error": _worst(found.logits, full.logits), "stream": max(behind)}


def _worst(found: Float[Tensor, "R n"], expected: Float[Tensor, "R n"]) -> float:
    return relative(found.double(), expected.double()).max().item()


NAMES = {
    "error": ("precision patch", "largest relative error of the logits over queries"),
    "stream": ("precision patch", "largest relative error of the token behind a block, over queries and blocks"),
    "size": ("precision patch", "largest size of a change over that of the changed weights, over queries and blocks"),
    "own": ("", "relative error of the logits with the context in bfloat16, to those in float32, largest over queries"),
    "share": (
        "query made",
        "relative error of the logits in bfloat16 with a patch of the last matrices, over that of bfloat16 itself there",
    ),
}

_QUICK = ModelClasses(
    classes=tuple(CLASSES),
    sizes=ModelSizes(width=32, hidden=48, depth=2, heads=4, vocabulary=97),
    tokens=12,
    queries=1,
    seeds=2,
)
MODEL_CLASSES = Experiment(
    slug="dherin-model-classes",
    title="Patches within the own forward of twelve model classes",
    needs=("transformers",),
    section="sequel 2",
    quick=_QUICK,
    full=replace(
        _QUICK, sizes=ModelSizes(width=64, hidden=160, depth=6, heads=4, vocabulary=97), tokens=40, queries=3, seeds=5
    ),
)
