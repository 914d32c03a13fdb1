"""The one change of weights for all queries, its cut to a query, and a pass of stochastic gradient descent, in the plane."""

import numpy as np

from book.explorers.controls import Point, Slider, State
from book.explorers.explorer import Explorer, Parts, Values, preset, swatch
from book.explorers.plane import Axis, Plane, arrow, number, path
from icl_lib.companion.html import template
from papers.lenses.theory import one_block
from papers.regression import running_example as example
from papers.zhang.theory import optimum

PLANE = Plane(
    Axis(-2, 2, 34, 346, (-2, -1, 0, 1, 2), "first entry, of a query or of a change"),
    Axis(-1.4, 2.2, 306, 25.2, (-1, 0, 1, 2), "second entry"),
)
UNIT = (PLANE.x.end - PLANE.x.start) / (PLANE.x.high - PLANE.x.low)
"""Pixels to a unit, the same in both directions."""
W = np.array([[0.0, 0.0, 1.0]])
"""The first matrix of the MLP reads the label alone, so that a change of it is a row of d numbers."""


def stored() -> dict:
    """Return the context and the covariance of training."""
    return {"x": example.x.tolist(), "y": example.y.tolist(), "spectrum": np.diag(example.Lambda).tolist()}


def values(state: State) -> Values:
    """Return the three changes, and what they answer at both queries; without a direction there is no cut."""
    query, other = (np.array(state[name], float) for name in ("query", "other"))
    Gamma = optimum.Gamma(example.Lambda, int(state["N"]))
    step = one_block.step(W, Gamma, example.x, example.y)
    through = one_block.descents(W, Gamma, example.x, example.y).sum(0)[0]
    cut = one_block.cut(step, np.r_[query, 0.0])[0, :2] if query.any() else np.full(2, np.inf)
    step = step[0, :2]
    found = {"answer": step @ query, "whole": step @ other, "part": cut @ other if query.any() else np.inf}
    for name, row in (("step", step), ("cut", cut), ("pass", through)):
        found |= {f"{name}1": row[0], f"{name}2": row[1]}
    return {name: float(value) for name, value in found.items()}


def parts(state: State) -> Parts:
    """Return the arrows, the circle of all cuts, the changes that are right at the query, and the numbers."""
    found = values(state)
    step, cut, through = ((found[f"{name}1"], found[f"{name}2"]) for name in ("step", "cut", "pass"))
    (x, y), (u, v) = PLANE(step[0] / 2, step[1] / 2), state["query"]
    drawn = {
        "circle": {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": f"{float(np.hypot(*step)) / 2 * UNIT:.1f}"},
        "step": arrow(PLANE, (0, 0), step),
        "pass": arrow(PLANE, (0, 0), through),
        "name-query": named("query", state["query"]),
        "name-other": named("other query", state["other"]),
        "n-step": {"text": row(step)},
        "n-pass": {"text": row(through)},
        "answer": {"text": number(found["answer"])},
        "whole": {"text": number(found["whole"])},
        "reading": {"text": reading(state, found)},
    }
    if not np.isfinite(cut[0]):
        return drawn | dict.fromkeys(("ray", "right", "cut"), {"d": ""}) | dict.fromkeys(("n-cut", "part"), {"text": "none"})
    size = np.hypot(u, v)
    ray = [PLANE(end * u / size, end * v / size) for end in (-5, 5)]
    right = [PLANE(cut[0] - end * v / size, cut[1] + end * u / size) for end in (-5, 5)]
    return drawn | {
        "ray": {"d": path(ray)},
        "right": {"d": path(right)},
        "cut": arrow(PLANE, (0, 0), cut),
        "n-cut": {"text": row(cut)},
        "part": {"text": number(found["part"])},
    }


def named(name: str, at: tuple[float, float]) -> dict[str, str]:
    """Return a name above its point; near an edge it begins or ends there."""
    x, y = PLANE(*at)
    return {"text": name, "x": f"{min(max(x, 70), 306):.1f}", "y": f"{y - 13:.1f}"}


def row(of: tuple[float, float]) -> str:
    """Return a change or a query as a row."""
    return f"({number(of[0])}, {number(of[1])})"


def reading(state: State, found: Values) -> str:
    """Return what the picture says."""
    if not np.isfinite(found["cut1"]):
        return "A query 0 has no direction to cut to, and every change answers it by 0."
    return (
        f"At the query {row(state['query'])} D∗ and its cut both answer {number(found['answer'])}. At the other query "
        f"{row(state['other'])} D∗ answers {number(found['whole'])}, as the context does, and the cut {number(found['part'])}."
    )


EXPLORER = Explorer(
    name="lenses-cut",
    title="One change for all queries, and its cut",
    tries=(
        "Drag the query round: <i>D</i>∗ stays where it is, and the tip of its cut runs on the grey circle. "
        f"{preset('At right angles', query='1,1', other='0.8,-0.8')} the cut answers the other query with 0. "
        f"{preset('Train on long prompts', N=1000)}: the pass falls behind the step."
    ),
    note=(
        "The context has four examples, (1, 1), (1, −1), (2, 0) and (0, 1), with the labels 3, −1, 2, 2 of the task (1, 2), "
        "marked by a cross. <i>D</i>∗ is the one change of linear attention trained on prompts of length <i>N</i> with Λ = "
        "diag(2, 1). Queries and changes, rows, share the plane; a change answers a query by their inner product. On "
        "the dashed line stand all changes that answer the query as <i>D</i>∗ does, and the cut is the shortest of them. The "
        "pass is stochastic gradient descent through the same examples at the same rate."
    ),
    controls=(
        Point("query", "the query that the change is cut to", "plane", (1.0, 1.0), 0.1),
        Point("other", "another query", "plane", (1.2, -0.4), 0.1),
        Slider("N", "<i>N</i>, length of the training prompts", (1, 2, 4, 10, 30, 100, 1000), 4),
    ),
    planes={"plane": PLANE},
    skeleton=template(
        """
<svg viewBox="0 0 360 340" role="group" aria-labelledby="lenses-cut-picture">
<title id="lenses-cut-picture">A change of weights as an arrow, its cut to the query's direction, and two queries</title>
<clipPath id="lenses-cut-frame"><rect x="34" y="25" width="312" height="281"/></clipPath>
{{ planes["plane"].svg() }}
<g clip-path="url(#lenses-cut-frame)">
{{ put("circle", "circle", "thin quiet") }}
{{ put("path", "ray", "grid") }}
{{ put("path", "right", "thin dashed quiet") }}
{{ put("path", "pass", "line s2") }}
{{ put("path", "step", "line s0") }}
{{ put("path", "cut", "line s1 solid") }}
</g>
<path class="line ink" d="M263.5 36.3l9 9m-9 0l9 -9"/>
<g text-anchor="middle">
{{ put("text", "name-query", "s1") }}{{ put("text", "name-other", "s3") }}
</g>
{{ handle("query", "s1") }}{{ handle("other", "s3") }}
</svg>"""
    ),
    numbers={
        "n-step": f"{swatch('line s0')}<i>D</i>∗",
        "n-cut": f"{swatch('line s1 solid')}its cut",
        "n-pass": f"{swatch('line s2')}one pass",
        "answer": "both, at the query",
        "whole": "<i>D</i>∗, at the other query",
        "part": "the cut, at the other query",
    },
    parts=parts,
    stored=stored,
)
