"""What the reader asked for. Standard library only: `run` reads this before the environment exists."""

import argparse
from functools import partial
from pathlib import Path

from icl_lib.typed import Parser, unknown

PROFILES = ("quick", "full")


def notebook(word: str, root: Path) -> str:
    """The name of a notebook, which may be told by its path; refuses one that is not there."""
    name, names = Path(word).stem, notebook_names(root)
    if name not in names:
        raise argparse.ArgumentTypeError(unknown("notebook", name, names))
    return name


def notebook_names(root: Path) -> list[str]:
    """The names of the notebooks, in the order of their files."""
    return sorted(path.stem for path in (root / "notebooks").glob("*.ipynb"))


def parse(words: list[str], root: Path) -> argparse.Namespace:
    """`profile`, `only` (a notebook's name or None) and `fresh`; exits with 2 on anything else."""
    parser = Parser(prog="./run book", description="Compute and build the book.")
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--only", metavar="NAME", type=partial(notebook, root=root), help="execute this notebook and no other")
    parser.add_argument("--fresh", action="store_true", help="ignore every stored result")
    return parser.parse_args(words)


def parse_test(words: list[str], root: Path) -> argparse.Namespace:
    """`all`, `notebooks` (names) and `pytest` (its words); without any name or word every check is meant.

    Names of notebooks are such where nothing else is asked: `-k engine` is pytest's.
    Exits with 2 on a file that is not there and on notebooks together with other words.
    """
    parser = Parser(prog="./run", add_help=False, allow_abbrev=False)
    parser.add_argument("--all", action="store_true")
    asked, rest = parser.parse_known_args(words)
    files = {word: root / word.split("::")[0] for word in rest}
    missing = [word for word, file in files.items() if file.suffix in (".py", ".ipynb") and not file.exists()]
    if missing:
        parser.error(f"there is no file '{missing[0]}'")
    own = (root / "notebooks").resolve()
    if other := [word for word, file in files.items() if file.suffix == ".ipynb" and file.resolve().parent != own]:
        parser.error(f"'{other[0]}' is none of the committed notebooks, which lie in notebooks/")
    named = {word: file.stem for word, file in files.items() if file.suffix == ".ipynb"}
    named |= {word: "" for word, file in files.items() if file == root / "notebooks"}
    every = notebook_names(root)
    if all(word in named or word in every for word in rest):
        named = {word: named.get(word, word) for word in rest}
    asked.pytest = [word for word in rest if word not in named]
    asked.notebooks = every if "" in named.values() else list(named.values())
    if asked.pytest and (named or asked.all):
        parser.error(f"'{asked.pytest[0]}' is for pytest, {'notebooks' if named else '--all'} is not; ask for one of them")
    return asked
