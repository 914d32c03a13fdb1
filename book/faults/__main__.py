"""`./run faults`: plant every fault of the list and say which check catches it."""

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from book.build import workers
from book.build.arguments import Parser
from book.build.layout import Layout
from book.build.problem import Problem
from book.faults import catch, everywhere, plant, reach
from book.faults.plant import STORED, Fault
from icl_lib.companion import results

STAGES = ("stored results", "tests and quick results")
"""Tried one after the other, in processes of their own: the tests check shapes and types of all that they import."""


def main(words: list[str]) -> int:
    """Try the faults that were not tried on this code before; 1 when one survives."""
    parser = Parser(prog="./run faults", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only the faults whose line has all of these words")
    parser.add_argument(
        "--everywhere", nargs="?", type=int, const=everywhere.NUMBER, metavar="NUMBER",
        help=f"in the place of the list: so many changes by rule, of every function ({everywhere.NUMBER})",
    )  # fmt: skip
    asked, layout = parser.parse_args(words), Layout(Path(__file__).resolve().parents[2])
    if asked.everywhere is not None:
        return everywhere.run(layout, asked.everywhere)
    every = plant.read(layout.root)
    faults = [fault for fault in every if all(word in str(fault) for word in asked.words)]
    if not faults:
        parser.error(f"no planted fault has {' and '.join(asked.words)} in its line of book/faults/planted.txt")
    note = layout.build / "faults" / f"{plant.digest(plant.code(layout.root))}.json"
    tried = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    for stage in STAGES:
        _try([fault for fault in faults if stage not in (known := tried.get(str(fault), {})) and not any(known.values())],
             stage, layout, tried, note)  # fmt: skip
    rows = [asdict(fault) | {"caught": next(filter(None, tried[str(fault)].values()), "")} for fault in faults]
    if len(rows) == len(every):
        plant.keep({"commit": results.commit(), "faults": rows}, layout.stored_results / STORED)
    survivors = [fault for fault, row in zip(faults, rows, strict=True) if not row["caught"]]
    print(*(f"survived: {fault}" for fault in survivors), f"{len(faults)} planted, {len(survivors)} survived.", sep="\n")
    return 1 if survivors else 0


def _try(faults: list[Fault], stage: str, layout: Layout, tried: dict[str, dict], note: Path) -> None:
    """Try one stage on these faults, two at a time, and note what each says as soon as it has ended."""
    if not faults:
        return
    print(f"Trying {len(faults)} faults on {stage}.", flush=True)
    with tempfile.TemporaryDirectory(prefix="icl-faults-") as folder:
        tasks = {}
        for number, fault in enumerate(faults):
            to = Path(folder) / str(number)
            to.mkdir()
            plant.copy(fault, layout.root, to)
            plan = reach.plan(fault, layout.root)
            chosen = (plan.stored, (), ()) if stage == STAGES[0] else ((), plan.tests, plan.quick)
            tasks[str(fault)] = (catch.work, (str(to), *chosen))

        def keep(name: str, outcome: workers.Outcome) -> None:
            tried.setdefault(name, {})[stage] = outcome.lines[-1] if outcome.lines else ""
            plant.keep(tried, note)

        outcomes = workers.run_all(tasks, layout.root, layout.child_environment(), catch.IMPORTED, keep)
        for name, outcome in outcomes.items():
            if outcome.status:
                raise Problem(f"{name}: {outcome.complaint}")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        sys.exit(str(problem))
