"""Where a block of any class of networks keeps what a patch changes. A seat names it; the class's own ``forward`` uses it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Stored(NamedTuple):
    """A parameter of a module seen as a matrix (m, n) that is applied to rows of n numbers.

    turned   it is stored as (n, m), as in GPT-2's Conv1D; a square one does not show it
    part     its place in a stack of matrices, as of experts; None where there is no stack

    >>> import torch
    >>> from papers.dherin.seats import Stored
    >>> linear = torch.nn.Linear(2, 3)
    >>> Stored(linear, "weight", False, None).matrix.shape, Stored(linear, "weight", True, None).matrix.shape
    (torch.Size([3, 2]), torch.Size([2, 3]))
    """

    owner: nn.Module
    name: str
    turned: bool
    part: int | None

    @property
    def parameter(self) -> Tensor:
        """The whole parameter as it is stored."""
        return getattr(self.owner, self.name)

    @property
    def matrix(self) -> Float[Tensor, "m n"]:
        """The matrix, a view of the parameter."""
        one = self.parameter.detach() if self.part is None else self.parameter.detach()[self.part]
        return one.mT if self.turned else one

    def add(self, change: Float[Tensor, "m n"]) -> None:
        """Add to the matrix where it is stored; the sum is rounded once."""
        self.matrix.copy_(self.matrix.to(change) + change)


class Norm(NamedTuple):
    """A root-mean-square norm behind the feed-forward part: n = u / sqrt(mean u^2 + epsilon) times offset + weight."""

    owner: nn.Module
    offset: float
    epsilon: float

    @property
    def gain(self) -> Float[Tensor, "D"]:
        """What the normalised output is multiplied with, in float64."""
        return self.offset + self.owner.weight.detach().double()

    def put(self, gain: Float[Tensor, "D"]) -> None:
        """Set the gain."""
        self.owner.weight.detach().copy_(gain - self.offset)


@dataclass(frozen=True)
class Seat:
    """One block: what enters ``mlp`` is z, what leaves ``layer`` is the token behind the block.

    reads    matrices that are applied to z itself
    last     matrices that, side by side, make the output u = sum_i W_i h_i; of experts h_i holds the share
    hidden   z (R, k) -> the h_i side by side (R, n)
    norm     behind u, or None
    """

    layer: nn.Module
    mlp: nn.Module
    reads: tuple[Stored, ...]
    last: tuple[Stored, ...]
    hidden: Callable[[Tensor], Tensor]
    norm: Norm | None

    @property
    def parameters(self) -> dict[int, Tensor]:
        """All that a patch may change, each parameter once."""
        every = [stored.parameter for stored in (*self.reads, *self.last)]
        return {id(each): each for each in (*every, *([self.norm.owner.weight] if self.norm else []))}


@contextmanager
def restored(seats: Sequence[Seat]) -> Iterator[Callable[[], Float[Tensor, "L"]]]:
    """Give every parameter of the seats back as it was, to the bit, also after an exception.

    Yields what tells the sizes of the changes so far: |change|_F over |weights|_F of all parameters of a seat that are changed
    by more than rounding alone could.
    Raises ValueError when two seats share a parameter.
    """
    kept = [{name: each.detach().clone() for name, each in seat.parameters.items()} for seat in seats]
    if len({name for each in kept for name in each}) < sum(map(len, kept)):
        raise ValueError("two blocks share a parameter, so that a patch of one would change the other as well")

    def sizes() -> Float[Tensor, "L"]:
        return torch.tensor([_size(seat.parameters, before) for seat, before in zip(seats, kept, strict=True)])

    try:
        yield sizes
    finally:
        with torch.no_grad():
            for seat, before in zip(seats, kept, strict=True):
                for name, parameter in seat.parameters.items():
                    parameter.copy_(before[name])


def _size(now: dict[int, Tensor], before: dict[int, Tensor]) -> float:
    change = {name: (now[name].detach() - old).double().square().sum().item() for name, old in before.items()}
    norms = {name: old.double().square().sum().item() for name, old in before.items()}
    rounding = {name: torch.finfo(old.dtype).eps / 2 for name, old in before.items()}  # of each number, as a share of it
    weight = sum(norm for name, norm in norms.items() if change[name] > rounding[name] ** 2 * norm)
    return (sum(change.values()) / weight) ** 0.5 if weight else 0.0
