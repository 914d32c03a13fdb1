"""dherin-model-capacity: one joint patch for M tokens; how many it can serve, what gains do behind a norm, and its size."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor, nn

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    InnerShare,
    Several,
    expectation,
    near_misses,
    variable,
    variables,
)
from icl_lib.seeds import stream
from papers.dherin.fits import Fit, LeastSquares
from papers.dherin.gains import one_factor, solved
from papers.dherin.model_families import seats
from papers.dherin.passes import Passage, Record, Rule, patched, record
from papers.dherin.real_models.model_classes import errors
from papers.dherin.seats import Seat
from papers.dherin.theory import model_classes as theory
from papers.dherin.transformers_models import ModelSizes, Name, made, words

TOKENS = ("half", "one less", "H", "one more", "twice", "three times")
GAINS = {"one factor": one_factor, "equations": solved}
TEXTS = ("random tokens", "one token repeated")
EXACT = 1e-6
"""A patch serves its tokens when the token behind no block is off by more; in float64 the errors lie far on both sides."""


@dataclass(frozen=True)
class Cut:
    """Least squares that leaves out directions of the reads below this share of the largest."""

    share: float

    def __call__(self, reads: Float[Tensor, "K n"], changes: Float[Tensor, "K m"]) -> Float[Tensor, "m n"]:
        """Return the fit."""
        return torch.einsum("nk,km->mn", torch.linalg.pinv(reads, rtol=self.share), changes)


@dataclass(frozen=True)
class ModelCapacity(Declaration):
    """Random models, a context of random tokens, and a query of M random tokens that one patch has to serve.

    classes, shapes   without a norm behind, in float64; M goes from half of ``hidden`` to three times as many
    context           random tokens before the query
    normed, rows      classes with a norm behind, in float32, of the shape ``behind``; M of ``rows`` different tokens
    cut               a share of the largest direction, below which a second fit leaves directions out; see ``repeated``
    repeats           tokens of a query that repeats one token, and of one beside it that repeats none
    seeds             models of each class and shape

    Shared stream: context/#: every model of one number has the same context before its queries.
    """

    classes: Several[Name]
    shapes: Several[ModelSizes]
    context: Count
    normed: Several[Name]
    behind: ModelSizes
    rows: Several[Count]
    cut: InnerShare
    repeats: AtLeastTwo
    seeds: AtLeastTwo

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Make and judge every patch."""
        numbers = range(self.seeds)
        joint = [[[self.joint(name, shape, seed, s) for s in numbers] for shape in self.shapes] for name in self.classes]
        gains = [[self.gains(name, seed, s) for s in numbers] for name in self.normed]
        repeated = [self.repeated(seed, s) for s in numbers]
        H = np.array([shape.hidden for shape in self.shapes])
        coords = {"model": list(self.classes), "tokens": list(TOKENS), "normed": list(self.normed), "gain": list(GAINS)}
        coords |= {"rows": list(self.rows), "text": list(TEXTS), "fit": ["all directions", "cut"]}
        shapes = {"D": ("shape", [shape.width for shape in self.shapes]), "H": ("shape", H)}
        columns = variables(JOINT, joint, "model shape seed {}", "f4") | variables(BEHIND, gains, "normed seed {}", "f4")
        columns |= variables(REPEATED, repeated, "seed {}", "f4")
        columns["M"] = variable("shape tokens", [served(h) for h in H], "tokens that one patch is asked to serve")
        return xr.Dataset(columns, coords | shapes)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Add the capacity: the width of the hidden layer."""
        ones, dims = xr.ones_like(dataset.capacity.mean("seed")), ("model", "shape")
        most = xr.DataArray([theory.capacity(int(H)) for H in dataset.H], dims="shape") * ones
        near = {"one token fewer": most - 1, "the width of the stream": dataset.D * ones, "both widths": most + dataset.D}
        misses = near_misses("model shape", {label: values.transpose(*dims).values for label, values in near.items()})
        found = most.transpose(*dims).assign_attrs(long_name="width of the hidden layer", units="1")
        return dataset.assign(capacity_theory=found, capacity_near=misses)

    def joint(self, name: str, shape: ModelSizes, seed: int, s: int) -> dict[str, list | float]:
        """Return the readings of one model without a norm behind, by the number of tokens."""
        label = f"{name}/{shape.width}/{shape.hidden}/{s}"
        model = made(name, shape, stream(seed, f"weights/{label}")).double()
        found: dict[str, list] = {"error": [], "stream": [], "size": [], "new": []}
        for M in served(shape.hidden):
            text, new = (words(seed, f"{role}/{label}/{M}", shape.vocabulary, (M,)) for role in ("words", "new"))
            query, other = (
                self.query(model, words(seed, f"context/{s}", shape.vocabulary, (self.context,)), each) for each in (text, new)
            )
            cell = judged(model, query, Rule(LeastSquares(), ("last",), one_factor), other)
            for key, values in found.items():
                values.append(cell[key])
        fits = [M for M, error in zip(served(shape.hidden), found["stream"], strict=True) if error < EXACT]
        return found | {"capacity": max(fits, default=0)}

    def gains(self, name: str, seed: int, s: int) -> dict[str, list]:
        """Return the readings of one model with a norm behind: one factor on the gain, and gains that are solved for."""
        model = made(name, self.behind, stream(seed, f"weights/{name}/{s}"))
        found: dict[str, list] = {"gain_error": [], "gain_size": []}
        context = words(seed, f"context/{s}", self.behind.vocabulary, (self.context,))
        for M in self.rows:
            query = self.query(model, context, different(seed, f"rows/{s}/{M}", self.behind.vocabulary, M))
            cells = [self._behind(model, query, made_of) for made_of in GAINS.values()]
            for key, name_there in (("gain_error", "stream"), ("gain_size", "size")):
                found[key].append([cell[name_there] for cell in cells])
        return found

    def _behind(self, model: nn.Module, query: "Query", gains: Callable) -> dict[str, float]:
        try:
            return judged(model, query, Rule(LeastSquares(), ("last",), gains), query)
        except ValueError:  # no gain of real numbers gives these outputs together
            return {"stream": np.nan, "size": np.nan}

    def repeated(self, seed: int, s: int) -> dict[str, list]:
        """Return errors and size for one token again and again, whose values are equal in the first block of Llama."""
        shape = self.behind
        model = made("Llama", shape, stream(seed, f"weights/repeated/{s}"))
        context = words(seed, f"context/{s}", shape.vocabulary, (self.context,))
        some = different(seed, f"repeated/{s}", shape.vocabulary, self.repeats)
        fits: tuple[Fit, ...] = (LeastSquares(), Cut(self.cut))
        found: dict[str, list] = {name: [] for name in REPEATED}
        for tokens in (some, some[:1].expand(self.repeats)):
            query = self.query(model, context, tokens)
            cells = [judged(model, query, Rule(fit, ("last",), one_factor), query) for fit in fits]
            for name, values in found.items():
                values.append([cell[name.removeprefix("repeat_")] for cell in cells])
        return found

    def query(self, model: nn.Module, context: Int[Tensor, "C"], tokens: Int[Tensor, "M"]) -> "Query":
        """Return what is recorded of the tokens with the context, and the passage without."""
        every = torch.cat([context, tokens])[None]
        positions = torch.arange(every.shape[1])[None]
        rows, C = positions >= len(context), len(context)
        found = seats(model)
        full = record(model, found, Passage(every, positions, rows))
        return Query(found, full, Passage(every[:, C:], positions[:, C:], rows[:, C:]))


@dataclass(frozen=True)
class Query:
    """Tokens behind a context: what is recorded with it, and how they are passed without."""

    seats: tuple[Seat, ...]
    full: Record
    alone: Passage


def judged(model: nn.Module, query: Query, rule: Rule, new: Query) -> dict[str, float]:
    """Return errors and size of a joint patch, and how far new tokens stay off, over how far they are without a patch."""
    bare = record(model, query.seats, new.alone).logits
    with patched(model, query.seats, query.full, query.alone, rule) as size:
        own, other = record(model, query.seats, query.alone), record(model, query.seats, new.alone).logits
    left = (other - new.full.logits).norm() / (bare - new.full.logits).norm()
    return {"size": size.max().item(), "new": left.item(), **errors(own, query.full)}


def different(seed: int, role: str, vocabulary: int, count: int) -> Int[Tensor, "M"]:
    """Return random tokens, each once: beginning with one token twice, z is equal in the first block (``repeated``)."""
    return 1 + torch.randperm(vocabulary - 1, generator=stream(seed, role))[:count]


def served(H: int | np.int64) -> tuple[int | np.int64, ...]:
    """Return the numbers of tokens that are tried with a hidden layer of H."""
    return (H // 2, H - 1, H, H + 1, 2 * H, 3 * H)


JOINT = {
    "error": ("tokens", "largest relative error of the logits over the tokens that the patch is made for"),
    "stream": ("tokens", "largest relative error of a token behind a block, over these tokens and blocks"),
    "size": ("tokens", "largest size of a change over that of the changed weights, over blocks"),
    "new": ("tokens", "distance of the logits to those with the context, on as many new tokens, over that without a patch"),
    "capacity": ("", "most tokens of those tried that one patch serves exactly"),
}
BEHIND = {
    "gain_error": ("rows gain", "largest relative error of a token behind a block; none where no gain gives the outputs"),
    "gain_size": ("rows gain", "largest size of a change over that of the changed weights, over blocks"),
}
REPEATED = {
    "repeat_error": ("text fit", "largest relative error of the logits"),
    "repeat_stream": ("text fit", "largest relative error of a token behind a block, over tokens and blocks"),
    "repeat_size": ("text fit", "largest size of a change over that of the changed weights, over blocks"),
}

_QUICK = ModelCapacity(
    classes=("GPT-2", "Llama"),
    shapes=(
        ModelSizes(width=32, hidden=24, depth=2, heads=4, vocabulary=97),
        ModelSizes(width=32, hidden=40, depth=2, heads=4, vocabulary=97),
        ModelSizes(width=48, hidden=24, depth=2, heads=4, vocabulary=97),
    ),
    context=16,
    normed=("Gemma 2", "Gemma 3", "OLMo 2"),
    behind=ModelSizes(width=64, hidden=160, depth=2, heads=4, vocabulary=97),
    rows=(1, 2, 4, 32),
    cut=1e-6,
    repeats=5,
    seeds=2,
)
MODEL_CAPACITY = Experiment(
    slug="dherin-model-capacity",
    title="How many tokens one patch of a model class serves",
    needs=("transformers",),
    section="3.4 (v4)",
    quick=_QUICK,
    full=replace(
        _QUICK,
        shapes=(
            ModelSizes(width=32, hidden=48, depth=3, heads=4, vocabulary=97),
            ModelSizes(width=32, hidden=96, depth=3, heads=4, vocabulary=97),
            ModelSizes(width=64, hidden=48, depth=3, heads=4, vocabulary=97),
        ),
        rows=(1, 2, 4, 8, 16, 32),
        seeds=10,
    ),
)
