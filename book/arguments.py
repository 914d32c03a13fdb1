"""What the reader asked for. Standard library only: `run` reads this before the environment exists."""

import argparse
from pathlib import Path

PROFILES = ("quick", "full")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence instead of printing the usage."""

    def error(self, message):
        self.exit(2, f"./run book: {message}.\n")


def notebook_names(root: Path) -> list[str]:
    """The names of the notebooks, in the order of their files."""
    return sorted(path.stem for path in (root / "notebooks").glob("*.ipynb"))


def parse(words: list[str], root: Path) -> argparse.Namespace:
    """`profile`, `only` (a notebook's name or None) and `fresh`; exits with 2 on anything else."""
    parser = _Parser(prog="./run book", description="Compute and build the book.")
    parser.add_argument("--profile", metavar="quick|full", default="quick")
    parser.add_argument("--only", metavar="NAME", help="execute this notebook and no other")
    parser.add_argument("--fresh", action="store_true", help="ignore every stored result")
    asked = parser.parse_args(words)
    if asked.profile not in PROFILES:
        parser.error(f"there is no profile '{asked.profile}'; choose quick or full")
    names = notebook_names(root)
    if asked.only is not None:
        asked.only = Path(asked.only).stem
        if asked.only not in names:
            parser.error(f"there is no notebook '{asked.only}'; choose one of {', '.join(names)}")
    return asked
