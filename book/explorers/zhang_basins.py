"""The flow of the full loss towards the optimum or a local minimum, with the border between them (Zhang et al. 5.3)."""

from functools import cache

import numpy as np

from book.explorers import zhang_slice
from book.explorers.controls import Choice, Point, State
from book.explorers.explorer import Explorer, Parts, Values, preset
from book.explorers.plane import Axis, Plane, number, path
from icl_lib.companion.html import template
from papers.zhang.theory import optimum

PLANE = Plane(
    Axis(0, 1.6, 42, 345, (0, 0.4, 0.8, 1.2, 1.6), "u₋₁, value weight on the label"),
    Axis(-0.5, 1, 300, 30, (-0.5, 0, 0.5, 1), "u₁₂ · u₂₁"),
)
APART = 2.5
"""Points of a drawn path that are nearer to the one before are left out."""
LAMBDA = zhang_slice.LAMBDA


@cache
def stored() -> dict[str, dict]:
    """Return borders and local minima by N, and the optimum's u_-1 besides."""
    inverse = {N: np.linalg.inv(optimum.Gamma(LAMBDA, int(N))) for N in zhang_slice.stored()}
    found = zhang_slice.stored().items()
    return {N: each | {"optimum": [round(float(np.linalg.norm(inverse[N]) ** 0.5), 4), 0]} for N, each in found}


def values(state: State) -> Values:
    """Return the loss over its minimum at both ends of the flow, and where it ends."""
    return ends(int(state["N"]), followed(state))


def followed(state: State) -> list[zhang_slice.Point]:
    """Return the points of the flow."""
    N = int(state["N"])
    return zhang_slice.flow(N, zhang_slice.Point(*map(float, zhang_slice.start(N, *state["start"]))))


def ends(N: int, points: list[zhang_slice.Point]) -> Values:
    """Return the values at the ends of a flow."""
    first, last = points[0], points[-1]
    losses = {name: float(zhang_slice.loss(N, at)) for name, at in (("before", first), ("after", last))}
    return losses | {"u_last": float(last.s), "product": float(last.p * last.r)}


def parts(state: State) -> Parts:
    """Return the basin, the path with its end, both minima and the numbers."""
    N, points = state["N"], followed(state)
    known, found = stored()[N], ends(int(N), points)
    border = [PLANE(*each) for each in known["border"]]
    (u, v), (u_least, v_least) = (PLANE(*known[name]) for name in ("trap", "optimum"))
    x, y = zip(*(PLANE(at.s, at.p * at.r) for at in points), strict=True)
    return {
        "basin": {"d": path([*border, PLANE(0, 1)]) + "Z"},
        "border": {"d": path(border)},
        "path": {"d": path(thinned(list(zip(x, y, strict=True))))},
        "end": {"cx": f"{x[-1]:.1f}", "cy": f"{y[-1]:.1f}", "r": 4},
        "trap": {"d": f"M{u - 5:.1f} {v - 5:.1f}l10 10m-10 0l10 -10"},
        "trap-name": {"x": f"{u + 10:.1f}", "y": f"{v - 16:.1f}", "text": "local minimum"},
        "optimum": {"d": f"M{u_least - 7:.1f} {v_least:.1f}l7 -7l7 7l-7 7Z"},
        "optimum-name": {"x": f"{u_least:.1f}", "y": f"{v_least + 23:.1f}", "text": "optimum"},
        "reading": {"text": reading(found, known["trap_loss"])},
    } | {name: {"text": number(found[name])} for name in ("before", "after", "u_last", "product")}


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points of a path that lie apart, and its last one."""
    kept = [points[0]]
    for each in points:
        if np.hypot(each[0] - kept[-1][0], each[1] - kept[-1][1]) > APART:
            kept.append(each)
    return [*kept, points[-1]]


def reading(found: Values, trap_loss: float) -> str:
    """Return what the picture says."""
    if found["after"] < zhang_slice.ARRIVED:
        return "From here the flow reaches the optimum."
    if abs(found["after"] / trap_loss - 1) < 0.01:
        return f"From here the flow ends in a local minimum. Its loss is {number(found['after'])} times the least."
    late = f"At time {number(zhang_slice.TIME)} the flow from here is at neither end."
    return f"{late} Its loss is then {number(found['after'])} times the least."


EXPLORER = Explorer(
    name="zhang-basins",
    title="Two ends of gradient flow",
    tries=(
        f"Drag the start across the border: with more u₁₂ · u₂₁ the flow ends in {preset('a local minimum', start='0.7,0.7')}. "
        f"{preset('Longer prompts', N=50)} hardly move the border."
    ),
    note=(
        "Λ = diag(2, 1). The start has <i>u</i><sub>12</sub> = ±<i>u</i><sub>21</sub> along the first axis, and "
        "<i>U</i><sub>11</sub> along Γ<sup>−1</sup> with ‖<i>U</i><sub>11</sub>‖ = <i>u</i><sub>−1</sub>. Shaded: starts from "
        "which the flow does not arrive. On its way <i>U</i><sub>11</sub> turns, so the path may be drawn over the border."
    ),
    controls=(
        Point("start", "start of the flow: u₋₁ and u₁₂ · u₂₁", "plane", (1.3, 0.8), 0.05),
        Choice("N", "<i>N</i>, length of the training prompts", {"2": "2", "10": "10", "50": "50"}, "2"),
    ),
    planes={"plane": PLANE},
    skeleton=template(
        """
<svg viewBox="0 0 360 335" role="group" aria-labelledby="zhang-basins-picture">
<title id="zhang-basins-picture">Path of gradient flow from a start that can be moved, and where flows end</title>
<clipPath id="zhang-basins-frame"><rect x="42" y="30" width="303" height="270"/></clipPath>
{{ put("path", "basin", "area pale s1") }}
{{ planes["plane"].svg() }}
<g clip-path="url(#zhang-basins-frame)">
{{ put("path", "border", "line s1") }}
{{ put("path", "path", "line ink") }}
</g>
{{ put("path", "trap", "line s1 solid") }}{{ put("text", "trap-name", "s1") }}
{{ put("path", "optimum", "area s2") }}<g text-anchor="middle">{{ put("text", "optimum-name", "s2") }}</g>
{{ put("circle", "end", "end") }}
{{ handle("start", "ink") }}
</svg>"""
    ),
    numbers={
        "before": "loss over the least, start",
        "after": "loss over the least, end",
        "u_last": "<i>u</i><sub>−1</sub> at the end",
        "product": "<i>u</i><sub>12</sub> · <i>u</i><sub>21</sub> at the end",
    },
    parts=parts,
    stored=stored,
    tolerance=1e-3,
)
