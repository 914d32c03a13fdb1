"""Steps of training recorded once and repeated, as CUDA graphs: the host then launches one thing a step."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from icl_lib.train.optimizers import Parameters

Batch = Tensor | tuple
"""What a step learns from: a tensor, or a tuple or NamedTuple of batches."""
WARM_UP = 3
"""Steps run before one is captured, so that libraries have set themselves up."""


class FixedPlaces:
    """A step whose inputs and outputs stay where they are, so that its work can be recorded once and repeated.

    ``record`` takes a call without arguments and returns one that repeats its work, as ``capture`` does on CUDA. There is
    one recording for each shape of the batch. Parameters and state are changed in place.

    Where nothing can be recorded, the work itself is called again; batches of two shapes make two of it:

    >>> import torch
    >>> from icl_lib.train.recording import FixedPlaces
    >>> w = torch.zeros(1)
    >>> step = FixedPlaces(lambda p, s, batch, *_: ({"w": p["w"] + batch.sum()}, s, p["w"]), {"w": w}, {}, lambda work: work)
    >>> for number, batch in enumerate((torch.ones(2), torch.ones(2), torch.ones(3))):
    ...     _ = step({"w": w}, {}, batch, number, 1.0)
    >>> w.tolist(), len(step.recordings)
    ([7.0], 2)
    """

    def __init__(self, advance: Callable, parameters: Parameters, state: dict, record: Callable[[Callable], Callable]):
        self.advance, self.parameters, self.state, self.record = advance, parameters, state, record
        place = next(iter(parameters.values()))
        self.number = torch.zeros((), dtype=torch.float64, device=place.device)
        self.factor = torch.zeros((), dtype=torch.float32, device=place.device)
        self.recordings: dict[tuple, tuple[list[Tensor], Callable, list[Tensor]]] = {}

    def __call__(self, parameters: Parameters, state: dict, batch: Batch, step: int, factor: float):
        """Return the parameters and the state, both in their places, and a copy of the losses."""
        self.number.fill_(step)
        self.factor.fill_(factor)
        parts = list(tensors(batch))
        key = tuple((part.shape, part.dtype) for part in parts)
        if key not in self.recordings:
            self.recordings[key] = self._recorded(batch, [part.clone() for part in parts])
        places, repeat, value = self.recordings[key]
        for place, part in zip(places, parts, strict=True):
            place.copy_(part)
        repeat()
        return self.parameters, self.state, value[0].clone()

    def _recorded(self, batch: Batch, places: list[Tensor]) -> tuple[list[Tensor], Callable, list[Tensor]]:
        fixed = rebuilt(batch, iter(places))
        value: list[Tensor] = []

        def work() -> None:
            moved, state, losses = self.advance(self.parameters, self.state, fixed, self.number, self.factor)
            _write(self.parameters, moved)
            for name, group in state.items():
                _write(self.state[name], group)
            value[:] = [losses]

        kept = [p.clone() for p in self._held()]
        repeat = self.record(work)
        for place, before in zip(self._held(), kept, strict=True):  # the warm-up has moved them
            place.copy_(before)
        return places, repeat, value

    def _held(self) -> list[Tensor]:
        return [*self.parameters.values(), *(p for group in self.state.values() for p in group.values())]


def capture(work: Callable[[], None]) -> Callable[[], None]:
    """Record a CUDA device's work as a graph after ``WARM_UP`` calls on a stream of their own; return its replay.

    Products of float32 matrices are recorded in TF32: their factors are rounded to 10 bits of mantissa, sums stay in float32.
    """
    aside, graph, before = torch.cuda.Stream(), torch.cuda.CUDAGraph(), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        with torch.cuda.graph(graph):
            work()
    finally:
        torch.set_float32_matmul_precision(before)
    return graph.replay


def tensors(batch: Batch) -> Iterator[Tensor]:
    """Return the tensors of a batch, one after the other."""
    if isinstance(batch, tuple):
        for part in batch:
            yield from tensors(part)
    else:
        yield batch


def rebuilt(batch: Batch, parts: Iterator[Tensor]) -> Batch:
    """Return a batch of the same form made of the next of these tensors."""
    if not isinstance(batch, tuple):
        return next(parts)
    entries = [rebuilt(part, parts) for part in batch]
    return type(batch)(*entries) if hasattr(batch, "_fields") else tuple(entries)


def _write(places: Parameters, values: Parameters) -> None:
    for name, place in places.items():
        if values[name] is not place:
            place.copy_(values[name])
