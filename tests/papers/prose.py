"""Numbers in the prose of a notebook, around a figure or in what a claim says are found again in the stored results."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
import xarray as xr

from papers import registry
from tests.bounds import way
from tests.papers import told
from tests.papers.tables import agrees

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NUMBER = re.compile(r"(?<![\w.^_{])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?(?![\w}])")
"""A number as ``plain`` prose has it; one in the name of a claim, in an exponent or an index is none."""


def plain(words: str) -> str:
    """Return words without references and commands of TeX, powers of ten as in 1e-4, a minus as a hyphen.

    >>> plain(r"{eq}`eq-li-3` has $0.2\\pm0.01$, $3\\cdot10^{-4}$ and $10^5$, −1 at most")
    ' has $0.2 0.01$, $3e-4$ and $1e5$, -1 at most'
    """
    words = re.sub(r"\{[\w:]+\}`[^`]*`", "", words.replace("−", "-"))
    words = re.sub(r"(?<![\d.])10\^\{?(-?\d+)\}?", r"1e\1", re.sub(r"([\d.]+)\s*\\cdot\s*10\^\{?(-?\d+)\}?", r"\1e\2", words))
    return re.sub(r"\\[A-Za-z]+", " ", words)


class Said(NamedTuple):
    """Words of a notebook, a figure or a claim, the results that they tell of, and what they say: numbers and what is true."""

    notebook: str
    words: str
    slugs: tuple[str, ...]
    found: Callable[..., object]


SAID: list[Said] = []


def both(slug: str) -> tuple:
    """Return the declarations of an experiment, quick and full."""
    experiment = registry.experiment(slug)
    return experiment.quick, experiment.full


def says(notebook: str, words: str, *slugs: str) -> Callable:
    """Declare what words of a notebook, a figure or a claim say of stored results; the function takes these, and says it again.

    Numbers stand for those of the words, in their order; True and False for what is said without a number.
    """

    def declare(found: Callable[..., object]) -> Callable[..., object]:
        SAID.append(Said(notebook, " ".join(words.split()), slugs, found))
        return found

    return declare


ALTERNATIVES: dict[str, Callable[[xr.Dataset], Iterable[float]]] = {}


def tells(figure: str) -> Callable:
    """Declare the numbers in the alternative text of a figure, in their order, as a function of its stored result."""
    return lambda found: ALTERNATIVES.setdefault(figure, found)


def ends(*values: xr.DataArray | np.ndarray) -> list[float]:
    """Return the first and the last of all values in order, without those that are not there."""
    ordered = np.sort(np.concatenate([np.ravel(each) for each in values]))
    return ordered[~np.isnan(ordered)][[0, -1]].tolist()


def numbers(words: str) -> list[str]:
    """Return the numbers of words as they are written.

    >>> numbers("from 1e+00 to 2e-3, and 0.5")
    ['1e+00', '2e-3', '0.5']
    """
    return [text for text, _ in bounded(words)]


def bounded(words: str) -> list[tuple[str, int]]:
    """Return the numbers of words, each with the side of it that the words bound.

    >>> bounded("at most 0.2, and 0.5")
    [('0.2', 1), ('0.5', 0)]
    """
    text = plain(words.replace("GPT-2", ""))
    return [(one[0].rstrip(","), way(text[: one.start()], text[one.end() :])) for one in NUMBER.finditer(text)]


@cache
def prose(notebook: str) -> str:
    """Return the text of a notebook, a space for every break; all that a claim says; what a figure says beside its axes."""
    if notebook in registry.CLAIMS:
        claim = registry.CLAIMS[notebook]
        return " ".join([claim.sentence, *claim.told.values()])
    if notebook in told.DRAWINGS:
        return " ".join(told.DRAWINGS[notebook][1].told(told.dataset_of(notebook))[:2])
    cells = nbformat.read(NOTEBOOKS / f"{notebook}.ipynb", as_version=4).cells
    return " ".join(" ".join(cell.source.split()) for cell in cells if cell.cell_type == "markdown")


def wrong(said: Said, datasets: list) -> Iterator[str]:
    """Say what of the words is not so."""
    if prose(said.notebook).count(said.words) != 1:
        yield "there are these words not at all, or more than once"
        return
    found = said.found(*datasets)
    found = [*found] if isinstance(found, tuple | list) else [found]
    stated, truths = ([each for each in found if isinstance(each, bool) == kind] for kind in (False, True))
    shown = bounded(said.words)
    if len(shown) != len(stated):
        yield f"the words have {len(shown)} numbers, {', '.join(numbers(said.words))}, and {len(stated)} were found"
        return
    yield from (
        f"{text}, not {float(number):.6g}"
        for (text, side), number in zip(shown, stated, strict=True)
        if not agrees(text, number, side)
    )
    if not all(truths):
        yield f"of what is said without a number, number {truths.index(False) + 1} is not so"
