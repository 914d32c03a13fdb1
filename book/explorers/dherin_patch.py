"""The rank-1 patch of one query in the plane, and what it does to another query (section 2 of Dherin et al.)."""

import numpy as np

from book.explorers.controls import Point, State
from book.explorers.explorer import Explorer, Parts, Values, preset, swatch
from book.explorers.plane import Axis, Plane, arrow, number, path, ring
from icl_lib.companion.html import template
from papers.dherin.theory import contextual_blocks

VECTORS = Plane(Axis(-3, 3, 20, 340), Axis(-2.4, 2.4, 266, 10))
GROWTH = Plane(
    Axis(0, 3, 40, 340, (0, 1, 2, 3), "length of A(x), its direction kept"),
    Axis(0.1, 100, 385, 310, (0.1, 1, 10, 100), "norm of ΔW", log=True),
)
W = np.eye(2)
"""The matrix, so that what it reads and what it gives lie in one plane."""
LENGTHS = np.linspace(0.02, 3, 75)


def values(state: State) -> Values:
    """Return the patch, its norm, and what it adds at the other query against what the context adds."""
    a, full, other = (np.array(state[name], float) for name in ("a", "full", "other"))
    if not a.any():
        return dict.fromkeys(("W11", "W12", "W21", "W22", "norm", "share", "miss"), np.inf)
    Delta = contextual_blocks.contextual_vector(full, a)
    update = contextual_blocks.update(W, Delta, a)
    added = contextual_blocks.swapped(W, Delta, a, other) - W @ other
    entries = {f"W{i + 1}{j + 1}": update[i, j] for i in range(2) for j in range(2)}
    norm, miss = contextual_blocks.update_norm(W, Delta, a), float(np.linalg.norm(W @ Delta - added))
    return entries | {"norm": norm, "share": other @ a / (a @ a), "miss": miss}


def growth(a: np.ndarray, full: np.ndarray) -> list[tuple[float, float]]:
    """Return the norm of the patch over the length of a, in the direction of a."""
    direction = a / np.linalg.norm(a)
    return [(t, contextual_blocks.update_norm(W, full - t * direction, t * direction)) for t in LENGTHS]


def parts(state: State) -> Parts:
    """Return the arrows, the line on which the patch is right, the norm's curve and the numbers."""
    found = values(state)
    a, full, other = (np.array(state[name], float) for name in ("a", "full", "other"))
    drawn = {
        "arrow-a": arrow(VECTORS, (0, 0), a, 7),
        "arrow-full": arrow(VECTORS, (0, 0), full, 7),
        "arrow-other": arrow(VECTORS, (0, 0), other, 7),
        "added": arrow(VECTORS, a, full),
        "name-a": {"text": "A(x)", **beside(a, full)},
        "name-full": {"text": "A(C, x)", **beside(full, a)},
        "name-other": {"text": "A(x′)", **beside(other, other + full - a)},
        "reading": {"text": reading(found)},
        "context": {"text": "Δ"},
    }
    if a.any():
        return drawn | patched(found, a, full, other)
    drawn |= dict.fromkeys(("row-1", "row-2", "norm", "share", "miss"), {"text": "none"})
    return drawn | dict.fromkeys(("wanted", "got", "right", "curve", "now"), {"d": ""})


def patched(found: Values, a: np.ndarray, full: np.ndarray, other: np.ndarray) -> Parts:
    """Return the parts that there are when a is not 0."""
    size, shown = np.linalg.norm(a), np.clip(found["share"], -20, 20) * (full - a)
    right = [a + end * np.array([-a[1], a[0]]) / size for end in (-9, 9)]
    x, y = GROWTH(min(size, 3), min(max(found["norm"], 0.1), 100))
    return {
        "row-1": {"text": row(found, 1)},
        "row-2": {"text": row(found, 2)},
        "norm": {"text": number(found["norm"])},
        "share": {"text": f"{number(found['share'])} Δ"},
        "miss": {"text": number(found["miss"])},
        "wanted": arrow(VECTORS, other, other + full - a),
        "got": arrow(VECTORS, other, other + shown),
        "right": {"d": path(VECTORS(*end) for end in right)},
        "curve": {"d": path(GROWTH(t, min(max(norm, 0.1), 100)) for t, norm in growth(a, full))},
        "now": {"d": ring(x, y, 5)},
    }


def beside(tip: np.ndarray, away: np.ndarray) -> dict[str, str]:
    """Return where the name of a point stands: on the side that another point is not on."""
    x, y = VECTORS(*tip)
    return {"x": f"{x:.1f}", "y": f"{y + (22 if away[1] > tip[1] else -13):.1f}"}


def row(found: Values, i: int) -> str:
    """Return one row of the patch."""
    return f"({number(found[f'W{i}1'])}, {number(found[f'W{i}2'])})"


def reading(found: Values) -> str:
    """Return what the picture says."""
    if not np.isfinite(found["norm"]):
        return "At A(x) = 0 there is no patch: every matrix sends 0 to 0."
    return (
        f"ΔW has norm {number(found['norm'])}. For x it is exact. For x′ it adds {number(found['share'])} times what "
        f"the context adds, and misses by {number(found['miss'])}."
    )


EXPLORER = Explorer(
    name="dherin-patch",
    title="One patch, two queries",
    tries=(
        f"Drag A(x) towards 0 ({preset('short', a='0.2,0.1')}), then drag A(x′): the patch of x is right for x′ on the grey "
        f"line only ({preset('put it there', a='1.5,0.5', other='1,2')})."
    ),
    note=(
        "<i>W</i> = <i>I</i>, so that what <i>W</i> reads and gives lie in one plane. Even if the context adds the same "
        "Δ = A(C, x) − A(x) to the other query, the patch of x adds a multiple of it."
    ),
    controls=(
        Point("a", "A(x), what W reads without the context", "vectors", (1.5, 0.5), 0.1),
        Point("full", "A(C, x), what W reads with the context", "vectors", (0.6, 1.9), 0.1),
        Point("other", "A(x′), what W reads for another query", "vectors", (1.2, -1.4), 0.1),
    ),
    planes={"vectors": VECTORS, "growth": GROWTH},
    skeleton=template(
        """
<svg viewBox="0 0 360 418" role="group" aria-labelledby="dherin-patch-picture">
<title id="dherin-patch-picture">Vectors in the plane, and the norm of the patch over the length of A(x)</title>
<clipPath id="dherin-patch-frame"><rect x="0" y="0" width="360" height="276"/></clipPath>
<g clip-path="url(#dherin-patch-frame)">
<path class="grid" d="M20 138H340M180 10V266"/>
{{ put("path", "right", "thin quiet") }}
{{ put("path", "arrow-a", "line s0") }}
{{ put("path", "arrow-full", "line s2 solid") }}
{{ put("path", "arrow-other", "line s1 solid") }}
{{ put("path", "added", "thin s2") }}
{{ put("path", "wanted", "thin s2") }}
{{ put("path", "got", "line s3 solid") }}
</g>
<g text-anchor="middle">
{{ put("text", "name-a", "s0") }}{{ put("text", "name-full", "s2") }}{{ put("text", "name-other", "s1") }}
</g>
{{ handle("a", "s0") }}{{ handle("full", "s2") }}{{ handle("other", "s1") }}
{{ planes["growth"].svg() }}
{{ put("path", "curve", "line s0") }}{{ put("path", "now", "area s0") }}
</svg>"""
    ),
    numbers={
        "row-1": "ΔW, first row",
        "row-2": "second row",
        "norm": f"{swatch('line s0')}norm of ΔW",
        "context": f"{swatch('thin s2')}the context adds",
        "share": f"{swatch('line s3 solid')}the patch, at x′",
        "miss": "distance between the two",
    },
    parts=parts,
)
