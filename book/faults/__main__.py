"""`./run faults`: plant every fault of the list and say which check catches it."""

import sys
from dataclasses import asdict
from pathlib import Path

from book.builder.layout import Layout
from book.builder.problem import Problem
from book.faults import everywhere, plant, trials
from book.faults.plant import STORED
from icl_lib.companion import results, writing
from icl_lib.typed import Parser
from papers import BOOK


def main(words: list[str]) -> int:
    """Try the faults that were not tried on this code before; 1 when one survives."""
    parser = Parser(prog="./run faults", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="only the faults whose line has all of these words")
    parser.add_argument(
        "--everywhere",
        nargs="?",
        type=int,
        const=everywhere.NUMBER,
        metavar="NUMBER",
        help=f"in the place of the list: so many changes by rule, of functions ({everywhere.NUMBER})",
    )
    asked, layout = parser.parse_args(words), Layout(Path(__file__).resolve().parents[2])
    if asked.everywhere is not None and (asked.words or asked.everywhere < 1):
        parser.error("--everywhere takes the place of the list: give it no words, and a number of at least 1")
    if asked.everywhere is not None:
        return everywhere.run(layout, asked.everywhere)
    every = plant.read(layout.root)
    faults = [fault for fault in every if all(word in str(fault) for word in asked.words)]
    if not faults:
        parser.error(f"no planted fault has {' and '.join(asked.words)} in its line of book/faults/planted.txt")
    tried = trials.tried({str(fault): fault for fault in faults}, layout, "planted")
    rows = [asdict(fault) | {"caught": tried[str(fault)]} for fault in faults]
    if len(rows) == len(every):
        writing.write_json(layout.stored_results / STORED, {"commit": results.commit(BOOK), "faults": rows})
    survivors = [fault for fault, row in zip(faults, rows, strict=True) if not row["caught"]]
    print(*(f"survived: {fault}" for fault in survivors), f"{len(faults)} planted, {len(survivors)} survived.", sep="\n")
    return 1 if survivors else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        sys.exit(str(problem))
