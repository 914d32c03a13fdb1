"""What a reader types: what is refused, names that are nearly right, and files of the folder where the command was given.

Standard library only: `run` reads this before the environment exists.
"""

import argparse
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

CALLER = "ICL_CALLER"
"""The variable with the folder from which ``run`` was called; it goes to its own before a job begins."""


MOST = 20
"""So many names are told of those that there are."""


class Misdeclared(ValueError):
    """What a module of a wing declares cannot be: told in one sentence by every command."""


def refuse(wrong: bool, sentence: str) -> None:
    """Raise ValueError with a sentence that names what is wrong and what to do.

    As a statement of its own it changes no number, so that the code of a result is the same with it and without it
    (``companion.identity``); ``wrong`` and ``sentence`` must not change anything.

    >>> from icl_lib.typed import refuse
    >>> refuse(2 < 1, "2 is below 1")
    >>> refuse(1 < 2, "give a number that is not below 2")
    Traceback (most recent call last):
    ValueError: give a number that is not below 2
    """
    if wrong:
        raise ValueError(sentence)


def unknown(what: str, word: str, names: Iterable[str]) -> str:
    """Return the sentence for a name that there is not, with those that are spelled like it, or else all there are.

    >>> from icl_lib.typed import unknown
    >>> print(unknown("profile", "quik", ["quick", "full"]))
    unknown profile 'quik': did you mean quick?
    >>> print(unknown("device", "gpu", ["cpu", "cuda"]))
    unknown device 'gpu': take one of cpu, cuda
    """
    names = list(names)
    alike = get_close_matches(word.lower(), [name.lower() for name in names], n=3, cutoff=0.7)
    near = sorted((name for name in names if name.lower() in alike), key=lambda name: alike.index(name.lower()))
    rest = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    told = f"did you mean {' or '.join(near)}?" if near else f"take one of {', '.join(names[:MOST])}{rest}"
    return f"unknown {what} {word!r}: {told}"


def path(text: str | Path) -> Path:
    """Return a file or folder as the caller of a command means it."""
    return Path(os.environ.get(CALLER, ""), Path(text).expanduser())


def file(text: str, suffix: str = "") -> Path:
    """Return a file to write; refuses a folder, a device and the like, which writing would replace, and another suffix."""
    found = path(text)
    if os.path.lexists(found) and not os.path.isfile(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a file that can be written: give another name")
    if suffix and found.suffix != suffix:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {suffix}, which is what is written: give another name")
    return found


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence instead of printing the usage."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2."""
        self.exit(2, f"error: {message}; see {self.prog} --help\n")
