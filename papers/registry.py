"""Every experiment, claim and training by name: what the rooms declare, found by importing them."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import xarray as xr

from icl_lib.companion import identity
from icl_lib.companion.claim import Claim, Judgement
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.paper import Paper
from papers import PAPERS

WINGS: dict[str, Paper] = {key: importlib.import_module(f"papers.{key}").PAPER for key in PAPERS}
"""The papers, by key."""
NO_ROOMS = ("bench", "theory")


def _modules() -> Iterator[ModuleType]:
    """Yield the modules of every wing, its shared ones first, then room by room."""
    for key, paper in WINGS.items():
        wing = importlib.import_module(f"papers.{key}")
        for found in pkgutil.iter_modules(wing.__path__, f"{wing.__name__}."):
            if not found.ispkg:
                yield importlib.import_module(found.name)
        rooms = {name for _, name, is_package in pkgutil.iter_modules(wing.__path__) if is_package} - {*NO_ROOMS}
        if rooms != {*paper.sections}:
            raise ImportError(f"papers/{key} has the rooms {sorted(rooms)}: list them in its sections, in their order")
        for name in paper.sections:
            room = importlib.import_module(f"papers.{key}.{name}")
            for found in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
                yield importlib.import_module(found.name)


_MODULES = tuple(_modules())


def _declared(kind: type) -> list:
    return [value for module in _MODULES for value in vars(module).values() if isinstance(value, kind)]


def _order(claim: Claim) -> tuple[int, int, str]:
    letters, number, part = re.fullmatch(r"(\D+)(\d+)(\D*)", claim.id).groups()
    return [each for paper in WINGS.values() for each in paper.letters].index(letters), int(number), part


CLAIMS: dict[str, Claim] = {claim.id: claim for claim in sorted(_declared(Claim), key=_order)}
"""In the order of the ledger: by paper, then by number."""


def _place(experiment: Experiment) -> tuple[int, int, int]:
    wing = WINGS[experiment.paper]
    section = [*wing.sections, experiment.paper].index(experiment.module.split(".")[-2])
    places = [place for place, claim in enumerate(CLAIMS.values()) if claim.experiment == experiment.slug]
    return list(WINGS).index(experiment.paper), section, min(places, default=len(CLAIMS))


EXPERIMENTS: dict[str, Experiment] = {each.slug: each for each in sorted(_declared(Experiment), key=_place)}
"""In the order of the pages, and on a page in that of their first claims."""

TRAININGS = {each.name: each for module in _MODULES for each in vars(module).get("TRAININGS", ())}
"""Trainings whose weights are shipped; each has ``train(seed, device) -> weights``."""
PUBLISHED_TRAININGS = {each.name: each for module in _MODULES for each in vars(module).get("PUBLISHED_TRAININGS", ())}
"""Trainings at the scale of a paper, for a GPU; their weights are not shipped."""


def training(name: str):
    """Return a training by the name of its weights; raises ValueError that lists the names."""
    every = TRAININGS | PUBLISHED_TRAININGS
    if name not in every:
        raise ValueError(f"unknown training {name!r}: take one of {', '.join(every)}")
    return every[name]


def trainings_of(declaration) -> list[str]:
    """Return the names of the shipped weights that a declaration asks for, in its fields or theirs."""
    asked = [part for part in identity.parts(declaration) if hasattr(part, "train")]
    return [each.name for each in asked if TRAININGS.get(each.name) == each]


def experiment(slug: str) -> Experiment:
    """Return an experiment by slug; raises ValueError that lists the slugs."""
    if slug not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {slug!r}: take one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[slug]


def claims_of(slug: str) -> list[Claim]:
    """Return the claims that an experiment decides."""
    return [claim for claim in CLAIMS.values() if claim.experiment == slug]


def judge(claim_id: str, dataset: xr.Dataset) -> Judgement:
    """Decide one claim on a dataset of its experiment."""
    return CLAIMS[claim_id].judge(dataset)
