"""The nouns of a companion to a paper: declarations, experiments, claims, figures, and what stores them.

It carries results and computes none, so no change here makes a stored number outdated. What pages use is handed on here:
``from icl_lib.companion import Experiment, claims_of, drawing``. A name is imported when it is first asked for, so that who
wants a digest need not wait for PyTorch.

A measured number beside the theory, and beside a near miss in its place:

>>> import xarray as xr
>>> from icl_lib.companion import agreement, near_miss
>>> numbers = {"risk": 0.52, "risk_se": 0.01, "risk_theory": 0.5, "risk_near": ("mistake", [0.6])}
>>> data = xr.Dataset(numbers, {"mistake": ["N - 1 for N"]})
>>> [agreement(each, "risk").verdict(margin=0.1) for each in (data, near_miss("risk", "N - 1 for N")(data))]
['holds', 'fails']
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # as type checkers and the graph of imports read it; ``__getattr__`` does it
    from icl_lib.companion.book import Book
    from icl_lib.companion.cards import Cards
    from icl_lib.companion.checkpoints import Checkpoint
    from icl_lib.companion.claim import Claim, Judgement, claims_of
    from icl_lib.companion.controls import Control, at, everywhere, exchanged, near_miss, near_misses, put, replaced
    from icl_lib.companion.curves import (
        band,
        bars,
        each,
        entry,
        equality,
        interval,
        legend,
        line,
        points,
        series,
        sideways,
        strokes,
    )
    from icl_lib.companion.declaration import (
        AtLeastThree,
        AtLeastTwo,
        Count,
        Declaration,
        InnerShare,
        NotNegative,
        Positive,
        PositiveShare,
        Several,
        Share,
        Whole,
    )
    from icl_lib.companion.diagrams import Diagram, diagram
    from icl_lib.companion.experiment import PROFILES, PUBLISHED, Experiment, require_device
    from icl_lib.companion.figure import LINES, MARKERS, Drawing, drawing
    from icl_lib.companion.identity import expectation
    from icl_lib.companion.laid_open import described
    from icl_lib.companion.marks import Measured, marked_html
    from icl_lib.companion.minute import Minute, minute_of
    from icl_lib.companion.paper import Paper, in_order
    from icl_lib.companion.results import obtain, variable, variables
    from icl_lib.companion.showing import in_one_minute, show, show_claims
    from icl_lib.companion.table import Table, across, at_least, at_most, rounded, span
    from icl_lib.companion.verdict import (
        FAILS,
        HOLDS,
        NOT_REPRODUCED,
        UNDECIDED,
        Agreement,
        Discrepancy,
        agreement,
        all_known,
        distance_over_seeds,
        over,
        over_seeds,
        widened,
    )
    from icl_lib.companion.weights import obtain_weights, seed_of

_HOMES = {
    alias.name: node.module
    for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom) and node.module.startswith(f"{__name__}.")
    for alias in node.names
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
