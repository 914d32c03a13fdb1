"""What a claim is and how a dataset decides it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr

from icl_lib.companion.controls import Control, near_miss
from icl_lib.companion.origins import trained
from icl_lib.companion.paper import HERE, paper_of, section_of
from icl_lib.companion.slack import slack
from icl_lib.companion.strip import Strip, placed
from icl_lib.companion.told import OURS, told_by, unfit, unknown_to_us
from icl_lib.companion.verdict import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED, Agreement, Discrepancy, agreement
from icl_lib.typed import Misdeclared, refuse

Check = Callable[[xr.Dataset], Discrepancy | Agreement]

ROUNDING_MARGIN = 1e-4
"""A margin up to here leaves room for rounding, in float32 at most, and for what an integrator leaves."""
ROUNDING_SLACK = "The margin leaves room for rounding and the tolerance of solvers alone, on any machine."


@dataclass(frozen=True)
class Claim:
    """One numbered claim.

    confidence   how we know the paper's wording (V, V2, Q, S, A, P, T, M), or that the finding is ours (D)
    check        turns a dataset into its distance from the claim; ``margin`` bounds it, ``quick_margin`` in that profile
    controls     by sentence: each breaks the dataset (a wrong constant, a violated hypothesis) so that the check must fail
    positive     of a claim that does not hold: an input on which the same check holds
    told         the other parts of the docstring, by their name in PARTS
    recorded     the verdict that stands in the book
    part_of      the claim whose sentence of the paper it shares: the two count once, with the worse verdict
    module       where it is written
    measured     the variables that its slack moves, parted by spaces; all that the check reads where none is named
    rounding     whether its number is made of rounding errors alone: within the margin another machine has any other
    """

    id: str
    paper: str
    section: str
    sentence: str
    confidence: str
    kind: str
    experiment: str
    margin: float
    check: Check
    controls: Mapping[str, Control]
    told: Mapping[str, str]
    quick_margin: float | None = None
    positive: Control | None = None
    recorded: str = HOLDS
    part_of: str = ""
    measured: str = ""
    rounding: bool = False
    module: str = ""

    @property
    def reason(self) -> str:
        """The reason of the margin."""
        return self.told["Margin"]

    @property
    def ours(self) -> bool:
        """Whether this is a finding of ours, and no sentence of a paper."""
        return self.confidence == OURS

    @property
    def slack_reason(self) -> str:
        """Why what is measured may be that much worse; one reason for all that leaves room for rounding alone."""
        return self.told.get("Slack", ROUNDING_SLACK if 0 < self.margin <= ROUNDING_MARGIN else "")

    def margin_in(self, profile: object) -> float:
        """Return the margin of a profile."""
        return self.margin if self.quick_margin is None or profile != "quick" else self.quick_margin

    def judge(self, dataset: xr.Dataset) -> "Judgement":
        """Decide the claim on a dataset of its experiment, and its controls on the broken datasets.

        Raises ValueError for another experiment, and where a check puts entries of unequal labels beside each other.
        """
        if dataset.attrs.get("slug", self.experiment) != self.experiment:
            raise ValueError(f"{self.id} is judged on {self.experiment}, not on {dataset.attrs['slug']}")
        margin, learned = self.margin_in(dataset.attrs.get("profile")), trained(dataset.attrs)
        with xr.set_options(arithmetic_join="exact"):  # what has other labels would be left out in silence
            found = self._checked(dataset)
            broken = [self._checked(control(dataset.copy(deep=True))) for control in self.controls.values()]
            rejected = [UNDECIDED if np.isnan(each.worst()[0]) else each.verdict(margin) for each in broken]  # not by no number
            passing = [verdict for verdict in rejected if verdict != FAILS]
            positive = self._checked(self.positive(dataset.copy(deep=True))) if self.positive else None
            verdict = found.verdict(margin)
            decided = [found, *broken, *([positive] if positive else [])]
            return Judgement(
                self,
                NOT_REPRODUCED if verdict == FAILS and "Missing" in self.told else verdict,
                passing[0] if passing else FAILS,
                *found.worst(),
                margin=margin,
                resolution=found.resolution,
                positive_verdict=positive.verdict(margin) if positive else "",
                near=any(each.near(margin, learned) for each in decided),
                origin=dataset.attrs,
                strip=placed(found, broken, margin),
                dataset=dataset,
            )

    def _checked(self, dataset: xr.Dataset) -> Discrepancy | Agreement:
        found = self.check(dataset)
        if not isinstance(found, Discrepancy | Agreement):
            raise ValueError(f"the check of {self.id} gives a {type(found).__name__}: return Discrepancy(value, two_se)")
        return found


def claims_of(experiment: str, section: str = "") -> Callable[..., Callable[[Check], Claim]]:
    """Return the decorator that makes a claim about an experiment of a function of its dataset.

    The function's name is the claim's id, its code one of ``told.CODES``, its kind one of ``told.KINDS``, and its docstring
    holds all that is said::

        claim = claims_of("zhang-flow")

        @claim("V2", "convergence", margin=1e-6, control=put(distance="distance_naive"))
        def Z8(dataset):
            \"\"\"The sentence.

            Margin: its reason.
            Control: what is broken.
            \"\"\"
            return Discrepancy(dataset.distance)

    A formula names its quantity and the near misses that have to fail, ``of="risk", near=("N + 1 for N",)``: it is judged by
    ``agreement``, and a near miss is the theory at that label of ``risk_near``'s dimension ``mistake``; without standard
    errors its margin is that of rounding, ROUNDING_MARGIN or less. A ``check`` that several claims share is given instead of a
    body. Other parts of the docstring: ``Moved:`` from which margin and why, after
    a look at results; ``Neglects:`` the term that an approximation leaves out; ``Positive:`` the input on which the check of a
    claim that does not hold does, with ``positive``; ``Missing:`` the scale or setting without which an empirical sentence
    is not reproduced; ``Number:`` what the number is, where the margin's reason does not begin with it; ``Fails because:``
    whose the failure is, one of ``WHOSE``, then why; ``Slack:`` why what is measured may be worse by more than a factor of 2
    before the verdict turns, by a factor that moves the variables that ``measured`` names, or all that the check reads.
    ``part_of`` is the id of another claim about the same sentence of the paper. ``rounding`` says that the number is made of
    rounding errors, as it is where the margin is above 0 and at most ROUNDING_MARGIN. ``section`` is told where the room's name
    does not tell it.

    A claim that holds on these data, and fails as it has to where the control puts the sixes of a die:

    >>> import xarray as xr
    >>> from icl_lib.companion import Discrepancy, claims_of, put
    >>> @claims_of("toy-coin")("D", "bound", margin=0.1, control=put(heads="sixes"))
    ... def C1(data):
    ...     '''A coin shows heads half the time.
    ...
    ...     Margin: Two standard errors of a hundred tosses.
    ...     Control: sixes of a die in the place of heads
    ...     '''
    ...     return Discrepancy(abs(data.heads - 0.5))
    >>> judged = C1.judge(xr.Dataset({"heads": 0.45, "sixes": 0.15}))
    >>> judged.verdict, judged.control_verdict, judged.shown_value
    ('holds', 'fails', '0.05')
    """
    wrong = not isinstance(experiment, str)
    refuse(wrong, f"claims_of takes the slug of an experiment, not {type(experiment).__name__}: write claims_of(IT.slug)")

    def claim(
        confidence: str,
        kind: str,
        *,
        margin: float,
        quick_margin: float | None = None,
        control: Control | None = None,
        near: tuple[str, ...] = (),
        positive: Control | None = None,
        check: Check | None = None,
        of: str = "",
        recorded: str = HOLDS,
        part_of: str = "",
        measured: str = "",
        rounding: bool = False,
    ) -> Callable[[Check], Claim]:
        def made(function: Check) -> Claim:
            sentence, told = told_by(function)
            given = {"control": control, "positive": positive}
            margins = [margin] if quick_margin is None else [margin, quick_margin]
            twice = "of= and check= are both given: take one" if of and check else ""
            idle = (of or check) and _computes(function)
            body = "of= or check= judges it, and its body would never be run: leave out one of both" if idle else ""
            if why := twice or unfit(told, given, near, of) or unknown_to_us(confidence, kind, recorded, *margins) or body:
                raise Misdeclared(f"{function.__name__}: {why}")
            other = function.__globals__.get(function.__name__)
            if isinstance(other, Claim) and other.sentence != sentence and other.module != HERE:  # a cell may be run again
                raise Misdeclared(f"{function.__name__} is declared twice in {function.__module__}: rename one")
            controls = {told["Control"]: control} if control else {}
            controls |= {label: near_miss(of, label) for label in near}
            return Claim(
                id=function.__name__,
                paper=paper_of(function.__module__),
                section=section or section_of(function.__module__),
                sentence=sentence,
                confidence=confidence,
                kind=kind,
                experiment=experiment,
                margin=margin,
                quick_margin=quick_margin,
                check=(lambda dataset: _agreement(dataset, of, margin)) if of else check or function,
                controls=controls,
                told=told,
                positive=positive,
                recorded=recorded,
                part_of=part_of,
                measured=measured,
                rounding=rounding or 0 < margin <= ROUNDING_MARGIN,
                module=function.__module__,
            )

        return made

    return claim


def _agreement(dataset: xr.Dataset, name: str, margin: float) -> Agreement:
    told = f"{name} has no {name}_se and no dimension seed, so that nothing tells how far chance may take it"
    sampled = f"{name}_se" in dataset or "seed" in dataset[name].dims
    refuse(not sampled and margin > ROUNDING_MARGIN, f"{told}: give one of both, or a margin of at most {ROUNDING_MARGIN:g}")
    return agreement(dataset, name)


def _computes(function: Callable) -> bool:
    """Say whether a function has more than a docstring."""

    def nothing(d):
        """Have a docstring."""

    given, empty = (inspect.unwrap(each).__code__.co_code for each in (function, nothing))
    return given != empty


@dataclass(frozen=True)
class Judgement:
    """A claim decided: the verdict, the number behind it (the worst case) and the verdict on the controls.

    control_verdict   *fails* if the check fails on every control; one that gives no number leaves it *undecided*
    resolution        the least x for which the data would show the theory times 1 + x or 1 - x, for a formula; else NaN
    near              whether a verdict might be another on another machine; origin: the attributes of the dataset
    strip             where the number and those of the controls lie, beside what is allowed
    dataset           what was judged
    """

    claim: Claim
    verdict: str
    control_verdict: str
    value: float
    two_se: float
    margin: float
    resolution: float = np.nan
    positive_verdict: str = ""
    near: bool = False
    strip: Strip | None = field(default=None, repr=False, compare=False)
    origin: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    dataset: xr.Dataset | None = field(default=None, repr=False, compare=False)

    @cached_property
    def slack(self) -> float:
        """The factor by which what is measured could be worse before the verdict turns; NaN of what has a resolution."""
        if self.dataset is None or np.isfinite(self.resolution):
            return np.nan
        return slack(self.claim.check, self.dataset, self.margin, self.claim.kind, self.claim.measured)

    @property
    def shown_value(self) -> str:
        """The number behind the verdict as text."""
        return shown(self.value, self.two_se, self.margin)

    @property
    def shown_allowed(self) -> str:
        """The largest number that is allowed, as text."""
        return f"{self.strip.allowed if self.strip else self.margin:.2g}"


def shown(value: float, two_se: float, margin: float) -> str:
    """Return a number to two digits; what is rounding, which machines do differently, as its bound."""
    if abs(value) < 1e-7 and two_se == 0 and value <= margin:
        return f"≤ {margin:g}"
    return f"{value:.2g}" + (f" ± {two_se:.1g}" if two_se else "")
