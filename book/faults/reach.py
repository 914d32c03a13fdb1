"""What a fault can be seen by: tests that import its module, and results that its definition is part of."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from book.build import closure
from book.faults.plant import Fault
from icl_lib.companion import identity, results
from icl_lib.companion.experiment import Experiment
from papers import registry

OF_STORING = {
    *("command_line", "declarations", "identity", "imports", "paper", "renewal", "results", "rooms", "show", "sweep"),
    *("sweep_commands", "sweep_dask"),
}
"""Tests of how results are kept and shown, by the word after `test_`: they would see another digest, and that is no catch."""


@dataclass(frozen=True)
class Plan:
    """What is to be tried, each in this order: stored results, files of tests, quick results."""

    stored: tuple[str, ...]
    tests: tuple[str, ...]
    quick: tuple[str, ...]


def plan(fault: Fault, root: Path) -> Plan:
    """Return what reaches a fault, the nearest and the cheapest first."""
    measured, expected = [], []
    definition = identity.Definition(fault.module, fault.definition(root))
    for experiment in _cheapest_first():
        if definition in identity.definitions(experiment.quick):
            measured.append(experiment.slug)
        if fault.module in _modules_of(experiment.module):
            expected.append(experiment.slug)
    stored = [slug for slug in expected if fault.file.startswith("papers/")]
    return Plan(tuple(stored), tuple(_tests(fault.module, root)), tuple(dict.fromkeys(measured + expected)))


@cache
def _cheapest_first() -> list[Experiment]:
    def seconds(experiment: Experiment) -> float:
        return float(results.attributes(results.STORE / f"{experiment.slug}.full.nc")["seconds"])

    return sorted(registry.EXPERIMENTS.values(), key=seconds)


@cache
def _modules_of(module: str) -> set[str]:
    return {module, *closure.graph().find_upstream_modules(module)}


@cache
def _tests(module: str, root: Path) -> list[str]:
    """Return the files of tests that import a module, directly before indirectly."""
    distances = {}
    for file in sorted((root / "tests").rglob("test_*.py")):
        name = str(file.relative_to(root))
        if name.startswith("tests/book/") or file.stem.removeprefix("test_") in OF_STORING:
            continue
        imported = closure.imported_modules(file.read_text(encoding="utf-8"))
        chains = [closure.graph().find_shortest_chain(each, module) for each in imported if each != module]
        lengths = [len(chain) for chain in chains if chain] + [1] * (module in imported)
        if lengths:
            distances[name] = min(lengths), file.stat().st_size
    return sorted(distances, key=distances.get)
