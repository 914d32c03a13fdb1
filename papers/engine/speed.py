"""Times of calls and of training steps, and what a device can do at most."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch.utils.benchmark import timer

from icl_lib.train.recording import capture

ROUNDS = 50


def alternating(contenders: Mapping[str, Callable[[], Sequence[float]]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each contender, a call that returns times, over ``repeats`` rounds of all of them.

    They take turns, so that a machine with other work slows them alike.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, contender in contenders.items():
            times[name] += contender()
    return {name: statistics.median(values) for name, values in times.items()}


def medians(contenders: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of calls that take turns, after one warm-up each."""
    for call in contenders.values():
        call()
    return alternating({name: partial(seconds, call) for name, call in contenders.items()}, repeats)


def seconds(call: Callable[[], object]) -> list[float]:
    """Return the seconds of one call, as the only entry; ``timer`` waits until the device has done what it was given."""
    began = timer()
    call()
    return [timer() - began]


class Stopwatch:
    """Stands where a training loop expects a checkpoint, and notes the time every ``every`` steps instead of a state.

    The loop up to the first mark is the warm-up: it makes the weights and, on CUDA, records the step.
    """

    def __init__(self, every: int):
        self.every = every
        self.marks: list[float] = []

    def load(self) -> None:
        """Return None: there is no state to go on from."""

    def save(self, state: object) -> None:
        """Note the time."""
        self.marks.append(timer())

    def laps(self) -> list[float]:
        """Return the seconds of a step between one mark and the next; raises ValueError when there are fewer than two."""
        if len(self.marks) < 2:
            raise ValueError(f"{len(self.marks)} marks: run at least {2 * self.every} steps, twice the {self.every} of a lap")
        pairs = zip(self.marks[:-1], self.marks[1:], strict=True)
        return [(later - earlier) / self.every for earlier, later in pairs]


def product_rate(shapes: Sequence[tuple[int, int, int, int]], device: str, repeats: int) -> float:
    """Return operations a second of products (batch, m, k) @ (batch, k, n), all ``shapes`` (batch, m, k, n) in a row.

    In float32; on CUDA recorded, and so in TF32, as in training.
    """
    pairs = [(torch.ones(batch, m, k, device=device), torch.ones(batch, k, n, device=device)) for batch, m, k, n in shapes]

    def products() -> None:
        for left, right in pairs:
            torch.bmm(left, right)

    return sum(2 * batch * m * k * n for batch, m, k, n in shapes) / seconds_of(products, device, repeats)


def copy_rate(size: int, device: str, repeats: int) -> float:
    """Return bytes a second of a copy of ``size`` bytes, each read once and written once."""
    source, target = (torch.ones(size, dtype=torch.uint8, device=device) for _ in range(2))
    return 2 * size / seconds_of(lambda: target.copy_(source), device, repeats)


def seconds_of(work: Callable[[], object], device: str, repeats: int) -> float:
    """Return the median seconds of some work; on CUDA of ``ROUNDS`` recorded rounds of it, so that launching does not count."""
    rounds = ROUNDS if device == "cuda" else 1

    def several() -> None:
        for _ in range(rounds):
            work()

    repeated = capture(several) if device == "cuda" else several
    return medians({"work": repeated}, repeats)["work"] / rounds
