"""One call a result: it is run or loaded, drawn and judged."""

import importlib
import pkgutil
from types import ModuleType

import xarray as xr
from IPython.display import display

from icl_lib.companion.cards import Cards
from icl_lib.companion.claim import Claim
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.figure import Drawing
from icl_lib.companion.paper import declared, sees_results
from icl_lib.companion.results import obtain


def show(experiment: Experiment, profile: str, seed: int = 0, claims: str | None = None) -> xr.Dataset:
    """Return a result, and display the figure named after it and a card for each of its claims.

    ``claims`` are the ids of those to show, parted by spaces, on a page that is not the result's own; no figure is drawn
    there. Raises ValueError when the room has no such claim.
    """
    dataset, modules = obtain(experiment, profile, seed), seen_by(experiment)
    if claims is None:
        for drawing in declared(modules, Drawing):
            if drawing.name == experiment.slug:
                display(drawing(dataset))
    found = {claim.id: claim for claim in declared(modules, Claim) if claim.experiment == experiment.slug}
    chosen = list(found) if claims is None else claims.split()
    if unknown := [each for each in chosen if each not in found]:
        raise ValueError(f"{unknown[0]} is no claim about {experiment.slug}: take some of {' '.join(found)}")
    if chosen:
        display(Cards(*(found[each].judge(dataset) for each in chosen)))
    return dataset


def seen_by(experiment: Experiment) -> list[ModuleType]:
    """Return the modules of claims and of figures in an experiment's room."""
    room = importlib.import_module(experiment.module.rpartition(".")[0])
    names = [found.name for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")]
    return [importlib.import_module(name) for name in names if sees_results(name)]
