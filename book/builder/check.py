"""`python -m book.builder.check [--all] [NOTEBOOK ...]`: execute notebooks and compare them with the committed ones.

`./run test` calls it. The comparison itself is `tests/book/test_notebooks.py`.
"""

import sys
from pathlib import Path

from book.builder import arguments, book, cache, workers
from book.builder.cache import Executed
from book.builder.layout import Layout
from book.builder.problem import Problem

TEST = "tests/book/test_notebooks.py"
SHOWN, BESIDE = "test_notebook", "test_files_beside_a_notebook"
"""The comparison with the committed notebook, and a look at the files beside it, which is for `--all`."""
COMPARISON = (TEST, "tests/nbval_sanitize.cfg", "book/data/quick.json")
"""What decides whether a notebook passes, beside the build's own code, which gives outputs their form."""


def check(names: list[str], again: bool, layout: Layout) -> int:
    """Execute and compare those notebooks that have not passed as they are, or `again` all of them; an exit status."""
    due = [name for name in names if again or not passed(name, layout)]
    if kept := len(names) - len(due):
        print(f"{kept} of {len(names)} notebooks have passed as they are; ./run test --all checks them again.", flush=True)
    if not due:
        return 0
    from book.builder import execute

    asked, status = arguments.parse(["--fresh"] if again else [], layout.root), 0
    try:
        book.bring_up_to_date(due, asked, layout, judge=("quick",))
    except Problem as problem:  # the others are compared all the same
        print(problem, flush=True)
        status = 1
    tests = [f"{TEST}::{test}[{name}]" for test in (SHOWN, BESIDE)[: 1 + again] for name in due]
    shares = [tests[first :: workers.AT_A_TIME] for first in range(min(workers.AT_A_TIME, len(tests)))]
    tasks = {f"comparison {number}": (execute.compare, (share,)) for number, share in enumerate(shares, 1)}
    done = workers.run_all(tasks, layout.root, layout.child_environment(), execute.IMPORTED)
    print(*(line for each in done.values() for line in each.lines), sep="\n", flush=True)
    return max(each.status for each in done.values()) or status


def passed(name: str, layout: Layout) -> bool:
    """Whether the notebook as it is now has passed the comparison as it is now."""
    one = cache.lookup(name, "quick", layout)
    note = one and one.folder / "passed"
    return bool(note) and note.exists() and note.read_text(encoding="utf-8") == _compared(one, layout)


def remember(one: Executed, layout: Layout) -> None:
    """Note that an executed notebook has passed; the note goes with its folder."""
    (one.folder / "passed").write_text(_compared(one, layout), encoding="utf-8")


def _compared(one: Executed, layout: Layout) -> str:
    form = sorted((layout.root / "book" / "builder").glob("*.py"))
    return cache.digest_of([layout.notebooks / one.notebook.name, *(layout.root / name for name in COMPARISON), *form])


def main(words: list[str]) -> int:
    asked = arguments.parse_test(words, Path.cwd())
    names = asked.notebooks or arguments.notebook_names(Path.cwd())
    return book.answer(lambda layout: check(names, asked.all, layout), "The committed notebooks are as they were.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
