"""Where the attention goes and where the rows of W_O W_V point, step by step of training (section 4 of Li et al.)."""

from functools import cache

import numpy as np
import xarray as xr

from book.explorers.controls import Choice, Slider, State
from book.explorers.explorer import Explorer, Parts, Values, preset
from book.explorers.plane import Axis, Plane, dots, number, path, ring
from icl_lib.companion import results
from icl_lib.companion.html import template
from papers import BOOK

SETTINGS = {"A": "A", "B": "B", "half": "half of the patterns"}
"""The settings by their short names, and as the stored result has them."""
OPTIONS = {"A": "setting A", "B": "setting B", "half": "half of the patterns"}
UNIT = 200
"""Responses are kept as their square root times this, with their sign, in whole numbers."""
CELL, CORNER = 25, (21, 36)
"""Width of one pair of patterns in the map, and where the map begins."""
REACH = 0.65
ROWS = Plane(Axis(-REACH, REACH, 200, 350), Axis(-REACH, REACH, 186, 36))


@cache
def stored() -> dict:
    """Return the steps, and by setting what the script needs of the stored result."""
    dataset = results.load(BOOK.result("li-training-map"))
    cells = {short: _stored(dataset.sel(setting=name)) for short, name in SETTINGS.items()}
    return {"steps": dataset.step.values.tolist(), **cells}


def _stored(cell: xr.Dataset) -> dict:
    return {
        "scores": cell.scores.values.round(2).reshape(cell.sizes["step"], -1).tolist(),
        "phi": _rooted(cell.feature_response),
        "lam": _rooted(cell.label_response),
        "on": cell["rows"].values.tolist(),
        "mass": cell.mass.mean("seed").values.round(4).tolist(),
        "hinge": cell.hinge.mean("seed").values.round(4).tolist(),
    }


def _rooted(values: xr.DataArray) -> list[list[int]]:
    return (np.sign(values) * np.sqrt(abs(values)) * UNIT).values.round().astype(int).tolist()


STEPS = tuple(stored()["steps"])
COURSE = Plane(Axis(0, len(STEPS) - 1, 34, 338), Axis(0, 1, 344, 262, (0, 0.5, 1)))
"""One place a step of the slider, not a scale."""


def attention(scores: np.ndarray) -> np.ndarray:
    """Return the softmax over contexts, one of each pattern: context pattern (rows) by query pattern (columns)."""
    weight = np.exp(scores - scores.max(0))
    return weight / weight.sum(0)


def values(state: State) -> Values:
    """Return the attention on the query's own pattern, the largest and the smallest over patterns, and the means."""
    cell, k = stored()[state["setting"]], STEPS.index(state["step"])
    own = np.diagonal(attention(np.reshape(cell["scores"][k], (6, 6))))
    right, both, wrong, neither = cell["on"][k]
    found = dict(most=float(own.max()), least=float(own.min()), mass=cell["mass"][k], hinge=cell["hinge"][k])
    return found | dict(right=right, both=both, wrong=wrong, neither=neither)


def parts(state: State) -> Parts:
    """Return the map, the rows, the course and the numbers."""
    cell, k = stored()[state["setting"]], STEPS.index(state["step"])
    found = values(state)
    places = [ROWS(u / UNIT, v / UNIT) for u, v in zip(cell["phi"][k], cell["lam"][k], strict=True)]
    lines = {
        f"{name}-line": {"d": path(COURSE(place, value) for place, value in enumerate(cell[name]))}
        for name in ("mass", "hinge")
    }
    lines |= {f"{name}-now": {"d": ring(*COURSE(k, found[name]), 5)} for name in ("mass", "hinge")}
    return (
        lines
        | squares(attention(np.reshape(cell["scores"][k], (6, 6))))
        | {
            "plus": {"d": dots(places[::2])},
            "minus": {"d": dots(places[1::2])},
            "cursor": {"d": f"M{COURSE.x(k):.1f} 262V344"},
            "mass": {"text": percent(found["mass"])},
            "hinge": {"text": number(found["hinge"])},
            **{name: {"text": str(found[name])} for name in ("right", "both", "wrong", "neither")},
            "reading": {"text": reading(state, found)},
        }
    )


def squares(share: np.ndarray) -> Parts:
    """Return the map: a square a pair of patterns, its area by the attention; those of the query's own apart."""
    found = {"map-own": "", "map-other": ""}
    for (key, query), part in np.ndenumerate(share):
        half = (CELL - 1) / 2 * part**0.5
        x, y = CORNER[0] + (query + 0.5) * CELL - half, CORNER[1] + (key + 0.5) * CELL - half
        side = 2 * half
        found["map-own" if key == query else "map-other"] += f"M{x:.1f} {y:.1f}h{side:.1f}v{side:.1f}h{-side:.1f}z"
    return {name: {"d": d} for name, d in found.items()}


def percent(share: float) -> str:
    """Return a share as whole per cent."""
    return f"{100 * share:.0f}%"


def reading(state: State, found: Values) -> str:
    """Return what the picture says."""
    least, most = percent(found["least"]), percent(found["most"])
    span = (f"{least} to {most}" if least != most else most) + " of the attention"
    if state["setting"] == "half" and least != most:
        span = f"{most} of the attention where a task names the pattern and {least} where none does"
    told = OPTIONS[state["setting"]]
    return (
        f"Step {state['step']}, {told}: among six contexts, one of each pattern, the one with the query’s pattern gets {span}. "
        f"{found['right']} of the 100 rows are active at their right label only."
    )


SKELETON = template(
    """
<svg viewBox="0 0 360 385" role="group" aria-labelledby="li-training-map-picture">
<title id="li-training-map-picture">Attention between patterns, the rows of the MLP in the plane of feature and label \
response, and attention and hinge loss over the steps</title>
<text class="label" x="21" y="14">attention</text><text x="21" y="30">query pattern 1 to 6</text>
<text transform="translate(14 186) rotate(-90)">context pattern 6 to 1</text>
{% for k in range(7) %}
<path class="grid" d="M21 {{ 36 + 25 * k }}h150M{{ 21 + 25 * k }} 36v150"/>
{% endfor %}
{{ put("path", "map-own", "area s0") }}{{ put("path", "map-other", "area s1") }}
<rect class="area s0" x="21" y="197" width="10" height="10"/><text x="35" y="206">same</text>
<rect class="area s1" x="81" y="197" width="10" height="10"/><text x="95" y="206">another</text>
<text class="label" x="200" y="14">rows, on a √ scale</text><text x="200" y="30">up: label response λ</text>
<path class="grid" d="M200 36h150v150h-150zM200 36l150 150M200 186l150 -150"/>
<text x="268" y="49" text-anchor="middle">at +q only</text><text x="268" y="181" text-anchor="middle">at −q only</text>
<text x="346" y="115" text-anchor="end">both</text><text x="204" y="115">neither</text>
<g stroke="currentColor" stroke-width="5" fill="none" opacity="0.8">
<g stroke-linecap="round">{{ put("path", "plus", "s2") }}<path class="s2" d="M205 219h0"/></g>
<g stroke-linecap="square">{{ put("path", "minus", "s3") }}<path class="s3" d="M256 219h0"/></g></g>
<text x="350" y="203" text-anchor="end">across: feature response φ</text>
<text x="212" y="223">a &gt; 0</text><text x="263" y="223">a &lt; 0</text>
<path class="line s0" d="M34 247h22"/><text class="s0" x="61" y="251">attention on the same</text>
<path class="line s1" d="M232 247h22"/><text class="s1" x="259" y="251">hinge</text>
{{ planes.course.svg() }}
{% for place, step in steps[::2] %}
<text x="{{ "%.1f" % planes.course.x(place) }}" y="360" text-anchor="middle">{{ step }}</text>
{% endfor %}
<text class="label" x="350" y="376" text-anchor="end">training step</text>
{{ put("path", "cursor", "thin ink") }}{{ put("path", "mass-line", "line s0") }}{{ put("path", "hinge-line", "line s1") }}
<g stroke="currentColor" stroke-width="2" fill="none">
{{ put("path", "mass-now", "s0") }}{{ put("path", "hinge-now", "s1") }}</g>
</svg>"""
)
SKELETON.globals["steps"] = list(enumerate(STEPS))

EXPLORER = Explorer(
    name="li-training-map",
    title="Rows and attention, step by step",
    tries=(
        "In setting A, move the step from 0 to 20: most rows take their side. The attention moves between 35 and 45. "
        f"With {preset('half of the patterns', setting='half', step=1000)} in the tasks it never does for the others."
    ),
    note=(
        "Map and rows: the first network, and one context of each pattern. Curves, and the numbers of attention and hinge: "
        "means over all networks, attention on prompts of 20 contexts."
    ),
    controls=(
        Slider("step", "training step", STEPS, 40),
        Choice("setting", "trained on", OPTIONS, "A"),
    ),
    planes={"rows": ROWS, "course": COURSE},
    skeleton=SKELETON,
    numbers={
        "mass": "attention on the query's pattern",
        "hinge": "hinge loss, unseen tasks",
        "right": "rows active at right label only",
        "both": "at both",
        "wrong": "at wrong label only",
        "neither": "at neither",
    },
    parts=parts,
    stored=stored,
)
