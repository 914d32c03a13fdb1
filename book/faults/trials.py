"""What notices each of many changes: those are tried whose end is not known."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from book.builder import workers
from book.builder.layout import Layout
from book.faults import catch, plant, traced
from icl_lib.companion import writing


class Change(Protocol):
    """A change in a function, which goes by its qualified name."""

    file: str
    function: str

    def source(self, root: Path) -> str:
        """Return the source of the file with the change made."""


def tried(changes: Mapping[str, Change], layout: Layout, name: str) -> dict[str, str]:
    """Return what notices each change, or an empty text; what is found is noted under ``name``, as soon as it is."""
    note = layout.build / "faults" / f"{name}.json"
    rows = writing.read_json(note, dict) or {}
    known = {
        each: rows[each][0]
        for each, change in changes.items()
        if each in rows and rows[each][1] == _rests_on(change, rows[each][0], layout.root)
    }
    waiting = {each: change for each, change in changes.items() if each not in known}
    checks = traced.reached(layout) if waiting else {}

    def keep(each: str, outcome: workers.Outcome) -> None:
        known[each] = outcome.lines[-1] if outcome.lines else ""
        rows[each] = known[each], _rests_on(changes[each], known[each], layout.root)
        writing.write_json(note, rows)

    tasks = {
        each: (
            catch.work,
            (
                str(layout.root),
                change.file,
                change.function,
                change.source(layout.root),
                checks.get(f"{change.file}:{change.function}", []),
            ),
        )
        for each, change in waiting.items()
    }
    workers.require_success(workers.run_all(tasks, layout.root, layout.child_environment(), catch.IMPORTED, keep))
    return known


def _rests_on(change: Change, end: str, root: Path) -> str:
    """Return a digest of what decided the end of a change: its file and the code of what noticed, or else all code."""
    return plant.digest((root / change.file, *_decided(end, root)))


def _decided(end: str, root: Path) -> Iterable[Path]:
    kind, _, what = end.partition(": ")
    test = root / "tests" / what.split("::")[0]
    if end == catch.NEVER:
        return ()
    if kind in (catch.BY_TEST, catch.BY_WRITTEN) and test.is_file():
        return (test,)
    if kind.startswith("a claim"):
        from papers import registry  # seconds, with all the library

        claim = registry.CLAIMS.get(name := what.split()[0])
        return traced.of_experiment(claim.experiment if claim else name)
    return plant.code(root)
