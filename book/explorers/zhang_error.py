"""The error of trained linear attention over lengths, dimension, spectrum and a scale of the inputs (Zhang et al. 4.1, 4.2)."""

import numpy as np

from book.explorers.controls import Choice, Slider, State
from book.explorers.explorer import Explorer, Parts, Values, preset, swatch
from book.explorers.plane import Axis, Plane, number, path, ring
from icl_lib.companion.html import template
from papers.regression.theory.least_squares import least_squares_error
from papers.zhang.theory import shifts

LENGTHS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
PLANE = Plane(
    Axis(1, 1000, 40, 345, (1, 10, 100, 1000), log=True),
    Axis(0, 2, 225, 30, (0, 0.5, 1, 1.5, 2), "error, in units of the error of predicting 0"),
)
GRID = np.geomspace(1, 1000, 61).round(6)
"""The lengths at which curves are drawn."""


def covariance(d: int, kappa: float) -> np.ndarray:
    """Return a diagonal covariance with eigenvalues in geometric progression, condition number kappa and trace d."""
    eigenvalues = np.geomspace(1, 1 / kappa, int(d))
    return np.diag(d / eigenvalues.sum() * eigenvalues)


def values(state: State) -> Values:
    """Return the error, its two terms and that of least squares, each over the error of predicting 0."""
    N, M, d, kappa, c = (state[name] for name in ("N", "M", "d", "kappa", "c"))
    Lambda = covariance(d, kappa)
    test = c**2 * Lambda
    error, bias = (shifts.averaged_shift_error(Lambda, N, length, test, test) / np.trace(test) for length in (M, np.inf))
    found = {"error": error, "bias": bias, "variance": error - bias}
    if kappa == 1 or d <= M:  # 0 from d examples on; below that only isotropic inputs have a formula
        found["least_squares"] = least_squares_error(int(d), M, 0.0)
    return found


def parts(state: State) -> Parts:
    """Return curves over the chosen length, the two terms as areas under them, the present point and the numbers."""
    over, found = state["over"], values(state)
    lines = [values({**state, over: length}) for length in GRID]
    zero = [PLANE(length, 0) for length in GRID]
    bias, total, least = ([PLANE(x, line.get(key, np.nan)) for x, line in zip(GRID, lines, strict=True)] for key in CURVES)
    x, y = PLANE(state[over], min(found["error"], 2))
    other = "N" if over == "M" else "M"
    equal = PLANE.x(state[other])
    return {
        "bias": {"d": path(bias + zero[::-1]) + "Z"},
        "variance": {"d": path(total + bias[::-1]) + "Z"},
        "error": {"d": path(total)},
        "least": {"d": path(least)},
        "now": {"d": ring(x, y, 5.5)},
        "equal": {"d": f"M{equal:.1f} 225V30"},
        "equal-label": {"x": f"{equal + (4 if equal < 290 else -42):.1f}", "text": "N = M"},
        "across": {"text": ACROSS[over]},
        "reading": {"text": reading(state, found)},
        "n-zero": {"text": "1"},
    } | {f"n-{name}": {"text": number(found[name]) if name in found else "no formula"} for name in (*CURVES, "variance")}


CURVES = ("bias", "error", "least_squares")
ACROSS = {"N": "N, length of the training prompts", "M": "M, length of the test prompt"}


def reading(state: State, found: Values) -> str:
    """Return what the picture says."""
    error = found["error"]
    says = f"At N = {number(state['N'])}, M = {number(state['M'])} linear attention has {number(error)} times the error of "
    says += "predicting 0" + (", so it is worse than that." if error > 1 else ".")
    if "least_squares" not in found:
        return says + " Below M = d, least squares has a formula for κ = 1 only."
    return says + f" Least squares has {number(found['least_squares'])}."


EXPLORER = Explorer(
    name="zhang-error",
    title="The error of linear attention, in closed form",
    tries=(
        f"{preset('Set N = M', N=20, M=20, over='N')}, then {preset('make the training prompts longer', N=1000, over='N')}: "
        f"the error rises. {preset('Stretch the test inputs', c=1.5)}, and it can exceed that of predicting 0."
    ),
    note=(
        "Mean over tasks <i>w</i> ~ N(0, <i>I</i>), labels without noise. The eigenvalues of Λ are in geometric progression, "
        "with trace <i>d</i>. Test inputs, context and query, are scaled by <i>c</i>; training is not."
    ),
    controls=(
        Choice("over", "curve over", {"N": "<i>N</i>", "M": "<i>M</i>"}, "N"),
        Slider("N", "<i>N</i>, training length", LENGTHS, 100),
        Slider("M", "<i>M</i>, test length", LENGTHS, 20),
        Slider("d", "<i>d</i>, dimension", (1, 2, 3, 5, 7, 10, 15, 20, 30, 40), 10),
        Slider("kappa", "<i>κ</i>, condition number", (1, 2, 3, 5, 10, 20, 50, 100), 5),
        Slider("c", "<i>c</i>, scale of the test inputs", (0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2), 1),
    ),
    planes={"plane": PLANE},
    skeleton=template(
        """
<svg viewBox="0 0 360 262" role="img" aria-labelledby="zhang-error-picture" aria-describedby="zhang-error-reading">
<title id="zhang-error-picture">Error of linear attention over a prompt length, split into bias and variance</title>
<clipPath id="zhang-error-frame"><rect x="40" y="30" width="305" height="196"/></clipPath>
{{ planes["plane"].svg() }}
<g clip-path="url(#zhang-error-frame)">
{{ put("path", "bias", "area pale s1") }}
{{ put("path", "variance", "area pale s0") }}
{{ put("path", "equal", "thin dashed quiet") }}
<path class="line s3" d="M40 127.5H345"/>
{{ put("path", "least", "line s2") }}
{{ put("path", "error", "line s0") }}
</g>
<g transform="translate(0 43)">{{ put("text", "equal-label") }}</g>
{{ put("path", "now", "dot s0") }}
<g transform="translate(345 258)" text-anchor="end">{{ put("text", "across", "label") }}</g>
</svg>"""
    ),
    numbers={
        "n-error": f"{swatch('line s0')}linear attention",
        "n-variance": f"{swatch('area pale s0')}its variance part",
        "n-bias": f"{swatch('area pale s1')}its bias part",
        "n-least_squares": f"{swatch('line s2')}least squares",
        "n-zero": f"{swatch('line s3')}predicting 0",
    },
    parts=parts,
)
