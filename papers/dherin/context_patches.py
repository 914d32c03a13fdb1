"""What a model has of a context without it: by itself, and with patches made of the context, or of another one."""

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from papers.dherin.distance import relative
from papers.dherin.fits import LeastSquares, Ridge
from papers.dherin.gains import one_factor, solved
from papers.dherin.passes import Passage, Record, Rule, patched, record
from papers.dherin.seats import Seat

EXACT = Rule(LeastSquares(), ("last",), solved)
STATIC = Rule(Ridge(1e-3), ("last",), one_factor)
"""The rules of the page on real model classes; the strength of the ridge is that of dherin-recall."""


class Texts(NamedTuple):
    """Tokens of the files: a context, a query, a placebo, the lines a static patch is fitted to, and those held out."""

    context: list[int]
    query: list[int]
    placebo: list[int]
    fitted: list[list[int]]
    held_out: list[list[int]]


@dataclass(frozen=True)
class Row:
    """What one patch gives: at ``tokens`` tokens, with ``kept`` tokens of the context in view; KL in nats, a mean.

    refused   why there is no such patch, or nothing; then nothing was measured
    """

    patch: str
    kept: int
    tokens: int
    refused: str = ""
    logits_error: float | None = None
    top1_agreement: float | None = None
    kl: float | None = None
    block_error: list[float | None] = field(default_factory=list)
    size: list[float | None] = field(default_factory=list)


def work(texts: Texts, keeps: Sequence[float]) -> float:
    """Return how many tokens all passes have together, those of a patched pass twice."""
    n, queries = len(texts.context), [*texts.fitted, *texts.held_out]
    left = 7 * len(texts.query) + 4 * sum(map(len, queries))
    rows = 7 + 4 * len(queries)
    return len(queries) * n + sum(left + rows * keep * n + len(texts.fitted) * n for keep in keeps)


def passage(before: list[int], queries: list[list[int]], begin: int) -> Passage:
    """Return queries behind the same tokens, each from position ``begin`` on; rows are theirs, shorter ones end in padding."""
    longest = max(map(len, queries))
    tokens = torch.tensor([before + query + [0] * (longest - len(query)) for query in queries])
    positions = (begin - len(before) + torch.arange(tokens.shape[1])).expand_as(tokens)
    ends = begin + torch.tensor([len(query) for query in queries])[:, None]
    return Passage(tokens, positions, (positions >= begin) & (positions < ends))


def measured(model: nn.Module, found: Sequence[Seat], texts: Texts, full: Record, keeps: Sequence[float]) -> Iterator[Row]:
    """Yield what is left of the context without a patch and with each, for every share of it that stays."""
    n = len(texts.context)
    whole, held_out = (_recorded(model, found, texts.context, lines, n) for lines in (texts.fitted, texts.held_out))
    for keep in keeps:
        kept = min(round(keep * n), n - 1)
        view = texts.context[n - kept :]
        left = passage(view, [texts.query], n)
        last = left._replace(rows=left.positions == left.positions.max())
        end = Record([z[-1:] for z in full.z], [out[-1:] for out in full.out], full.logits[-1:])
        judge = partial(_judged, model, found, kept)
        yield judge("no patch", full, [left], None)
        yield judge("joint patch", full, [left], (full, left, EXACT))
        yield judge("token patch, last token", end, [last], (end, last, EXACT))
        if whole and held_out:
            new, lines = [passage(view, [line], n) for line in texts.held_out], passage(view, texts.fitted, n)
            other = _recorded(model, found, texts.placebo[: n - kept] + view, texts.fitted, n)
            yield judge("no patch, held-out lines", held_out, new, None)
            yield judge("static patch, held-out lines", held_out, new, (whole, lines, STATIC))
            yield judge("placebo patch, held-out lines", held_out, new, (other, lines, STATIC))


def _recorded(model: nn.Module, found: Sequence[Seat], before: list[int], queries: list[list[int]], begin: int):
    return _joined([record(model, found, passage(before, [query], begin)) for query in queries]) if queries else None


def _joined(records: list[Record]) -> Record:
    z, out = ([torch.cat(each) for each in zip(*parts, strict=True)] for parts in zip(*(r[:2] for r in records), strict=True))
    return Record(z, out, torch.cat([each.logits for each in records]))


def _judged(
    model: nn.Module, found: Sequence[Seat], kept: int, patch: str, full: Record, left: list[Passage], fit: tuple | None
) -> Row:
    """Return how far the passes without the context are from those with it, under a patch: targets, passage and rule."""
    try:
        with patched(model, found, *fit) if fit else nullcontext(torch.zeros(0)) as size:
            again = _joined([record(model, found, each) for each in left])
    except (ValueError, torch.linalg.LinAlgError) as error:
        return Row(patch, kept, len(full.logits), refused=" ".join(str(error).split()))
    agreed = (again.logits.argmax(-1) == full.logits.argmax(-1)).double().mean().item()
    divergence = sum(_divergence(*pair) for pair in zip(full.logits, again.logits, strict=True)) / len(full.logits)
    behind = [largest(one, other) for one, other in zip(again.out, full.out, strict=True)]
    error, sizes = largest(again.logits, full.logits), [_finite(each) for each in size.tolist()]
    return Row(patch, kept, len(full.logits), "", error, agreed, _finite(divergence), behind, sizes)


def _divergence(full: Tensor, again: Tensor) -> float:
    p, q = full.double().log_softmax(-1), again.double().log_softmax(-1)
    return (p.exp() * (p - q)).sum().item()


def largest(found: Tensor, expected: Tensor) -> float | None:
    """Return the largest relative error over rows; nothing where it is not finite."""
    return _finite(relative(found.double(), expected.double()).max().item())


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
