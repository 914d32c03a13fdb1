"""Patches made within one pass of a model's own ``forward``: token, joint and static patches are one code, on other rows.

Two hooks a block are enough: what enters ``mlp``, and what leaves the layer. What the last matrix has to add is the token
behind the block with the context minus the token now, so that neither attention, positions nor cache are written again.

A block adds up the tokens and sends the sum through a matrix, here 1. Given its last token alone, 2, it makes 2 + 3 as it does
with the token 1 before, once the matrix is 3/2; afterwards it is 1 again:

>>> from types import SimpleNamespace
>>> import torch
>>> from papers.dherin import fits, gains, passes, seats
>>> class Layer(torch.nn.Module):
...     mlp = torch.nn.Linear(1, 1, bias=False)
...     def forward(self, x):
...         return x + self.mlp(x.cumsum(1))
>>> class Model(torch.nn.Module):
...     layer = Layer()
...     def forward(self, input_ids, **rest):
...         return SimpleNamespace(logits=self.layer(input_ids[..., None].float()))
>>> model = Model()
>>> _ = model.layer.mlp.weight.data.fill_(1.0)
>>> last = seats.Stored(model.layer.mlp, "weight", False, None)
>>> seat = seats.Seat(model.layer, model.layer.mlp, (), (last,), lambda z: z, None)
>>> both = passes.Passage(torch.tensor([[1, 2]]), torch.tensor([[0, 1]]), torch.tensor([[False, True]]))
>>> alone = passes.Passage(*(each[:, 1:] for each in both))
>>> rule = passes.Rule(fits.LeastSquares(), ("last",), gains.one_factor)
>>> with passes.patched(model, (seat,), passes.record(model, (seat,), both), alone, rule) as size:
...     print(passes.run(model, alone).tolist(), last.matrix.tolist(), size.tolist())
[[5.0]] [[1.5]] [0.5]
>>> passes.run(model, alone).tolist(), last.matrix.tolist()
([[4.0]], [[1.0]])
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from papers.dherin.fits import Fit
from papers.dherin.seats import Norm, Seat, restored

Gains = Callable[[Float[Tensor, "R D"], Float[Tensor, "R"], Float[Tensor, "D"]], Float[Tensor, "D"]]
"""(y, rho, m) -> a gain m' with sum_d y_rd^2 / m'_d^2 = D rho_r, as far as the rule can."""


class Passage(NamedTuple):
    """What a model reads in one pass, and the tokens in question: rows (r) are the places where ``rows`` is true."""

    tokens: Int[Tensor, "B T"]
    positions: Int[Tensor, "B T"]
    rows: Bool[Tensor, "B T"]


class Record(NamedTuple):
    """What one pass had at its rows: z and the token behind the block for every seat, and the logits."""

    z: list[Float[Tensor, "R k"]]
    out: list[Float[Tensor, "R D"]]
    logits: Float[Tensor, "R V"]

    def take(self, blocks: slice) -> "Record":
        """Return the record of some of the blocks."""
        return self._replace(z=self.z[blocks], out=self.out[blocks])


@dataclass(frozen=True)
class Rule:
    """How a block is patched: with which fit, which of its matrices, and how the gain of a norm behind them is found."""

    fit: Fit
    parts: tuple[Literal["reads", "last"], ...]
    gains: Gains


def run(model: nn.Module, passage: Passage) -> Float[Tensor, "R V"]:
    """Return the logits at the rows. All tokens are said to be there: without a mask, positions with a gap are read as the
    beginning of another text by some models, and what stands before the gap is dropped.
    """
    seen = torch.ones_like(passage.tokens)
    asked = {"input_ids": passage.tokens, "position_ids": passage.positions, "attention_mask": seen}
    return model(**asked, use_cache=False).logits[passage.rows]


@torch.no_grad()
def record(model: nn.Module, seats: Sequence[Seat], passage: Passage) -> Record:
    """Return what the model's own forward has at the rows of a passage, in every seat."""
    z, out = [], []
    with ExitStack() as stack:
        for seat in seats:
            enter = seat.mlp.register_forward_pre_hook(lambda _, given: z.append(given[0][passage.rows].detach()))
            leave = seat.layer.register_forward_hook(lambda _, given, left: out.append(left[passage.rows].detach()))
            stack.callback(enter.remove)
            stack.callback(leave.remove)
        return Record(z, out, run(model, passage))


@contextmanager
def patched(
    model: nn.Module, seats: Sequence[Seat], targets: Record, passage: Passage, rule: Rule
) -> Iterator[Float[Tensor, "L"]]:
    """Patch every seat so that the rows of ``passage`` leave it as those of ``targets`` do; yields the sizes of the patches.

    targets   z and tokens behind the blocks at as many rows, recorded with the context, for these seats
    passage   the tokens that are left; its rows are what the patch is fitted to: one of them is a token patch, those of one
              query a joint patch, those of many queries a static one

    Blocks are patched in the order of the pass, each for the tokens that the patched ones below really send it. Afterwards
    every parameter is as it was. Raises ValueError when rows do not match, or what a matrix reads is 0.
    """
    if (asked := len(targets.logits)) != (rows := int(passage.rows.sum())):
        raise ValueError(f"{rows} rows of the passage, but targets for {asked}")
    with restored(seats) as sizes:
        with torch.no_grad(), ExitStack() as stack:
            for seat, z, out in zip(seats, targets.z, targets.out, strict=True):
                patching = _Patching(seat, z.double(), out.double(), passage.rows, rule)
                stack.callback(seat.mlp.register_forward_pre_hook(patching.enter).remove)
                stack.callback(seat.layer.register_forward_hook(patching.leave, with_kwargs=True).remove)
            run(model, passage)
        yield sizes()


@dataclass
class _Patching:
    """The patch of one seat while the pass goes through it: z_full and out_full are what it should have, in float64."""

    seat: Seat
    z_full: Float[Tensor, "R k"]
    out_full: Float[Tensor, "R D"]
    rows: Bool[Tensor, "B T"]
    rule: Rule
    z: Tensor | None = None

    def enter(self, mlp: nn.Module, given: tuple) -> None:
        """Patch what reads z, once."""
        if self.z is not None:
            return
        self.z = given[0][self.rows]
        if "reads" in self.rule.parts:
            z = _required(self.z.double())
            for stored in self.seat.reads:
                change = torch.einsum("mk,rk->rm", stored.matrix.double(), self.z_full - z)
                stored.add(self.rule.fit(z, change))

    def leave(self, layer: nn.Module, given: tuple, named: dict, out: Tensor) -> Tensor:
        """Patch the last matrices by what is missing behind the layer, and send the rows through it again."""
        if "last" in self.rule.parts:
            h = _required(self.seat.hidden(self.z).double())
            self._last(h, self.out_full - out[self.rows].double())
        return layer.forward(*given, **named)

    def _last(self, h: Float[Tensor, "R n"], missing: Float[Tensor, "R D"]) -> None:
        if self.seat.norm:
            W = torch.cat([stored.matrix.double() for stored in self.seat.last], -1)
            u = torch.einsum("dn,rn->rd", W, h)
            missing = _turned(self.seat.norm, u, missing, self.rule.gains) - u
        change, begin = self.rule.fit(h, missing), 0
        for stored in self.seat.last:
            columns = stored.matrix.shape[-1]
            stored.add(change[:, begin : begin + columns])
            begin += columns


def _turned(norm: Norm, u: Float[Tensor, "R D"], missing: Float[Tensor, "R D"], gains: Gains) -> Float[Tensor, "R D"]:
    """Set the gain and return the u' that it makes the wanted y = m n + missing of: u' = sqrt(mean u^2 + epsilon) y / m'."""
    square, m = u.square().mean(-1), norm.gain
    length = (square + norm.epsilon).sqrt()
    y = m * u / length[:, None] + missing
    norm.put(gains(y, square / length.square(), m))
    return length[:, None] * y / norm.gain


def _required(read: Float[Tensor, "R n"]) -> Float[Tensor, "R n"]:
    if zero := int((read == 0).all(-1).sum()):
        raise ValueError(
            f"{zero} of {len(read)} vectors that a patched matrix reads are 0, so no change of it can act on them: "
            "a token whose embedding is 0 cannot stand for a context"
        )
    return read
