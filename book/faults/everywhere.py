"""`./run faults --everywhere`: change every function by rule, and say what notices.

A mutant lives in a process of its own: the code of one function is exchanged in the modules that are loaded there, so that the
claims and tests that call it can be tried within a second.
"""

import gc
import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

from book.build import closure, workers
from book.build.layout import Layout
from book.build.problem import Problem
from book.faults import catch, mutants, plant, traced
from book.faults.mutants import Mutant
from icl_lib.companion import results
from papers import registry

FILE = "equivalent.txt"
STORED = "mutants.json"
"""What became of the mutants, in ``book/data``."""
NUMBER = 1000
"""So many are tried, unless another number is asked for."""
BUDGET = 60.0
"""Seconds that the checks tried on one mutant may take together, the cheapest first."""
BATCH = 3.0
"""Seconds of tests that are started together."""


def run(layout: Layout, number: int) -> int:
    """Try the first ``number`` mutants, but for those whose end is known; 1 when one survives that is not equivalent."""
    equivalent = read(layout.root)
    every = mutants.every(layout.root)
    chosen = {str(mutant): mutant for mutant in every[:number]}
    note = layout.build / "faults" / "mutants.json"
    tried = {
        name: end
        for name, (end, digest) in _noted(note).items()
        if name in chosen and digest == _rests_on(chosen[name], end, layout.root)
    }
    if waiting := {name: mutant for name, mutant in chosen.items() if name not in tried and name not in equivalent}:
        _try(waiting, layout, tried, note)
    survivors = [mutant for name, mutant in chosen.items() if name not in equivalent and not tried[name]]
    _keep(layout, len(every), chosen, equivalent, tried, survivors)
    print(*(f"survived: {mutant}" for mutant in survivors), sep="\n", end="\n" if survivors else "")
    told = sum(name in equivalent for name in chosen)
    print(f"{len(chosen)} of {len(every)} mutants, {told} of them equivalent, {len(survivors)} survived.")
    return 1 if survivors else 0


def read(root: Path) -> dict[str, str]:
    """Return the reasons of the mutants that change nothing that can be seen, ``MUTANT | REASON`` a line."""
    lines = (root / "book" / "faults" / FILE).read_text(encoding="utf-8").splitlines()
    rows = [line.rpartition(" | ") for line in lines if line.strip() and not line.startswith("#")]
    if bad := [reason for mutant, _, reason in rows if not mutant]:
        raise Problem(f"{FILE}: write MUTANT | REASON, with blanks around the bar, not {bad[0]!r}.")
    return {mutant: reason for mutant, _, reason in rows}


def _rests_on(mutant: Mutant, end: str, root: Path) -> str:
    """Return a digest of what decided the end of a mutant: its file and the code of what noticed, or else all code."""
    return plant.digest((root / mutant.file, *_decided(end, root)))


def _decided(end: str, root: Path) -> Iterable[Path]:
    kind, _, what = end.partition(": ")
    test = root / "tests" / what.split("::")[0]
    if end == catch.NEVER:
        return ()
    if kind == "a unit test" and test.is_file():
        return (test,)
    if kind.startswith("a claim"):
        claim = registry.CLAIMS.get(name := what.split()[0])
        module = registry.experiment(claim.experiment if claim else name).module
        room = closure.graph().find_children(module.rpartition(".")[0])
        return closure.code_closure(module, *(each for each in room if each.rpartition(".")[2].startswith("claims")))
    return plant.code(root)


def _try(waiting: dict[str, Mutant], layout: Layout, tried: dict[str, str], note: Path) -> None:
    checks = traced.reached(layout)
    tasks, rows = {}, _noted(note)
    for name, mutant in waiting.items():
        tasks[name] = (work, (str(layout.root), mutant, checks.get(f"{mutant.file}:{mutant.function}", [])))

    def keep(name: str, outcome: workers.Outcome) -> None:
        tried[name] = outcome.lines[-1] if outcome.lines else ""
        rows[name] = [tried[name], _rests_on(waiting[name], tried[name], layout.root)]
        plant.keep(rows, note)

    for name, outcome in workers.run_all(tasks, layout.root, layout.child_environment(), traced.IMPORTED, keep).items():
        if outcome.status:
            raise Problem(f"{name}: {outcome.complaint}")


def _noted(note: Path) -> dict[str, list[str]]:
    """Return the end of each mutant that was tried before, and the digest of what decided it."""
    return json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}


def work(root: str, mutant: Mutant, checks: list[traced.Check]) -> int:
    """Print what catches a mutant, ``KIND: WHAT``, or nothing; the exit status is 0 either way."""
    catch.end_in_time()
    sys.path.insert(0, root)
    catch.no_digest_counts()
    exchange(mutant, Path(root))
    for caught in _catches(checks):
        print(caught, flush=True)
        break
    return 0


def _catches(checks: list[traced.Check]) -> Iterator[str]:
    """Yield what contradicts, in the order of the checks; tests that follow each other are started together."""
    spent, tests = 0.0, []
    began = time.monotonic()
    for seconds, kind, name in [*checks, (0.0, "", "")]:
        if tests and (kind != traced.TEST or spent + seconds > BATCH):
            yield from (f"a unit test: {each}" for each in catch.failed(tuple(tests)))
            spent, tests = 0.0, []
        if not kind or time.monotonic() - began > BUDGET:
            return
        if kind == traced.TEST:
            spent, tests = spent + seconds, [*tests, name]
            continue
        profile = "full" if kind == traced.STORED else "quick"
        yield from (f"a claim in {profile}: {each}" for each in catch.contradicted(name, profile))


def exchange(mutant: Mutant, root: Path) -> None:
    """Give a function the mutant's code, wherever it is held; its module is loaded, which a test might do first."""
    file = str(root / mutant.file)
    importlib.import_module(mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    codes = _codes(compile(mutants.code(mutant, root), file, "exec"))
    wrong = next(each for each in codes if each.co_qualname == mutant.function)
    for each in gc.get_objects():
        if type(each) is FunctionType and (each.__code__.co_filename, each.__code__.co_qualname) == (file, mutant.function):
            each.__code__ = wrong


def _codes(of: CodeType) -> Iterator[CodeType]:
    """Yield the codes of all functions in a module's or a class's code."""
    for each in of.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _keep(layout: Layout, total: int, chosen: dict, equivalent: dict, tried: dict, survivors: list[Mutant]) -> None:
    """Write what became of them, where the whole number was tried."""
    if len(chosen) < NUMBER:
        return
    kinds = Counter((each.group, _end(name, equivalent, tried)) for name, each in chosen.items())
    groups = {group: {end: kinds[group, end] for end in sorted({end for _, end in kinds})} for group in mutants.GROUPS}
    content = {
        "commit": results.commit(),
        "total": total,
        "groups": groups,
        "survivors": [vars(each) for each in survivors],
        "equivalent": [vars(each) | {"reason": equivalent[name]} for name, each in chosen.items() if name in equivalent],
    }
    plant.keep(content, layout.stored_results / STORED)


def _end(name: str, equivalent: dict[str, str], tried: dict[str, str]) -> str:
    return "equivalent" if name in equivalent else tried[name].split(":")[0] or "nothing"
