"""How far data are from what a claim says of them, and the verdict that follows."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.special import ndtr, stdtrit

from icl_lib.typed import refuse

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
NOT_REPRODUCED = "not reproduced here"
"""In the place of *fails* for an empirical sentence: our scale or setting is not the paper's, and what is missing is named."""
WORST_FIRST = (FAILS, NOT_REPRODUCED, UNDECIDED)
"""A sentence that several claims judge has the first of these that one of them has."""
STANDARD_ERRORS, TOLERANCE = 5, 0.01
"""So far a number may move on another machine: in standard errors of the difference, or as a share where there is none."""
WIDER = 2
"""A standard error of a few networks may be so many times wider on another machine, where training ends in others."""
FALSE_ALARM = 1e-4
"""The chance that a true formula fails, over all its cells together, where the entries of a mean are nearly normal."""
BLOCKS = 30
"""Independent blocks behind a standard error that does not say how many it has."""
ROUNDING = 1e-9
"""A deviation, as a share of the scale, that counts as none where a formula has standard errors."""


@dataclass(frozen=True)
class Discrepancy:
    """How far the data are from what a claim says, with twice the standard error; numbers or arrays of one shape.

    Zero or less is perfect agreement. Exact computations have ``two_se`` = 0.

    >>> from icl_lib.companion import Discrepancy
    >>> [Discrepancy(value, two_se=0.25).verdict(margin=1.0) for value in (0.5, 0.75, 1.0, 1.25, 1.5)]
    ['holds', 'holds', 'undecided', 'undecided', 'fails']
    """

    value: float | np.ndarray | xr.DataArray
    two_se: float | np.ndarray | xr.DataArray = 0.0

    def __post_init__(self):
        if np.asarray(self.value).dtype == bool:
            raise ValueError("a discrepancy is a number, not whether something is so: take how far it is from being so")
        kinds = [str(np.asarray(each).dtype) for each in (self.value, self.two_se)]
        refuse(
            not all(each.startswith(("float", "int", "uint")) for each in kinds), f"value and two_se are {kinds}: give numbers"
        )
        if (np.asarray(self.two_se, float) < 0).any():
            raise ValueError("two standard errors are below 0: give their size")
        dims = [getattr(each, "dims", ()) for each in (self.value, self.two_se)]
        if all(dims) and dims[0] != dims[1]:
            raise ValueError(f"numbers by {dims[0]} and their errors by {dims[1]} would be paired by place: give both the same")
        one, other = (each.indexes if all(dims) else {} for each in (self.value, self.two_se))
        if any(not one[dim].equals(other[dim]) for dim in one if dim in other):
            raise ValueError("numbers and their errors have different labels, or the same in another order: give both alike")

    def worst(self) -> tuple[float, float]:
        """Return the entry with the largest ``value + two_se``; NaN where there is none."""
        value, two_se = np.broadcast_arrays(np.asarray(self.value, float), np.asarray(self.two_se, float))
        if not value.size:
            return np.nan, np.nan
        index = np.argmax(np.nan_to_num(value + two_se, nan=np.inf))
        return float(value.flat[index]), float(two_se.flat[index])

    def verdict(self, margin: float) -> str:
        """holds: value + 2 se <= margin everywhere; fails: value - 2 se > margin or no number somewhere; or no entry.

        An infinite error, that of a single network, leaves it undecided.
        """
        value, two_se = np.asarray(self.value, float), np.asarray(self.two_se, float)
        if value.size == 0 or not np.isfinite(value).all() or np.isnan(two_se).any():
            return FAILS
        if (value + two_se <= margin).all():
            return HOLDS
        return FAILS if (value - two_se > margin).any() else UNDECIDED

    def near(self, margin: float, trained: bool) -> bool:
        """Say whether the verdict would change if all values moved up or down as far as another machine may move them.

        What is ``trained`` may come out as another sample; other numbers differ by rounding.
        """
        value, two_se = np.asarray(self.value, float), np.asarray(self.two_se, float)
        rounding = TOLERANCE * np.maximum(abs(value), abs(margin))
        step = np.where(trained & (two_se > 0) & np.isfinite(two_se), STANDARD_ERRORS * 2**0.5 * two_se / 2, rounding)
        with np.errstate(invalid="ignore"):  # infinite values stay where they are, or are no numbers
            moved = [Discrepancy(value + sign * step, two_se * (WIDER if trained else 1)) for sign in (-1, 1)]
        return any(each.verdict(margin) != self.verdict(margin) for each in moved)

    @property
    def resolution(self) -> float:
        """NaN: there is no theory here whose constant could be wrong."""
        return np.nan

    def allowed(self, margin: float) -> float:
        """Return the largest number that is allowed, the margin; two standard errors around it a claim is undecided."""
        return margin


@dataclass(frozen=True)
class Agreement:
    """Measured numbers beside their exact expectation, judged at the resolution of the data.

    measured, expected   of the same cells; scale: what deviations are shares of, usually the expectation
    error                standard errors from ``blocks`` independent blocks, two or more; 0 where nothing was sampled. Where
                         all are 0 the margin is the stated numerical error
    """

    measured: xr.DataArray
    expected: xr.DataArray
    scale: float | xr.DataArray
    error: float | xr.DataArray = 0.0
    blocks: int = BLOCKS

    def __post_init__(self):
        if not all(isinstance(each, xr.DataArray) for each in (self.measured, self.expected)):
            raise ValueError("measured and expected are numbers of the same cells: give both as xarray.DataArray")
        shared = [each for each in (self.scale, self.error) if isinstance(each, xr.DataArray)]
        xr.align(self.measured, self.expected, *shared, join="exact")  # cells that one of them lacks would be left out
        if (np.asarray(self.error, float) < 0).any():
            raise ValueError("a standard error is below 0: give its size")
        if self.blocks < 2 and (np.isfinite(self.error) & (np.asarray(self.error) > 0)).any():
            raise ValueError(f"standard errors of {self.blocks} block: it takes two or more")

    @cached_property
    def quantile(self) -> float:
        """q: Student's t for ``blocks`` - 1 degrees of freedom, two-sided, at FALSE_ALARM over all cells together."""
        if self.blocks < 2:
            return np.inf
        cells = math.prod({**self.measured.sizes, **self.expected.sizes}.values())
        return float(stdtrit(self.blocks - 1, 1 - FALSE_ALARM / (2 * max(cells, 1))))

    @cached_property
    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """|measured - expected| and the standard error in each cell, both as shares of the scale."""
        share = abs(self._difference) / abs(self.scale)
        share, error = xr.broadcast(share, self.error / abs(self.scale) + xr.zeros_like(share))
        return share.values, error.values

    @property
    def _difference(self) -> xr.DataArray:
        return 1.0 * self.measured - self.expected  # counts without a sign would wrap round

    @property
    def deviations(self) -> np.ndarray:
        """(measured - expected) / error in the cells that have one."""
        difference, error = xr.broadcast(self._difference, self.error + xr.zeros_like(self.measured))
        return (difference.values / np.where(error.values > 0, error.values, np.nan))[error.values > 0]

    def worst(self) -> tuple[float, float]:
        """Return the deviation that is largest in standard errors, or in size without them, and two standard errors."""
        share, error = self.cells
        if not share.size:
            return np.nan, np.nan
        weight = np.maximum(error, ROUNDING) if (error > 0).any() else 1.0
        place = np.argmax(np.nan_to_num(share / weight, nan=np.inf))
        return float(share.flat[place]), 2 * float(error.flat[place])

    def verdict(self, margin: float) -> str:
        """fails: a deviation beyond q standard errors, or no number somewhere, or no entry.

        undecided: q standard errors exceed the margin. Else holds.
        """
        share, error = self.cells
        if share.size == 0 or not np.isfinite(share).all() or np.isnan(error).any():
            return FAILS
        room = self.quantile * error + ROUNDING if (error > 0).any() else np.full(share.shape, margin)
        if not (share <= room).all():
            return FAILS
        return HOLDS if (room <= margin + ROUNDING).all() else UNDECIDED

    def allowed(self, margin: float) -> float:
        """Return the number from which on the worst cell is too far: q of its standard errors, or the margin without them."""
        _, two_se = self.worst()
        return self.quantile * two_se / 2 + ROUNDING if (self.cells[1] > 0).any() else margin

    def near(self, margin: float, trained: bool) -> bool:
        """Say whether another machine may come to another verdict.

        There what is ``trained`` is drawn again from one distribution: a true formula holds again, a false one may be closer
        by some standard errors of the difference. Other numbers differ by rounding.
        """
        share, error = self.cells
        if not (error > 0).any() or not (np.isfinite(share).all() and np.isfinite(error).all()):
            return Discrepancy(share).near(margin, trained)
        room, largest = self.quantile * error, (share / np.maximum(error, ROUNDING)).max()
        moves = STANDARD_ERRORS * 2**0.5 if trained else TOLERANCE * largest
        loose = 0.3 if trained else TOLERANCE  # so far a standard error itself may move
        edge = margin / (1 + loose) < room.max() < margin * (1 + loose)
        failing = largest > self.quantile
        return bool(edge and not failing) or bool(largest - moves < self.quantile < largest + (0 if trained else moves))

    @property
    def resolution(self) -> float:
        """The least x such that the expectation times 1 + x or 1 - x moves some cell by q standard errors; NaN without them.

        A cell that has none moves by more than rounding.
        """
        _, error = self.cells
        weight = xr.broadcast(self.measured, abs(self.expected) / abs(self.scale))[1].values
        if not (error > 0).any():
            return np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nanmin(np.where(weight > 0, np.maximum(self.quantile * error, ROUNDING) / weight, np.inf)))


def agreement(dataset: xr.Dataset, name: str) -> Agreement:
    """Return how a measured variable agrees with ``<name>_theory``.

    Standard errors are ``<name>_se``, of as many blocks as its attribute ``blocks`` says; or those of the mean over a
    dimension ``seed``, of independent models; or none. Deviations are shares of ``<name>_scale``, or of the theory.

    A block of draws is independent of the others. Over one cell q is 100 for 3 blocks, 15.5 for 5, 6.6 for 10 and 4.5 for the
    30 that are assumed where ``blocks`` is not told.

    Where no model met an event, the error by seeds is 0: give counts of rare events a ``<name>_se`` by their distribution.
    """
    if f"{name}_theory" not in dataset:
        raise ValueError(f"there is no {name}_theory: `expect` puts it there, and `run`, `obtain` and `show` call that")
    measured, theory, error, blocks = 1.0 * dataset[name], dataset[f"{name}_theory"], 0.0, BLOCKS
    if f"{name}_se" in dataset:
        error = dataset[f"{name}_se"]
        blocks = int(error.attrs.get("blocks", BLOCKS))
    elif "seed" in measured.dims:
        blocks = measured.sizes["seed"]
        error = _standard_error(measured - theory, "seed")  # paired where the expectation depends on the seed as well
        measured = measured.mean("seed", skipna=False)
        theory = theory.mean("seed", skipna=False) if "seed" in theory.dims else theory
    if {*measured.dims} - {*theory.dims} and (apart := {*theory.dims} - {*measured.dims}):
        raise ValueError(f"{name}_theory has {' and '.join(sorted(map(str, apart)))}, which {name} has not: give both the same")
    of, scale = (f"{name}_scale", dataset[f"{name}_scale"]) if f"{name}_scale" in dataset else (f"{name}_theory", theory)
    wrong = f"deviations are shares of {of}, which is 0 somewhere, or without end: give {name}_scale above 0"
    refuse(bool(((scale == 0) | np.isinf(scale)).any()), wrong)
    return Agreement(measured, theory, scale, error, blocks)


def over_seeds(values: xr.DataArray) -> Discrepancy:
    """Return what ``over`` does of the dimension ``seed``: each seed is one independent model."""
    return over(values, "seed")


def over(values: xr.DataArray, dim: str) -> Discrepancy:
    """Return the mean over a dimension of independent entries with twice its standard error, wider by ``widened``.

    NaN where an entry is NaN: a run that ended in no number is not left out.

    >>> import numpy as np, xarray as xr
    >>> from icl_lib.companion import over
    >>> over(xr.DataArray([1.0, np.nan], dims="network"), "network").verdict(margin=5.0)
    'fails'
    """
    if not isinstance(values, xr.DataArray) or not values.sizes.get(dim):
        raise ValueError(f"there is nothing to average over {dim}: give an xarray.DataArray with entries along it")
    return Discrepancy(values.mean(dim, skipna=False), 2 * widened(values.sizes[dim]) * _standard_error(values, dim))


def _standard_error(values: xr.DataArray, dim: str) -> xr.DataArray:
    """Return that of the mean over a dimension; NaN where an entry is NaN, infinite where there is a single one."""
    count = values.sizes[dim]
    if count > 1:
        return values.std(dim, ddof=1, skipna=False) / count**0.5
    single = values.isel({dim: 0}, drop=True)
    return xr.full_like(single, np.inf, float).where(single.notnull())


def all_known(*values: xr.DataArray) -> float:
    """Return 0, or NaN where an entry is NaN: what a choice rests on, added to what it chose, so that none is left out."""
    return np.nan if any(bool(each.isnull().any()) for each in values) else 0.0


def widened(count: float) -> float:
    """Return Student's t over the normal quantile, with which 2 standard errors of ``count`` entries cover as much as of many.

    2.26 for three entries, 1.43 for five, 1.16 for ten; of one entry nothing is known.
    """
    return float(stdtrit(count - 1, ndtr(2)) / 2) if count > 1 else np.inf


def distance_over_seeds(values: xr.DataArray, target: float | xr.DataArray = 0.0) -> Discrepancy:
    """Return how far the mean over seeds is from ``target``, with what ``over_seeds`` gives of its error."""
    mean = over_seeds(values)
    return Discrepancy(abs(mean.value - target), mean.two_se)
