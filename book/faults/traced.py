"""Which checks reach which functions: every check is run once while the functions that it calls are noted."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType

from book.build import workers
from book.build.layout import Layout
from book.build.problem import Problem
from book.faults import catch
from book.faults.reach import OF_STORING
from icl_lib.companion import results

STORED, QUICK, TEST = "stored", "quick", "test"
Check = tuple[float, str, str]
"""Its seconds, its kind and its name: the slug of a result, or the id of a test."""
SLOW = {"browser", "browser_explorers", "browser_policy", "bundle", "elsewhere", "faults", "kills", "lock", "notebooks", "run"}
IMPORTED = [*catch.IMPORTED, "papers.registry"]


def reached(layout: Layout, state: str) -> dict[str, list[Check]]:
    """Return the checks that call each function, ``FILE:NAME``, the cheapest first; they are traced once for a ``state``."""
    from papers import registry

    note = layout.build / "faults" / f"reached-{state}"
    note.mkdir(parents=True, exist_ok=True)
    tests = [path for path in sorted(layout.root.glob("tests/**/test_*.py")) if path.stem[5:] not in {*SLOW, *OF_STORING}]
    asked = {f"{kind} {slug}": (kind, slug) for kind in (STORED, QUICK) for slug in registry.EXPERIMENTS}
    asked |= {f"{TEST} {path.stem}": (TEST, str(path.relative_to(layout.root))) for path in tests}
    tasks = {
        name: (trace, (str(layout.root), *check, str(note / f"{name}.json")))
        for name, check in asked.items()
        if not (note / f"{name}.json").exists()
    }
    for name, outcome in workers.run_all(tasks, layout.root, layout.child_environment(), IMPORTED).items() if tasks else ():
        if outcome.status:
            raise Problem(f"{name}: {outcome.complaint}")
    found: dict[str, list[Check]] = {}
    for name in asked:
        for check, seconds, called in json.loads((note / f"{name}.json").read_text(encoding="utf-8")):
            for function in called:
                found.setdefault(function, []).append((seconds, name.split()[0], check))
    return {function: sorted(checks) for function, checks in found.items()}


def trace(root: str, kind: str, name: str, to: str) -> int:
    """Run one check, or the tests of a file, and write ``[check, seconds, functions]`` for each."""
    rows: list[tuple[str, float, list[str]]] = []
    sys.path.insert(0, root)
    catch.no_digest_counts()
    if kind == TEST:
        catch.run_tests([name], _Tracer(root, rows))
    else:
        with _noted(root, rows, name):
            list(catch.contradicted(name, "full" if kind == STORED else "quick"))
    results.write_atomically(Path(to), lambda file: file.write_text(json.dumps(rows), encoding="utf-8"))
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
    seen: set[CodeType] = set()

    def note(frame, event: str, _) -> None:
        if event == "call":
            seen.add(frame.f_code)

    began = time.monotonic()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        ours = [code for code in seen if code.co_filename.startswith((f"{root}/icl_lib/", f"{root}/papers/"))]
        names = {f"{code.co_filename.removeprefix(root + '/')}:{code.co_qualname.split('.<locals>')[0]}" for code in ours}
        rows.append((name, round(time.monotonic() - began, 3), sorted(names)))
