"""li-iterations: how many steps training takes, over alpha, beta, eta and M1, and how many of them are spent at the start."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from annotated_types import MinLen
from numpy import ndarray

from icl_lib.companion import (
    AtLeastThree,
    Count,
    Declaration,
    Experiment,
    NotNegative,
    Positive,
    Several,
    expectation,
    variable,
)
from icl_lib.measure.slope import log_log_slope
from papers.li.task_sets import task_set
from papers.li.theory.coverage import pair_laplacian
from papers.li.theory.escape_time import escape_time, phase, phase_of_scores, stated_steps
from papers.li.trained import A, Setting, Trained, train_models

LEVELS = (0.9, 0.5, 0.1)
"""Smoothed training hinges whose first passage is timed; a model at its start has hinge 1."""
PHASES = ("to 0.1", "to 0.5", "from 0.9 to 0.1")
START_LETTERS = ("eta", "alpha", "beta", "q", "delta", "M1", "l", "K")


@dataclass(frozen=True)
class Iterations(Declaration):
    """Settings that differ from ``base`` in one letter; ``starts`` are pairs (xi, factor of eta), that of interest first.

    starts   pairs (xi, factor of eta): deviation of the initial W_O, and what multiplies the step size
    sweeps   a letter and the values that it takes; those of eta multiply the step size
    M1       numbers of task-relevant patterns, as one sweep more
    window   steps over which the training loss is averaged; seeds: models of each setting
    """

    base: Setting
    starts: Several[tuple[NotNegative, Positive]]
    sweeps: Several[tuple[Literal["alpha", "beta", "eta", "q", "delta", "K"], Annotated[tuple[Positive, ...], MinLen(2)]]]
    M1: Annotated[tuple[AtLeastThree, ...], MinLen(2)]
    window: Count
    seeds: Count

    def __post_init__(self):
        super().__post_init__()
        if any(len(set(values)) < len(values) for _, values in self._sweeps()):
            raise ValueError("a sweep names a value twice: take different ones, a slope is fitted to them")
        if self.window > self.base.T:
            raise ValueError(f"window = {self.window}: the mean over it needs as many steps, T = {self.base.T}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Time every setting and fit exponents per seed."""
        letters = [letter for letter, values in self._sweeps() for _ in values]
        values = [value for _, values in self._sweeps() for value in values]
        trained = self._train(seed, device)
        times = np.array([[self._times(trained[one]) for one in row] for row in self._cells()])
        phases = np.stack([times[:, :, 2], times[:, :, 1], times[:, :, 2] - times[:, :, 0]])
        dims = "phase start letter"
        return xr.Dataset(
            {
                "time": variable("start cell level seed", times, "steps until the training hinge is below the level"),
                "slope": variable(f"{dims} seed", self._slopes(phases), "fitted exponent"),
            },
            coords={
                "start": [f"ξ = {xi:g}" for xi, _ in self.starts],
                "cell_letter": ("cell", letters),
                "cell_value": ("cell", values),
                "level": list(LEVELS),
                "phase": list(PHASES),
                "letter": [letter for letter, _ in self._sweeps()],
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the escape law and the stated law beside it."""
        cells = self._cells()
        escape = [[escape_time(**{name: getattr(one, name) for name in START_LETTERS}) for one in row] for row in cells]
        pairs = [pair_laplacian(task_set(one.tasks, one.M1).numpy(), one.M1) for one in cells[0]]
        falling = [phase_of_scores(L) / phase(len(L)) for L in pairs]
        stated = [stated_steps(eta=one.eta, alpha=one.alpha, beta=one.beta, M1=one.M1) for one in cells[0]]
        return dataset.assign(
            escape_theory=variable("start cell", escape, "predicted escape time", "steps"),
            escape_falling=variable("start cell", escape * np.array(falling), "the same with falling scores", "steps"),
            stated=variable("cell", stated, "stated number of steps, up to a constant"),
            slope_escape=variable("letter", self._slopes(np.array(escape)[0]), "exponent of the escape law"),
            slope_stated=variable("letter", self._slopes(np.array(stated)), "exponent of the stated law"),
        )

    def _sweeps(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        return (*self.sweeps, ("M1", self.M1))

    def _cells(self) -> list[list[Setting]]:
        """Return by start one setting a cell; a sweep over eta multiplies the rate of the start."""
        starts = [replace(self.base, xi=xi, eta=self.base.eta * factor) for xi, factor in self.starts]
        return [
            [
                replace(start, **{letter: value * (start.eta if letter == "eta" else 1)})
                for letter, values in self._sweeps()
                for value in values
            ]
            for start in starts
        ]

    def _train(self, seed: int, device: str) -> dict[Setting, Trained]:
        """Train all cells of one M1 as one batch; a setting that stands in several sweeps is trained once."""
        cells = dict.fromkeys(one for row in self._cells() for one in row)
        batches = [tuple(one for one in cells if one.M1 == M1) for M1 in dict.fromkeys(one.M1 for one in cells)]
        return {one.setting: one for batch in batches for one in train_models(batch, self.seeds, seed, device)[self.base.T]}

    def _times(self, trained: Trained) -> ndarray:
        return np.array([first_passage(trained.losses.numpy(), level, self.window) for level in LEVELS])

    def _slopes(self, times: ndarray) -> ndarray:
        """Return the log-log slopes over the cells of each letter; ``times`` (..., cell) or (..., cell, seed)."""
        by_cell = np.moveaxis(times, -1, -2) if times.ndim > 2 else times
        ends = np.cumsum([0, *(len(values) for _, values in self._sweeps())])
        slopes = [
            log_log_slope(np.array(values, float), by_cell[..., begin:end])
            for (_, values), begin, end in zip(self._sweeps(), ends[:-1], ends[1:], strict=True)
        ]
        return np.stack(slopes, axis=-2 if times.ndim > 2 else -1)


def first_passage(losses: ndarray, level: float, window: int) -> ndarray:
    """Return the middle of the first ``window`` losses in a row whose mean is below ``level``; NaN if there are none.

    ``losses`` are (steps, seeds), each that after as many updates as its place says; raises ValueError when there are fewer
    steps than ``window``.
    """
    if not 1 <= window <= len(losses):
        raise ValueError(f"window = {window}: the mean over it needs 1 to {len(losses)} steps")
    sums = np.cumsum(np.vstack([np.zeros_like(losses[:1]), losses]), axis=0)
    below = (sums[window:] - sums[:-window]) / window < level
    return np.where(below.any(0), below.argmax(0) + (window - 1) / 2, np.nan)


ITERATIONS = Experiment(
    slug="li-iterations",
    title="Steps until the hinge is small",
    quick=Iterations(
        base=replace(A, tasks="cyclic 1", beta=1.7, B=48, T=140),
        starts=((0.01, 1.0),),
        window=5,
        seeds=4,
        sweeps=(("alpha", (0.5, 1.0)), ("beta", (1.3, 2.2)), ("eta", (0.5, 1.5)), ("delta", (0.15, 0.27)), ("K", (0.2, 0.8))),
        M1=(6, 16),
    ),
    full=Iterations(
        base=replace(A, tasks="cyclic 1", beta=1.0, T=400),
        starts=((0.01, 1.0), (0.1, 0.5)),
        window=5,
        seeds=10,
        sweeps=(
            ("alpha", (0.4, 0.55, 0.75, 1.0)),
            ("beta", (0.9, 1.2, 1.5, 2.0)),
            ("eta", (0.5, 1.0, 2.0)),
            ("delta", (0.15, 0.2, 0.3)),
            ("q", (0.5, 1.0, 2.0)),
            ("K", (0.2, 0.4, 0.8)),
        ),
        M1=(4, 8, 12, 24),
    ),
)
