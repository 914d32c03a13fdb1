"""What a claim is and how a dataset decides it."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from icl_lib.companion.controls import Control
from icl_lib.companion.paper import section_of

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
STANDARD_ERRORS, TOLERANCE = 5, 0.01
"""So far a number may move on another machine: in standard errors of the difference, or as a share where there is none."""


@dataclass(frozen=True)
class Discrepancy:
    """How far the data are from what a claim says, with twice the standard error; numbers or arrays of one shape.

    Zero or less is perfect agreement. Exact computations have ``two_se`` = 0.
    """

    value: float | np.ndarray | xr.DataArray
    two_se: float | np.ndarray | xr.DataArray = 0.0

    def worst(self) -> tuple[float, float]:
        """Return the entry with the largest ``value + two_se``."""
        value, two_se = np.broadcast_arrays(np.asarray(self.value, float), np.asarray(self.two_se, float))
        index = np.argmax(np.nan_to_num(value + two_se, nan=np.inf))
        return float(value.flat[index]), float(two_se.flat[index])

    def verdict(self, margin: float) -> str:
        """holds: value + 2 se <= margin everywhere; fails: value - 2 se > margin somewhere, or no number at all."""
        value, two_se = np.asarray(self.value, float), np.asarray(self.two_se, float)
        if value.size == 0 or not (np.isfinite(value).all() and np.isfinite(two_se).all()):
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
        step = np.where(trained & (two_se > 0), STANDARD_ERRORS * 2**0.5 * two_se / 2, rounding)
        with np.errstate(invalid="ignore"):  # infinite values stay where they are, or are no numbers
            moved = [Discrepancy(value + sign * step, two_se) for sign in (-1, 1)]
        return any(each.verdict(margin) != self.verdict(margin) for each in moved)


Check = Callable[[xr.Dataset], Discrepancy]


def relative_error(name: str) -> Callable[[xr.Dataset], Discrepancy]:
    """Return the check of a formula: |name - name_theory| / |name_theory|, with the standard error name_se."""

    def check(dataset: xr.Dataset) -> Discrepancy:
        theory = dataset[f"{name}_theory"]
        return Discrepancy(abs(dataset[name] / theory - 1), 2 * dataset[f"{name}_se"] / abs(theory))

    return check


def over_seeds(values: xr.DataArray) -> Discrepancy:
    """Return the mean over the dimension ``seed`` with twice its standard error: each seed is one independent model."""
    return over(values, "seed")


def over(values: xr.DataArray, dim: str) -> Discrepancy:
    """Return the mean over a dimension of independent entries with twice its standard error."""
    return Discrepancy(values.mean(dim), 2 * values.std(dim, ddof=1) / values.sizes[dim] ** 0.5)


def distance_over_seeds(values: xr.DataArray, target: float | xr.DataArray = 0.0) -> Discrepancy:
    """Return how far the mean over seeds is from ``target``, with twice its standard error."""
    mean = over_seeds(values)
    return Discrepancy(abs(mean.value - target), mean.two_se)


@dataclass(frozen=True)
class Claim:
    """One numbered claim.

    ``confidence`` says how sure we are of the paper's wording (V, V2, S, A, T, M) or who derived it (D, N). ``check`` turns a
    dataset into a Discrepancy; ``control`` breaks the dataset (a wrong constant, a violated hypothesis) so that the
    same check must fail. ``recorded`` is the verdict that stands in the book.
    """

    id: str
    paper: str
    section: str
    sentence: str
    confidence: str
    kind: str
    experiment: str
    margin: float
    reason: str
    check: Check
    control: Control
    control_sentence: str
    recorded: str = HOLDS

    def judge(self, dataset: xr.Dataset) -> "Judgement":
        """Decide the claim on a dataset of its experiment, and its control on the broken dataset."""
        if dataset.attrs.get("slug", self.experiment) != self.experiment:
            raise ValueError(f"{self.id} is judged on {self.experiment}, not on {dataset.attrs['slug']}")
        found = self.check(dataset)
        broken = self.check(self.control(dataset.copy(deep=True)))
        return Judgement(
            self, found.verdict(self.margin), broken.verdict(self.margin), *found.worst(),
            near=any(each.near(self.margin, dataset.attrs.get("trains") == "True") for each in (found, broken)),
            origin=dataset.attrs,
        )  # fmt: skip


def claims_of(experiment: str, section: str = "") -> Callable[..., Callable[[Check], Claim]]:
    """Return the decorator that makes a claim about an experiment of a function of its dataset.

    The function's name is the claim's id, and its docstring holds all that is said::

        claim = claims_of("zhang-flow")

        @claim("V2", "convergence", margin=1e-6, control=put(distance="distance_naive"))
        def Z8(dataset):
            \"\"\"The sentence.

            Margin: its reason.
            Control: what is broken.
            \"\"\"
            return Discrepancy(dataset.distance)

    A ``check`` that several claims share is given instead of a body; a formula names its quantity, ``of="risk"``, and is
    judged by ``relative_error``. ``section`` is told where the room's name does not tell it.
    """

    def claim(
        confidence: str,
        kind: str,
        *,
        margin: float,
        control: Control,
        check: Check | None = None,
        of: str = "",
        recorded: str = HOLDS,
    ) -> Callable[[Check], Claim]:
        def made(function: Check) -> Claim:
            sentence, reason, broken = _told(function)
            return Claim(
                id=function.__name__, paper=function.__module__.split(".")[1],
                section=section or section_of(function.__module__), sentence=sentence, confidence=confidence, kind=kind,
                experiment=experiment, margin=margin, reason=reason, check=relative_error(of) if of else check or function,
                control=control, control_sentence=broken, recorded=recorded,
            )  # fmt: skip

        return made

    return claim


def _told(function: Check) -> tuple[str, str, str]:
    """Return sentence, reason of the margin and the control's sentence from a docstring."""
    parts = re.fullmatch(r"(.+?)\n\s*Margin: (.+?)\n\s*Control: (.+)", inspect.getdoc(function) or "", re.DOTALL)
    if parts is None:
        raise ValueError(f"{function.__name__} does not say its sentence, then Margin: and Control: in its docstring")
    return tuple(" ".join(part.split()) for part in parts.groups())


@dataclass(frozen=True)
class Judgement:
    """A claim decided: the verdict, the number behind it (the worst case) and the control's verdict.

    ``near`` says that one of the two might be another on another machine; ``origin`` are the attributes of the dataset.
    """

    claim: Claim
    verdict: str
    control_verdict: str
    value: float
    two_se: float
    near: bool = False
    origin: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def margin(self) -> float:
        """The margin that was fixed before the run."""
        return self.claim.margin

    @property
    def shown_value(self) -> str:
        """The number behind the verdict as text."""
        return shown(self.value, self.two_se, self.margin)


def shown(value: float, two_se: float, margin: float) -> str:
    """Return a number to two digits; what is rounding, which machines do differently, as its bound."""
    if abs(value) < 1e-7 and two_se == 0 and value <= margin:
        return f"≤ {margin:g}"
    return f"{value:.2g}" + (f" ± {two_se:.1g}" if two_se else "")
