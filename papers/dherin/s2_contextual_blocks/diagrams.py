"""Diagram of section 2: a contextual block with its context, and without it but with the patch."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import diagram
from icl_lib.companion.shapes import arrow, box, canvas, grid, label, line, stage

N, M, CELL = 4, 3, 0.22
"""Columns and rows of W as drawn, and the side of a cell in inches."""
LEFT, RIGHT = 1.15, 3.38
"""Where the two columns of the drawing stand."""


@diagram(
    "dherin-block",
    alt=(
        "Two columns of the same parts. Left, with the context: tokens c 1 to c N and the query x go into the layer A, which "
        "gives the vector A of C and x; the matrix W reads it, f follows, and the output is T W of C and x. Right, without the "
        "context: the tokens c are dashed outlines, only x goes into A, which gives another vector, A of x; W plus Delta W "
        "reads it, f follows, and the output is the same. Below, Delta W is a column times a row: the column W Delta A, the "
        "row A of x transposed, divided by its squared length."
    ),
    caption=(
        "A contextual block with its context (left), and the same block without it (right). What the context has done to the "
        "vector is moved into the first matrix of the MLP. The change is one column times one row. Drawn for "
        "<i>Y</i>&nbsp;=&nbsp;<i>C</i>, the whole context."
    ),
    size=(4.14, 6.3),
)
def block(figure: Figure) -> None:
    """Tokens, contextual layer, vector, first matrix and the rest, twice; then the patch as column times row."""
    axes = canvas(figure, left=0.18)
    for centre, words, present in ((LEFT, "with the context", True), (RIGHT, "without it", False)):
        label(axes, centre, 6.12, words)
        _tokens(axes, centre, 5.56, present)
        stage(axes, centre - 0.85, 4.86, 1.7, 0.36, "$A$", fontsize=13)
        arrow(axes, (centre, 4.82), (centre, 4.56))
    _block(axes, LEFT, "$A(C,x)$", "$W$", "$T_W(C,x)$", "live", "plain")
    _block(axes, RIGHT, "$A(x)$", r"$W+\Delta W(C)$", r"$T_{W+\Delta W(C)}(x)$", "query", "change")
    label(axes, (LEFT + RIGHT) / 2, 2.1, "$=$", fontsize=17)
    _patch(axes, 0.66)


def _tokens(axes: Axes, centre: float, y: float, present: bool) -> None:
    names = ("$c_1$", r"$\cdots$", "$c_N$", "$x$")
    for k, name in enumerate(names):
        x, query = centre - 0.86 + k * 0.44, k == len(names) - 1
        shown = present or query
        tint = "query" if query else "plain" if shown else "absent"
        box(axes, x, y, 0.4, 0.36, name if shown else "", tint=tint, fontsize=12)
        if shown:
            arrow(axes, (x + 0.2, y - 0.03), (x + 0.2, y - 0.3))


def _block(axes: Axes, centre: float, vector: str, matrix: str, output: str, read: str, tint: str) -> None:
    """What follows the layer: the vector, the matrix that reads it, and the rest of the MLP."""
    side = N * CELL
    x = centre - side / 2
    grid(axes, x, 4.3, [[read] * N], CELL)
    label(axes, x + side + 0.08, 4.41, vector, ha="left", fontsize=12)
    arrow(axes, (centre, 4.26), (centre, 4.02))
    grid(axes, x, 3.32, [[tint] * N] * M, CELL)
    label(axes, x - 0.08, 3.65, matrix, ha="right", fontsize=12)
    arrow(axes, (centre, 3.28), (centre, 3.04))
    stage(axes, centre - 0.6, 2.66, 1.2, 0.34, r"$f(\,\cdot\,+\,b)$", fontsize=12)
    arrow(axes, (centre, 2.62), (centre, 2.34))
    box(axes, centre - 0.72, 1.9, 1.44, 0.4, output, tint="output", fontsize=13)


def _patch(axes: Axes, y: float) -> None:
    line(axes, (0.3, 4.2), (1.64, 1.64), alpha=0.4)
    middle = y + M * CELL / 2
    grid(axes, 0.5, y, [["change"] * N] * M, CELL)
    label(axes, 0.5 + N * CELL / 2, y + M * CELL + 0.14, r"$\Delta W(C)$", fontsize=12)
    label(axes, 1.66, middle, "$=$", fontsize=14)
    grid(axes, 2.05, y, [["change"]] * M, CELL)
    label(axes, 2.16, y - 0.17, r"$W\Delta A(C)$", fontsize=12)
    grid(axes, 2.5, middle - CELL / 2, [["query"] * N], CELL)
    label(axes, 2.5 + N * CELL / 2, middle + 0.28, r"$A(x)^{\!\top}$", fontsize=12)
    label(axes, 3.48, middle, r"$/\;\|A(x)\|^2$", ha="left", fontsize=12)
    label(axes, 2.25, 0.18, r"$\Delta A(C)=A(C,x)-A(x)$", fontsize=12)
