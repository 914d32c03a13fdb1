"""The flow of the full loss towards the optimum or a local minimum, with the border between them (Zhang et al. 5.3)."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy import ndarray

from book.explorers.controls import Choice, Point, State
from book.explorers.explorer import Explorer, Parts, Values, preset
from book.explorers.plane import Axis, Plane, number, path
from icl_lib.companion.html import template
from papers.zhang.flow import gradient_flow
from papers.zhang.theory import full_loss, optimum, rank_one_trap

PLANE = Plane(
    Axis(0, 1.6, 42, 345, (0, 0.4, 0.8, 1.2, 1.6), "u₋₁, value weight on the label"),
    Axis(-0.5, 1, 300, 30, (-0.5, 0, 0.5, 1), "u₁₂ · u₂₁"),
)
APART = 2.5
"""Points of a drawn path that are nearer to the one before are left out."""
LAMBDA = np.diag([2.0, 1.0])
TIMES = np.r_[0.0, np.geomspace(1e-3, 80.0, 300)]
"""At which a flow is drawn; the last is its end."""
ARRIVED = 1.01
"""A flow has arrived when its loss is below 1.01 L*, as on the page."""
STORED = Path(__file__).with_name("zhang_basins.json")


def start(N: int, s: float, product: float) -> ndarray:
    """Return the balanced start with U_11 = s Gamma^-1/||Gamma^-1||, u_12 = sqrt|product| e_1 and u_21 = +-u_12."""
    inverse, root = np.linalg.inv(optimum.Gamma(LAMBDA, N)), abs(product) ** 0.5
    U = np.diag([0.0, 0.0, s])
    U[:2, :2] = s * inverse / np.linalg.norm(inverse)
    U[0, 2], U[2, 0] = root, np.sign(product) * root
    return U


def flow(N: int, U: ndarray) -> ndarray:
    """Return the flow of the full loss from U at TIMES; the script has it on the slice that the starts lie in."""

    def down(theta: ndarray) -> ndarray:
        return -full_loss.full_gradient(LAMBDA, N, theta.reshape(3, 3)).ravel()

    return gradient_flow(down, U.ravel(), TIMES, rtol=1e-7, atol=1e-9).reshape(-1, 3, 3)


def loss(N: int, U: ndarray) -> float:
    """Return the full loss over its minimum."""
    return float(full_loss.full_loss(LAMBDA, N, U)) / optimum.loss_minimum(LAMBDA, N)


@cache
def stored() -> dict[str, dict]:
    """Return what ``make`` has stored, by N: the border, the local minimum and its loss over L*; and the optimum."""
    found = json.loads(STORED.read_text(encoding="utf-8"))
    inverse = {N: np.linalg.inv(optimum.Gamma(LAMBDA, int(N))) for N in found}
    return {N: each | {"optimum": [round(float(np.linalg.norm(inverse[N]) ** 0.5), 4), 0]} for N, each in found.items()}


def values(state: State) -> Values:
    """Return the loss over its minimum at both ends of the flow, and where it ends."""
    return ends(int(state["N"]), followed(state))


def followed(state: State) -> ndarray:
    """Return the flow from the start."""
    return flow(int(state["N"]), start(int(state["N"]), *state["start"]))


def ends(N: int, points: ndarray) -> Values:
    """Return the values at the ends of a flow."""
    (u_last, product), last = place(points[-1]), points[-1]
    return {"before": loss(N, points[0]), "after": loss(N, last), "u_last": u_last, "product": product}


def place(U: ndarray) -> tuple[float, float]:
    """Return where parameters lie in the plane."""
    return float(U[2, 2]), float(U[0, 2] * U[2, 0])


def parts(state: State) -> Parts:
    """Return the basin, the path with its end, both minima and the numbers."""
    N, points = state["N"], followed(state)
    known, found = stored()[N], ends(int(N), points)
    border = [PLANE(*each) for each in known["border"]]
    (u, v), (u_least, v_least) = (PLANE(*known[name]) for name in ("trap", "optimum"))
    way = [PLANE(*place(U)) for U in points]
    return {
        "basin": {"d": path([*border, PLANE(0, 1)]) + "Z"},
        "border": {"d": path(border)},
        "path": {"d": path(thinned(way))},
        "end": {"cx": f"{way[-1][0]:.1f}", "cy": f"{way[-1][1]:.1f}", "r": 4},
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
    if found["after"] < ARRIVED:
        return "From here the flow reaches the optimum."
    if abs(found["after"] / trap_loss - 1) < 0.01:
        return f"From here the flow ends in a local minimum. Its loss is {number(found['after'])} times the least."
    late = f"At time {number(TIMES[-1])} the flow from here is at neither end."
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


def trap(N: int) -> ndarray:
    """Return the local minimum that is not global: the rank-one point, or where a flow ends if that is a saddle."""
    if rank_one_trap.trap_margin(LAMBDA, N) > 0:
        return rank_one_trap.rank_one_point(LAMBDA, N)
    return flow(N, flow(N, start(N, 0.3, 0.7))[-1])[-1]


def border(N: int, product: float) -> float:
    """Return the least u_-1 from which the flow arrives, by bisection."""
    low, high = 0.0, PLANE.x.high
    for _ in range(8):
        middle = (low + high) / 2
        arrived = loss(N, flow(N, start(N, middle, product))[-1]) < ARRIVED
        low, high = (low, middle) if arrived else (middle, high)
    return (low + high) / 2


def make(lengths: tuple[int, ...] = (2, 10, 50)) -> None:
    """Compute borders and local minima, and store them."""
    products, found = np.linspace(0, 1, 21) ** 2, {}
    for N in lengths:
        at = trap(N)
        found[str(N)] = {
            "border": [[round(border(N, q), 3), round(float(q), 4)] for q in products],
            "trap": [round(each, 4) for each in place(at)],
            "trap_loss": round(loss(N, at), 5),
        }
    STORED.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make()
