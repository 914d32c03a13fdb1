"""Points of the plots on the authors' slides, read off by eye: about 10% on the logarithmic axes. Nothing measured here.

No other place holds them: claims and figures take them from here, and a test compares what docstrings and pages quote.

Settings behind them (optimiser, widths, number of prompts and patterns) were not found.
"""

import math

import numpy as np
import xarray as xr

from icl_lib.companion import variable

READING_ERROR = 0.1
"""Relative error of a point read off by eye."""

LENGTHS = (6, 8, 10, 12, 14, 16, 18, 20)

LEARNERS = {
    (0.8, "ICL"): (0.036, 0.015, 0.010, 0.0085, 0.003, 0.0025, 0.0015, None),
    (0.8, "logistic"): (0.035, 0.0125, 0.010, 0.005, 0.0035, 0.0025, 0.002, 0.0015),
    (0.8, "linear SVM"): (0.05, 0.02, 0.017, 0.015, 0.0125, 0.0125, 0.015, 0.012),
    (0.8, "Gaussian SVM"): (0.13, None, None, None, None, None, None, 0.0055),
    (0.8, "1-NN"): (0.06, None, None, None, None, None, None, 0.0027),
    (0.8, "3-NN"): (0.18, 0.06, 0.03, 0.0125, 0.011, 0.005, 0.003, 0.002),
    (0.6, "ICL"): (0.08, 0.042, 0.023, 0.0075, 0.007, 0.0035, 0.0025, 0.0015),
    (0.6, "logistic"): (0.11, None, None, None, None, None, None, 0.0035),
    (0.6, "linear SVM"): (0.12, None, None, None, None, None, None, 0.035),
    (0.6, "Gaussian SVM"): (0.18, None, None, None, None, None, None, 0.013),
    (0.6, "1-NN"): (0.11, None, None, None, None, None, None, 0.007),
    (0.6, "3-NN"): (0.18, None, None, None, None, None, None, 0.009),
}
"""Error out of domain by (alpha', learner) at ``LENGTHS``: the one-layer model and classical learners.

None: not read off, or, for ICL at alpha' = 0.8 and l = 20, below 0.001.
"""

SUMS_LENGTHS = (4, 6, 8, 10, 12, 14, 16, 18, 20)

SUMS = {
    1.3: (0.048, 0.0145, 0.009, 0.0052, 0.0048, 0.0045, 0.0035, 0.0025, 0.002),
    1.1: (0.052, 0.019, 0.009, 0.0068, 0.0058, 0.0055, 0.0045, 0.0035, 0.0035),
    0.9: (0.052, 0.019, 0.011, 0.0098, 0.014, 0.0115, 0.013, 0.014, 0.0135),
    0.7: (0.065, 0.033, 0.027, 0.019, 0.024, 0.024, 0.027, 0.022, 0.024),
    0.5: (0.08, 0.038, 0.038, 0.031, 0.033, 0.039, 0.041, 0.041, 0.047),
}
"""Error out of domain of the three-layer GPT-2 by S_1, at ``SUMS_LENGTHS``."""

SHARES = {
    ("in", 0.8): 0.075,
    ("in", 0.9): 0.054,
    ("in", 1.0): 0.020,
    ("out", 0.8): 0.072,
    ("out", 0.9): 0.042,
    ("out", 1.0): 0.010,
}
"""Error of the three-layer GPT-2 at l = 20 by domain and alpha'."""

ATTENTION = ((0.52, 0.85), (0.43, 0.77), (0.43, 0.88))
"""Attention to the query's ODR pattern in layers 1, 2, 3 of the GPT-2: at the start and at the end of training."""


ATTENTION_STEPS, ATTENTION_COURSE = (0, 120, 200), (0.43, 0.98, 1.0)
"""The one-layer model's attention to the query's pattern out of domain, against epochs."""

PRUNED_SHARES = (0.0, 0.05, 0.10, 0.16, 0.20, 0.25, 0.30, 0.35, 0.40)

PRUNED = {
    "slides, by magnitude": (7e-3, 5.3e-3, 5.8e-3, 6.3e-3, 8.5e-3, 1.1e-2, 1.8e-2, 2.3e-2, 3e-2),
    "slides, random": (7e-3, 8e-3, 1.1e-2, 1.5e-2, 1.8e-2, 2.6e-2, 2.9e-2, 3.8e-2, 4.5e-2),
}
"""Error out of domain of the one-layer model over the share of deleted neurons."""

PRUNED_BY_SHARE = {0.6: 0.03, 0.8: 0.0105, 1.0: 0.0072}
"""The same with 40% of the neurons deleted, by alpha'."""

ROW_LENGTHS = {"small": (0.14, 0.18), "large": (0.48, 0.51)}
"""Least and greatest length of the rows of W_O in the two groups."""

PROJECTED = (0.40, 1.75)
"""Length of a projected pattern at the start and at the end of training."""

PROJECTED_ENDS = (PROJECTED[1], 1.45)
"""The same at the end of training, and of a projected pattern's part along itself."""

ENDS = {
    "feature_angle": math.pi / 8,
    "label_angle_plus": math.pi / 7,
    "label_angle_minus": 6 * math.pi / 7,
    "feature_norm": 0.42,
    "label_norm": 1.2,
}
"""Where the curves of the rows' angles and lengths end."""

QUOTED = {
    "L12f": (PRUNED["slides, by magnitude"][-1] / 7e-3, PRUNED["slides, random"][-1] / 7e-3),
    "L12i": (PRUNED_BY_SHARE[0.8] / PRUNED_BY_SHARE[0.6], PRUNED_BY_SHARE[1.0] / PRUNED_BY_SHARE[0.8]),
    "L14": (PROJECTED[0] / PROJECTED[1],),
    "L17b": (SUMS[0.5][-1] / SUMS[0.5][0],),
    "L17c": (SHARES["in", 1.0] / SHARES["in", 0.8], SHARES["out", 1.0] / SHARES["out", 0.8]),
    "L18": (min(end - start for start, end in ATTENTION),),
    "L19": (SUMS[0.5][-1] - SUMS[1.1][-1],),
    **dict.fromkeys(("L19b", "L19c"), (round(SUMS[0.5][-1] / SUMS[1.1][-1]) ** 0.5,)),
    "L20": (LEARNERS[0.6, "logistic"][0] / LEARNERS[0.6, "ICL"][0], LEARNERS[0.6, "logistic"][-1] / LEARNERS[0.6, "ICL"][-1]),
    "L20b": tuple(LEARNERS[0.8, "logistic"][k] / LEARNERS[0.8, "ICL"][k] for k in range(3)),
}
"""What claims make of these points and quote, by claim."""


def learner_points(alpha: float, learner: str, lengths: tuple[int, ...]) -> list[float]:
    """Return a learner's points at some lengths, NaN where none was read."""
    points = dict(zip(LENGTHS, LEARNERS.get((alpha, learner), ()), strict=False))
    return [float("nan") if points.get(l) is None else points[l] for l in lengths]


def pruned_points() -> dict[str, xr.Variable]:
    """Return the errors after deletion over the share of deleted neurons, by order."""
    points = variable(
        "plot deleted_share", list(PRUNED.values()), "0-1 error after deletion, read off the authors' slides by eye"
    )
    return {
        "slides_pruned": points,
        "plot": xr.Variable("plot", list(PRUNED)),
        "deleted_share": xr.Variable("deleted_share", np.array(PRUNED_SHARES)),
    }


def sum_points(S_1: float, l: int) -> float:
    """Return the GPT-2's error at S_1 and length l, NaN where none was read."""
    points = dict(zip(SUMS_LENGTHS, SUMS.get(S_1, ()), strict=False))
    return points.get(l, float("nan"))
