"""Numbers and marks that captions and alternative texts state: each has to be there in what the figure shows."""

import html
import re
from collections.abc import Callable, Iterator
from math import comb

import numpy as np
import xarray as xr

from tests.bounds import way
from tests.papers.artists import Panel

NUMBER = re.compile(r"(?<![\w.^_{-])\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
NAMES = re.compile(
    r"\b10<sup>.*?</sup>|<su[bp]>.*?</su[bp]>|<.*?>|"
    r"(?:ln|Theorem|Lemma|Assumption|Figure|Condition|float|claims? )\s?\d+(?:\.\d+)*"
)
ROUGHLY = re.compile(r"(?:near|about|to|some|below|above|than|under|over|at most|at least|between|between \S+ and)\s$")
MARKS = ("circles", "squares", "diamonds", "triangles", "crosses", "dashed", "dotted", "open", "thin", "strokes", "pluses")

BESIDE: dict[str, Callable[[xr.Dataset], np.ndarray]] = {
    "garg-shifts": lambda d: np.array([40.0]),  # the length at which Garg et al. tell their own values
    "garg-sparse": lambda d: np.array([comb(10, 2)]),
    "garg-regression-noise": lambda d: (d.risk.sel(label="noisy") / d.bayes).sel(k=d.N.values).values,
    "lenses-what-is-left": lambda d: (d.curved / (d.curved + d.missed)).mean("seed").values,
    "zhang-gpt2": lambda d: d.lsa_limit.values,
    "li-decoder-positions": lambda d: np.array([1e-4]),  # the edge at which smaller errors would be drawn
    "li-published-floor": lambda d: (d.slides / d.vote_theory).sel(alpha=0.8).values,
}
"""What texts state of a result that its figure does not draw, by figure."""


def unfounded(text: str, shown: np.ndarray) -> Iterator[str]:
    """Yield the numbers of a text that nothing shown rounds to.

    What is near may be a quarter away, a bound as much and a unit of its last digit, on its own side; what is told as a power
    of ten alone, half a decade.
    """
    text = html.unescape(NAMES.sub(" ", text))
    for found in NUMBER.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        numbers = np.concatenate([shown, 100 * shown]) if re.match("%| percent", after) else shown
        if not _read(found[0], numbers, before, way(before, after)):
            yield f"{before[-30:]}{found[0]}"


def _read(written: str, shown: np.ndarray, before: str, side: int) -> bool:
    number, (digits, _, power) = float(written.replace(",", "")), written.partition("e")
    factor = 10**0.5 if digits == "1" and power else 1.25 if ROUGHLY.search(before) else 1
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    off = (1.001 if side else 0.501) * unit
    low = number * (1 - 1e-9) if side < 0 else number / factor - off
    high = number * (1 + 1e-9) if side > 0 else number * factor + off
    return bool(((low <= shown) & (shown <= high)).any())


def shown(panels: list[Panel], dataset: xr.Dataset, name: str) -> np.ndarray:
    """Return the sizes of a figure's numbers: what is drawn, where, and what was declared."""
    drawn = [part for panel in panels for each in panel.series for part in (each.x, each.y)]
    drawn += [[level[1] for level in panel.levels] for panel in panels]
    drawn += [each.values for each in dataset.coords.values() if each.dtype.kind in "fiu"]
    drawn.append([float(each) for each in re.findall(r"\d+\.?\d*(?:e[-+]?\d+)?", dataset.attrs["declaration"])])
    drawn.append(BESIDE[name](dataset) if name in BESIDE else [])
    every = np.concatenate([np.ravel(np.asarray(part, float)) for part in drawn])
    return abs(every[np.isfinite(every)])


def unseen(text: str, section: str) -> list[str]:
    """Return the marks that a text names and no series of the figure has."""
    looks = " ".join(re.findall(r"\[(.*?)\]", section))
    words = text.lower().replace("dashes", "dashed")
    words = re.sub(r"(?:least|with|without) squares|it crosses", "", words)
    return [mark for mark in MARKS if re.search(rf"\b{mark}\b", words) and mark not in looks]
