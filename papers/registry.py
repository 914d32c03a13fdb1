"""Every experiment, claim and training by name: what the rooms declare, found by importing them."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

from icl_lib.companion import Claim, Experiment, Minute, weights
from icl_lib.companion.paper import Paper, by_name, declared, in_order, require_about
from icl_lib.typed import Misdeclared, unknown
from papers import BOOK, FLOORS, PAPERS

WINGS: dict[str, Paper] = {key: importlib.import_module(f"papers.{key}").PAPER for key in PAPERS}
"""The papers, by key."""
ID = rf"(?:{'|'.join(sorted((each for paper in WINGS.values() for each in paper.letters), key=len, reverse=True))})\d+[a-z]?"
"""What a claim's number looks like, as a regular expression."""
NO_ROOMS = ("bench", "theory")


def _parts(package: str) -> tuple[list[str], list[str]]:
    """Return the names of a package's own modules, and those of the packages in it."""
    found = list(pkgutil.iter_modules(importlib.import_module(package).__path__))
    return [each.name for each in found if not each.ispkg], [each.name for each in found if each.ispkg]


ROOMS: dict[str, list[str]] = {key: in_order({*_parts(f"papers.{key}")[1]} - {*NO_ROOMS}) for key in PAPERS}
"""The rooms of every wing, in the order of the paper."""


def _modules() -> Iterator[ModuleType]:
    """Yield the modules of the floors, then of every wing its shared ones first, then room by room."""
    for key, rooms in {**dict.fromkeys(FLOORS, ()), **ROOMS}.items():
        for package in (f"papers.{key}", *(f"papers.{key}.{room}" for room in rooms)):
            yield from (importlib.import_module(f"{package}.{name}") for name in _parts(package)[0])


_MODULES = tuple(_modules())


def _order(claim: Claim) -> tuple[int, int, str]:
    if not re.fullmatch(ID, claim.id):
        raise Misdeclared(f"{claim.id} in {claim.module} is no claim's number: write letters of a wing's PAPER, and a number")
    letters, number, part = re.fullmatch(r"(\D+)(\d+)(\D*)", claim.id).groups()
    if letters not in (own := WINGS[claim.paper].letters):
        raise Misdeclared(f"{claim.id} stands in {claim.module}, whose claims are numbered by {' or '.join(own)}: rename it")
    return [each for paper in WINGS.values() for each in paper.letters].index(letters), int(number), part


CLAIMS: dict[str, Claim] = by_name(sorted(declared(_MODULES, Claim), key=_order), lambda claim: claim.id)
"""In the order of the ledger: by paper, then by number."""


def _place(experiment: Experiment) -> tuple[int, int, int]:
    section = [*ROOMS[experiment.paper], experiment.paper].index(experiment.module.split(".")[-2])
    places = [place for place, claim in enumerate(CLAIMS.values()) if claim.experiment == experiment.slug]
    return list(WINGS).index(experiment.paper), section, min(places, default=len(CLAIMS))


EXPERIMENTS: dict[str, Experiment] = by_name(sorted(declared(_MODULES, Experiment), key=_place), lambda each: each.slug)
"""In the order of the pages, and on a page in that of their first claims."""
MINUTES: dict[str, Minute] = {each.experiment: each for each in declared(_MODULES, Minute)}
"""The answers of the pages, by the slug of their main results."""
require_about(((claim.id, claim.experiment) for claim in CLAIMS.values()), EXPERIMENTS)
require_about(((f"the minute of {each.numbers.__module__}", slug) for slug, each in MINUTES.items()), EXPERIMENTS)

TRAININGS = {each.name: each for module in _MODULES for each in vars(module).get("TRAININGS", ())}
"""Trainings whose weights are shipped; each has ``train(seed, device) -> weights``."""
PUBLISHED_TRAININGS = {each.name: each for module in _MODULES for each in vars(module).get("PUBLISHED_TRAININGS", ())}
"""Trainings at the scale of a paper, for a GPU; their weights are not shipped."""


def training(name: str):
    """Return a training by the name of its weights; raises ValueError that names those like it."""
    every = TRAININGS | PUBLISHED_TRAININGS
    if name not in every:
        raise ValueError(unknown("training", name, every))
    return every[name]


def trainings_of(declaration) -> list[str]:
    """Return the names of the files of shipped weights that a declaration asks for, in its fields or theirs."""
    asked = weights.trainings(declaration)
    return [BOOK.weights(each.name, run).stem for each, run in asked if TRAININGS.get(each.name) == each]


def runs(name: str) -> int:
    """Return how many trainings of a name are shipped, of seeds 0, 1, ...: as many as an experiment reads."""
    read = [pair for each in EXPERIMENTS.values() for pair in weights.trainings(each.full)]
    return max((run + 1 for training, run in read if training == TRAININGS[name]), default=1)


def experiment(slug: str) -> Experiment:
    """Return an experiment by slug; raises ValueError that names those like it, or those of a claim or a notebook."""
    if slug in EXPERIMENTS:
        return EXPERIMENTS[slug]
    if slug in CLAIMS:
        raise ValueError(f"{slug} is a claim: take its experiment, {CLAIMS[slug].experiment}")
    if room := [each.slug for each in EXPERIMENTS.values() if each.notebook == slug]:
        raise ValueError(f"{slug} is a notebook: take one of its experiments, {', '.join(room)}")
    raise ValueError(f"{unknown('experiment', slug, EXPERIMENTS)}; {BOOK.command} list has them all")


def asked(slug: str, profile: str, settings: list[str]) -> Experiment:
    """Return an experiment as a command asks for it; raises ValueError for what it does not have."""
    found = experiment(slug).with_settings(profile, settings)
    if weights.TRAINING_SEED.get() and not weights.trainings(found.declaration(profile)):
        raise ValueError(f"{slug} reads no trained networks in this profile: leave out --train-seed")
    return found


def claims_of(slug: str) -> list[Claim]:
    """Return the claims that an experiment decides."""
    return [claim for claim in CLAIMS.values() if claim.experiment == slug]
