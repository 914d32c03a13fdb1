"""Which checks reach which functions: every check is run once while the functions that it calls are noted."""

import cProfile
import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from book.builder import closure, workers
from book.builder.layout import Layout
from book.faults import catch, plant
from book.faults.catch import QUICK, STORED, TEST, WRITTEN, Check
from icl_lib.companion import writing

SLOW = {
    *("browser", "browser_explorers", "browser_policy", "build", "bundle", "elsewhere", "faults", "identities", "kills"),
    *("lock", "mutants", "notebooks", "quick", "run", "stopped"),
}
"""Tests that are not tried: what they run of ours, they run in processes of their own."""
NUMBERS = {"claims_read", "printed", "streams"}
"""Tests that compare with numbers that the code gave before: they notice every change, as a digest does, and are tried last."""


def reached(layout: Layout) -> dict[str, list[Check]]:
    """Return the checks that call each function, ``FILE:NAME``, the cheapest first; one that was traced before is not again."""
    from papers import registry

    note = layout.build / "faults" / "reached"
    note.mkdir(parents=True, exist_ok=True)
    tests = [path for path in sorted(layout.root.glob("tests/**/test_*.py")) if path.stem[5:] not in SLOW]
    asked = {f"{kind} {slug}": (kind, slug) for kind in (STORED, QUICK) for slug in registry.EXPERIMENTS}
    kinds = {path: WRITTEN if path.stem[5:] in NUMBERS else TEST for path in tests}
    asked |= {f"{kind} {path.stem}": (kind, str(path.relative_to(layout.root))) for path, kind in kinds.items()}
    notes = {name: note / f"{name} {plant.digest(_read_by(*check, layout.root))}.json" for name, check in asked.items()}
    tasks = {
        name: (trace, (str(layout.root), *asked[name], str(path)))
        for name, path in notes.items()
        if writing.read_json(path, list) is None
    }
    workers.require_success(workers.run_all(tasks, layout.root, layout.child_environment(), catch.IMPORTED))
    found: dict[str, list[Check]] = {}
    for name, path in notes.items():
        for check, seconds, called in json.loads(path.read_text(encoding="utf-8")):
            for function in called:
                found.setdefault(function, []).append((seconds, name.split()[0], check))
    return {function: sorted(checks) for function, checks in found.items()}


def _read_by(kind: str, name: str, root: Path) -> tuple[Path, ...]:
    """Return the files whose functions a check may call."""
    if kind not in (TEST, WRITTEN):
        return tuple(of_experiment(name))
    source = (root / name).read_text(encoding="utf-8")
    modules = closure.imported_modules(source)
    everything = "papers.registry" in modules or re.search("^from tests", source, re.MULTILINE)
    return root / name, *(plant.code(root, "icl_lib", "papers") if everything else closure.code_closure(*modules))


def of_experiment(slug: str) -> list[Path]:
    """Return the code of an experiment and of the claims of its room."""
    from papers import registry

    module = registry.experiment(slug).module
    room = closure.graph().find_children(module.rpartition(".")[0])
    return closure.code_closure(module, *(each for each in room if each.rpartition(".")[2].startswith("claims")))


def trace(root: str, kind: str, name: str, to: str) -> int:
    """Run one check, or the tests of a file, and write ``[check, seconds, functions]`` for each."""
    rows: list[tuple[str, float, list[str]]] = []
    sys.path.insert(0, root)
    catch.no_digest_counts()
    if kind in (TEST, WRITTEN):
        catch.run_tests([name], _Tracer(root, rows))
    else:
        with _noted(root, rows, name):
            list(catch.contradicted(name, "full" if kind == STORED else "quick"))
    writing.write_json(Path(to), rows)
    return 0


class _Tracer:
    """Pytest's plugin that notes what each test calls."""

    def __init__(self, root: str, rows: list):
        self._root, self._rows = root, rows

    def pytest_runtest_protocol(self, item, nextitem) -> None:
        from _pytest.runner import runtestprotocol

        with _noted(self._root, self._rows, item.nodeid):
            runtestprotocol(item, nextitem=nextitem, log=False)
        return True


@contextmanager
def _noted(root: str, rows: list, name: str) -> Iterator[None]:
    """Add a row with the functions of ours that are called here."""
    began, profile = time.monotonic(), cProfile.Profile(builtins=False)
    profile.enable()
    try:
        yield
    finally:
        profile.disable()
        codes = [each.code for each in profile.getstats() if isinstance(each.code, CodeType)]
        ours = [code for code in codes if code.co_filename.startswith((f"{root}/icl_lib/", f"{root}/papers/"))]
        names = {f"{code.co_filename.removeprefix(root + '/')}:{code.co_qualname.split('.<locals>')[0]}" for code in ours}
        rows.append((name, round(time.monotonic() - began, 3), sorted(names)))
