"""The least error of a block with and without an MLP's row, over the mean of the tasks, the context's length and the heads."""

import numpy as np

from book.explorers.controls import Choice, Slider, State
from book.explorers.explorer import Explorer, Parts, Values, preset, swatch
from book.explorers.plane import Axis, Plane, number, path, ring
from icl_lib.companion.html import template
from papers.lenses.theory import own_weights

D = 4
ONE = np.eye(D)
OVER = {
    "mu": Plane(Axis(0, 6, 40, 345), Axis(0, 1, 225, 30, (0, 0.25, 0.5, 0.75, 1), "error, in units of that of no answer")),
    "N": Plane(Axis(1, 100, 40, 345, log=True), Axis(0, 1, 225, 30)),
}
"""The plane over each control; what is written below it is a part."""
TICKS = {"mu": (0, 2, 4, 6), "N": (1, 4, 20, 100)}
ACROSS = {"mu": "|μ|, length of the mean of the tasks", "N": "N, examples in the context"}
GRIDS = {"mu": np.linspace(0, 6, 49), "N": np.geomspace(1, 100, 61).round(6)}
CURVES = ("floor", "lower", "upper", "block", "bayes")


def values(state: State) -> Values:
    """Return the floor, both bounds of attention alone, the block's least and Bayes' risk, over the risk of no answer."""
    mu, N, H = (state[name] for name in ("mu", "N", "H"))
    nothing = D + mu**2
    block = own_weights.least_risk(ONE, ONE, 0.0, N) / nothing
    floor = own_weights.floor(N, H, D)
    _, upper = own_weights.without_row(ONE, np.r_[mu, np.zeros(D - 1)], ONE, 0.0, N)
    found = {"floor": floor, "lower": max(floor, block), "upper": upper / nothing, "block": block}
    return found | {"bayes": max(0.0, D - N) / nothing}


def parts(state: State) -> Parts:
    """Return the curves over the chosen control, the bounds as the edges of an area, the present place and the numbers."""
    over, found = state["over"], values(state)
    plane, grid = OVER[over], GRIDS[over]
    lines = [values({**state, over: at}) for at in grid]
    curves = {name: [plane(at, line[name]) for at, line in zip(grid, lines, strict=True)] for name in CURVES}
    now = f"{plane.x(state[over]):.1f}"
    return (
        {name: {"d": path(curve)} for name, curve in curves.items()}
        | {f"n-{name}": {"text": number(found[name])} for name in ("floor", "block", "bayes")}
        | {f"tick-{k}": ticked(over, k) for k in range(len(TICKS[over]))}
        | {
            "between": {"d": path(curves["upper"] + curves["lower"][::-1]) + "Z"},
            "now": {"d": f"M{now} 225V30"},
            "points": {"d": "".join(ring(*plane(state[over], found[name]), 4) for name in ("floor", "block"))},
            "across": {"text": ACROSS[over]},
            "n-between": {"text": between(found)},
            "n-nothing": {"text": "1"},
            "reading": {"text": reading(state, found)},
        }
    )


def ticked(over: str, k: int) -> dict[str, str]:
    """Return one label below the plane."""
    value = TICKS[over][k]
    return {"x": f"{OVER[over].x(value):.1f}", "text": number(value)}


def between(found: Values) -> str:
    """Return both bounds, or one number where they are equal as they are written."""
    low, high = number(found["lower"]), number(found["upper"])
    return low if low == high else f"{low} to {high}"


def reading(state: State, found: Values) -> str:
    """Return what the picture says."""
    heads = "one head" if state["H"] == 1 else f"{number(state['H'])} heads"
    says = f"At |μ| = {number(state['mu'])} and N = {number(state['N'])} the least error of {heads} without the MLP is "
    says += f"{between(found)}, in units of that of no answer, and "
    says += f"{number(found['floor'])} or more for any tasks. With the MLP it is {number(found['block'])}. "
    return says + f"Bayes has {number(found['bayes'])}."


EXPLORER = Explorer(
    name="lenses-floor",
    title="What attention leaves without the MLP",
    tries=(
        f"{preset('Move the mean away', mu=5)}: the block knows it, and its error falls below the floor of attention alone. "
        f"{preset('With four heads', H=4)} the floor is lower; a fifth changes nothing. "
        f"{preset('In long contexts', over='N', N=100)} all errors go to 0."
    ),
    note=(
        "<i>d</i> = 4, Λ = Ψ = <i>I</i>, no noise, all in closed form. <i>The block</i>: its least risk, with the MLP's row. "
        "<i>Attention alone</i>: its least risk lies between two bounds, from below the larger of floor and block, from above "
        "what one head leaves that takes the mean for variance. <i>Its floor</i>: 2/(<i>NH</i> + 2), with <i>d</i> heads for "
        "more; no tasks leave less. <i>Bayes</i>: the least risk of any predictor; it errs where <i>N</i> inputs do not span "
        "the space."
    ),
    controls=(
        Choice("over", "curves over", {"mu": "<span>|<i>μ</i>|</span>", "N": "<i>N</i>"}, "mu"),
        Slider("mu", "|<i>μ</i>|, mean of the tasks", tuple(k / 4 for k in range(25)), 1.0),
        Slider("N", "<i>N</i>, examples", (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100), 10),
        Slider("H", "<i>H</i>, heads", (1, 2, 3, 4, 5, 6), 1),
    ),
    planes=OVER,
    skeleton=template(
        """
<svg viewBox="0 0 360 262" role="img" aria-labelledby="lenses-floor-picture" aria-describedby="lenses-floor-reading">
<title id="lenses-floor-picture">Least errors with and without an MLP, over the mean of the tasks or the examples</title>
{{ planes["mu"].svg() }}
{{ put("path", "between", "area pale s1") }}
{{ put("path", "now", "thin dashed quiet") }}
{{ put("path", "bayes", "line s2") }}
{{ put("path", "lower", "thin s1") }}
{{ put("path", "upper", "line s1") }}
{{ put("path", "floor", "line s3") }}
{{ put("path", "block", "line s0") }}
{{ put("path", "points", "dot ink") }}
<g text-anchor="middle" transform="translate(0 240)">
{% for k in range(4) %}{{ put("text", "tick-%d" % k) }}{% endfor %}
</g>
<g transform="translate(345 258)" text-anchor="end">{{ put("text", "across", "label") }}</g>
</svg>"""
    ),
    numbers={
        "n-between": f"{swatch('area pale s1')}attention alone",
        "n-floor": f"{swatch('line s3')}its floor",
        "n-block": f"{swatch('line s0')}the block",
        "n-bayes": f"{swatch('line s2')}Bayes",
        "n-nothing": "no answer",
    },
    parts=parts,
)
