"""`./run faults --everywhere`: change functions by rule, and say what notices."""

from collections import Counter
from pathlib import Path

from book.builder.layout import Layout
from book.builder.problem import Problem
from book.faults import mutants, trials
from book.faults.mutants import Mutant
from icl_lib.companion import results, writing
from papers import BOOK

FILE = "equivalent.txt"
STORED = "mutants.json"
"""What became of the mutants, in ``book/data``."""
NUMBER = 1000
"""So many are tried, unless another number is asked for."""


def run(layout: Layout, number: int) -> int:
    """Try the first ``number`` mutants, but for those whose end is known; 1 when one survives that is not equivalent."""
    equivalent = read(layout.root)
    every = mutants.every(layout.root)
    chosen = {str(mutant): mutant for mutant in every[:number]}
    tried = trials.tried({name: each for name, each in chosen.items() if name not in equivalent}, layout, "mutants")
    survivors = [each for name, each in chosen.items() if name not in equivalent and not tried[name]]
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


def _keep(layout: Layout, total: int, chosen: dict, equivalent: dict, tried: dict, survivors: list[Mutant]) -> None:
    """Write what became of them, where the whole number was tried."""
    if len(chosen) < NUMBER:
        return
    kinds = Counter((each.group, _end(name, equivalent, tried)) for name, each in chosen.items())
    groups = {group: {end: kinds[group, end] for end in sorted({end for _, end in kinds})} for group in mutants.GROUPS}
    content = {
        "commit": results.commit(BOOK),
        "total": total,
        "groups": groups,
        "survivors": [vars(each) for each in survivors],
        "equivalent": [vars(each) | {"reason": equivalent[name]} for name, each in chosen.items() if name in equivalent],
    }
    writing.write_json(layout.stored_results / STORED, content)


def _end(name: str, equivalent: dict[str, str], tried: dict[str, str]) -> str:
    return "equivalent" if name in equivalent else tried[name].split(":")[0] or "nothing"
