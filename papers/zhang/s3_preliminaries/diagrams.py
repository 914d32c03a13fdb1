"""Diagram of section 3.2: the prompt matrix, the two weight matrices, and the entry that is the prediction."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import diagram
from icl_lib.companion.shapes import arrow, box, canvas, grid, label

D = 3
"""Covariates as drawn; a matrix has D + 1 rows and columns."""
PV = [["empty"] * (D + 1)] * D + [["still"] * D + ["live"]]
KQ = [["live"] * D + ["empty"]] * D + [["still"] * D + ["empty"]]
"""The entries: read and moved by training, read but 0 before and after it, not read."""
COLUMNS = ("$x_1$", r"$\cdots$", "$x_i$", r"$\cdots$", "$x_N$", r"$x_{\rm query}$")
LABELS = ("$y_1$", r"$\cdots$", "$y_i$", r"$\cdots$", "$y_N$", "$0$")
WIDTH, CELL = 0.52, 0.32


@diagram(
    "zhang-prompt",
    alt=(
        "From top to bottom. The prompt matrix E: columns of inputs x 1 to x N and x query, below them a row of labels y 1 to "
        "y N; under x query is 0. Two square matrices of the same height. In W PV only the last row is read: its left part "
        "is hatched, it is zero after training, and its corner is filled. In W KQ the first d columns are read: the upper "
        "square is filled, the last row of those columns is hatched. All other entries are empty. Below, the output of the "
        "layer, of the shape of E: its lower right entry, under the query, is the prediction."
    ),
    caption=(
        "Linear self-attention on a prompt. Of the weights only the filled and the hatched entries reach the prediction. From "
        "the initialisation of Assumption&nbsp;3.3 the hatched ones stay 0 (Lemma&nbsp;5.2), so training moves "
        "<i>W</i><sub>11</sub><sup><i>KQ</i></sup> and <i>w</i><sub>22</sub><sup><i>PV</i></sup> alone. Drawn for "
        "<i>d</i>&nbsp;=&nbsp;3."
    ),
    size=(3.9, 6.1),
)
def prompt_matrix(figure: Figure) -> None:
    """E, the entries of the weights that the prediction reads, and its place in the output."""
    axes = canvas(figure, left=0.3)
    _prompt(axes, 0.9, 4.9)
    arrow(axes, (2.45, 4.84), (2.45, 4.6))
    label(axes, 2.25, 4.42, r"$f_{\rm LSA}(E;\theta)=E+W^{PV}E\cdot E^{\!\top\!}W^{KQ}E\,/\,\rho$", fontsize=12)
    _matrix(axes, 0.62, 2.62, "PV", PV)
    _matrix(axes, 2.86, 2.62, "KQ", KQ)
    arrow(axes, (2.45, 2.42), (2.45, 2.1))
    _output(axes, 0.9, 1.1)
    _legend(axes)


def _prompt(axes: Axes, x: float, y: float) -> None:
    label(axes, x - 0.36, y + 0.6, "$E=$", fontsize=13)
    for c, (column, number) in enumerate(zip(COLUMNS, LABELS, strict=True)):
        query = c == len(COLUMNS) - 1
        box(axes, x + c * WIDTH, y + 0.34, WIDTH, D * 0.28, column, tint="query" if query else "plain", fontsize=11.5)
        box(axes, x + c * WIDTH, y, WIDTH, 0.34, number, tint="empty" if query else "plain", fontsize=11.5)


def _matrix(axes: Axes, x: float, y: float, name: str, tints: list[list[str]]) -> None:
    """One weight matrix, split after row and column d, with the names of its live blocks beside it."""
    grid(axes, x, y, tints, CELL)
    side = (D + 1) * CELL
    label(axes, x + side / 2, y + side + 0.16, f"$W^{{{name}}}$", fontsize=13)
    if name == "PV":
        label(axes, x + D * CELL / 2, y - 0.17, r"$(w^{PV}_{21})^{\!\top}$")
        label(axes, x + (D + 0.6) * CELL, y - 0.17, "$w^{PV}_{22}$")
    else:
        label(axes, x - 0.05, y + (D + 2) * CELL / 2, "$W^{KQ}_{11}$", ha="right")
        label(axes, x + D * CELL / 2, y - 0.17, r"$(w^{KQ}_{21})^{\!\top}$")


def _output(axes: Axes, x: float, y: float) -> None:
    last = len(COLUMNS) - 1
    label(axes, x - 0.1, y + 0.55, r"$f_{\rm LSA}$", ha="right", fontsize=13)
    for c in range(last + 1):
        box(axes, x + c * WIDTH, y + 0.34, WIDTH, 0.6)
        text = r"$\hat y_{\rm query}$" if c == last else ""
        box(axes, x + c * WIDTH, y, WIDTH, 0.34, text, tint="output" if text else "empty", fontsize=11.5)


def _legend(axes: Axes) -> None:
    moved, zero = "read, and moved by training", "read, but 0 before and after training"
    meanings = (("live", moved), ("still", zero), ("empty", "not read"))
    for r, (tint, meaning) in enumerate(meanings):
        y = 0.6 - 0.26 * r
        box(axes, 0.62, y, 0.3, 0.18, tint=tint)
        label(axes, 1.02, y + 0.09, meaning, ha="left", fontsize=10.5)
