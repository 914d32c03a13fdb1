"""One call a result: it is run or loaded, drawn and judged; one for the answer of a section."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

import xarray as xr
from IPython.display import display

from icl_lib.companion.cards import Cards, in_full_if_near
from icl_lib.companion.claim import Claim, Judgement
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.html import template
from icl_lib.companion.laid_open import claims_about, drawing_of
from icl_lib.companion.marks import CHANGED
from icl_lib.companion.minute import Minute
from icl_lib.companion.paper import declared, in_order, notebook_of, seen_by, seen_in
from icl_lib.companion.results import obtain
from icl_lib.companion.settings import Refused

T = TypeVar("T")


def in_one_minute(experiment: Experiment, profile: str = "quick", seed: int = 0, of_part: Minute | None = None) -> xr.Dataset:
    """Return the main result of a section, and display its box and its figure: the answer before the derivation.

    The cards of its claims stand further down, where ``show_claims`` displays them. ``of_part`` is the box of a page that
    reviews its whole part, and has no result of its own. The box speaks of the book's settings: with others, ``show`` shows
    figure and cards.
    """
    if experiment.changed_in(profile):
        return show(experiment, profile, seed)
    dataset = obtain(experiment, profile, seed)
    modules = _of_its_part(experiment) if of_part else seen_by(experiment)
    pages = {claim.id: f"{notebook_of(each.__name__)}.html" for each in modules for claim in declared([each], Claim)}
    claims, minutes = declared(modules, Claim), [of_part] if of_part else declared(modules, Minute)
    if not of_part and [each.experiment for each in minutes] != [experiment.slug]:
        there = ", ".join(each.experiment for each in minutes) or "none"
        raise ValueError(f"a room has one answer, of minute_of({experiment.slug!r}); here it has: {there}")
    judged = (claim.judge(dataset) for claim in claims if claim.experiment == experiment.slug)
    found = {each.claim.id: each.verdict for each, _ in in_full_if_near(judged)}
    display(minutes[0].box(dataset, claims, found, pages if of_part else None))
    _show_figure(experiment, dataset)
    return dataset


def show(
    experiment: Experiment, profile: str = "quick", seed: int = 0, claims: str | Iterable[str] | None = None
) -> xr.Dataset:
    """Return a result, and display the figure named after it and a card for each of its claims.

    ``claims`` are the ids of those to show, parted by spaces or in a list, on a page that is not the result's own; no figure
    is drawn there. Raises ValueError when the room has no such claim. With settings of the reader's all that is displayed
    says which, and what cannot be drawn or judged with them says why.

    A full result is never computed here; where none is stored, the command that makes it is named:

    >>> from dataclasses import dataclass
    >>> from icl_lib.companion import Count, Declaration, Experiment, show
    >>> @dataclass(frozen=True)
    ... class Toss(Declaration):
    ...     tosses: Count
    >>> show(Experiment("toy-coin", "A coin", quick=Toss(10), full=Toss(1000)), "full")
    Traceback (most recent call last):
    icl_lib.companion.results.StaleResult: toy-coin.full.nc is missing: computing it and saving it there makes it
    """
    dataset = obtain(experiment, profile, seed)
    if claims is None:
        _show_figure(experiment, dataset)
    show_claims(experiment, dataset, claims)
    return dataset


def show_claims(experiment: Experiment, dataset: xr.Dataset, claims: str | Iterable[str] | None = None) -> None:
    """Display a card for each claim about a result, or for those that are named."""
    found = claims_about(experiment)
    chosen = list(found) if claims is None else claims.split() if isinstance(claims, str) else list(claims)
    if unknown := [each for each in chosen if each not in found]:
        there = f"take some of {' '.join(found)}" if found else f"claims_of({experiment.slug!r}) makes one"
        raise Refused(f"{unknown[0]} is no claim about {experiment.slug}: {there}")
    judged = [_tried(f"{each} cannot be judged", found[each].judge, dataset) for each in chosen]
    if cards := [each for each in judged if isinstance(each, Judgement)]:
        display(Cards(*cards))
    for each in judged:
        if isinstance(each, Note):
            display(each)


def _show_figure(experiment: Experiment, dataset: xr.Dataset) -> None:
    if drawing := drawing_of(experiment):
        display(_tried("The figure cannot be drawn", drawing, dataset))


def _tried(what: str, made: Callable[[xr.Dataset], T], dataset: xr.Dataset) -> "T | Note":
    """Return what is made of a dataset; of settings of a reader's, a sentence where it asks for what these do not give."""
    try:
        return made(dataset)
    except Exception as error:
        if CHANGED not in dataset.attrs:
            raise
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return Note(
            f"{what}, changed from the book: {dataset.attrs[CHANGED]}. It asks for what these settings do not give ({why})."
        )


@dataclass(frozen=True)
class Note:
    """A sentence in the place of what cannot be shown."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return NOTE.render(text=self.text)


NOTE = template("<p><em>{{ text }}</em></p>")


def _of_its_part(experiment: Experiment) -> list[ModuleType]:
    """Return what ``seen_by`` does, of all rooms of the paper."""
    wing = importlib.import_module(experiment.module.rpartition(".")[0].rpartition(".")[0])
    rooms = in_order(found.name for found in pkgutil.iter_modules(wing.__path__) if found.ispkg)
    return [module for room in rooms for module in seen_in(f"{wing.__name__}.{room}")]
