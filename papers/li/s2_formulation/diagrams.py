"""Diagram of section 2: one prompt of patterns through softmax attention and the ReLU MLP."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import diagram
from icl_lib.companion.shapes import arrow, box, canvas, label, line, stage

PATTERNS, LABELS = (0, 1, 2), (1, -1, -1)
"""The contexts of the page's example; the query has the first pattern."""
SCORES = np.log([4.0, 1.0, 1.0])
NEURONS, SECOND = np.array([[1.0, 1.0, 1.0, 3.0], [1.0, 1.0, 1.0, -3.0]]), np.array([1.0, -1.0])
"""W_O on pattern coordinates and label, and a."""
ATTENTION = np.exp(SCORES) / np.exp(SCORES).sum()
VOTE = float(ATTENTION @ LABELS)
"""Label part of the average token, in units of q."""
HIDDEN = np.maximum(NEURONS @ [*ATTENTION, VOTE], 0)
OUTPUT = float(SECOND @ HIDDEN)
TINTS = ("first", "second", "third")
CENTRES = (0.62, 1.56, 2.50, 3.84)
X_HEIGHT, Y_HEIGHT, WIDTH = 0.42, 0.32, 0.7


@diagram(
    "li-network",
    alt=(
        "From top to bottom. A prompt of three context tokens and the query: each token is an input, one of three patterns, "
        "above its label, plus q or minus q; the query has the first pattern and label 0. All go into softmax attention. Three "
        "lines leave it, one for each context, as thick as its attention: four sixths for the context with the query's "
        "pattern, one sixth for each other. They meet in one token, the average, divided in these shares. It goes through "
        "W O, whose rows are the neurons, and a ReLU: the first neuron is active, the second silent. With a this gives F, and "
        "its sign is the predicted label."
    ),
    caption=(
        "The network on the prompt that is worked by hand below: a context's line is as thick as its attention, and the "
        "average is divided in the same shares. Hatching and colour say which pattern an input contains. The query reaches "
        "the MLP through the attention alone."
    ),
    size=(4.26, 6.5),
)
def one_prompt(figure: Figure) -> None:
    """Tokens, attention as the width of lines, the average token, two neurons, and the sign of the output."""
    axes = canvas(figure, left=0.12)
    _prompt(axes, 5.4)
    stage(axes, 0.2, 4.5, 4.1, 0.58, "")
    label(axes, 2.25, 4.94, "softmax over the contexts", fontsize=10.5)
    words = r"$\mathrm{attn}(\Psi;P,i)\,\propto\,\exp\left((W_Kp_i)^{\!\top}W_Qp_{\rm query}\right)$"
    label(axes, 2.25, 4.69, words, fontsize=12)
    _average(axes, 1.56, 2.96)
    _perceptron(axes)
    _answer(axes, 3.3)


def _prompt(axes: Axes, y: float) -> None:
    names = ("$p_1$", "$p_i$", "$p_l$", r"$p_{\rm query}$")
    for centre, name, pattern, sign in zip(CENTRES, names, (*PATTERNS, PATTERNS[0]), (*LABELS, 0), strict=True):
        x = centre - WIDTH / 2
        text = rf"$\mu_{pattern + 1}$"
        box(axes, x, y + Y_HEIGHT, WIDTH, X_HEIGHT, text, tint=TINTS[pattern], fontsize=13)
        box(axes, x, y, WIDTH, Y_HEIGHT, {1: "$+q$", -1: "$-q$", 0: "$0$"}[sign], tint="plain" if sign else "empty")
        label(axes, centre, y + Y_HEIGHT + X_HEIGHT + 0.14, name, fontsize=12)
        arrow(axes, (centre, y - 0.05), (centre, y - 0.3))


def _average(axes: Axes, x: float, y: float) -> None:
    """Lines as thick as the attention, and the token that they add up to."""
    top, left, width = y + Y_HEIGHT + X_HEIGHT, x - 0.75, 1.5
    for centre, pattern, share in zip(CENTRES, PATTERNS, ATTENTION, strict=False):
        joints = (4.5, 4.14, top + 0.06)
        line(axes, (centre, centre, x), joints, linewidth=12 * share, alpha=0.55, solid_joinstyle="round")
        label(axes, centre - 0.24, 4.27, rf"$\frac{{{6 * share:.0f}}}{{6}}$", fontsize=13)
        box(axes, left, y + Y_HEIGHT, width * share, X_HEIGHT, tint=TINTS[pattern])
        left += width * share
    box(axes, x - 0.75, y, width, Y_HEIGHT, rf"$\frac{{{3 * VOTE:.0f}}}{{3}}\,q$", tint="plain")
    label(axes, x + 0.9, y + 0.36, r"$\sum_i\,W_Vp_i\;\mathrm{attn}(\Psi;P,i)$", ha="left", fontsize=12)
    arrow(axes, (x, y - 0.05), (x, y - 0.42))


def _perceptron(axes: Axes) -> None:
    """W_O with a row for each neuron, and what its ReLU lets through."""
    for r, (row, value) in enumerate(zip(NEURONS, HIDDEN, strict=True)):
        y, tint = 2.16 - 0.34 * r, "live" if value > 0 else "empty"
        for c, weight in enumerate(row):
            box(axes, 0.96 + 0.3 * c, y, 0.3, 0.34, f"${weight:g}$", tint=tint)
        arrow(axes, (2.24, y + 0.17), (3.04, y + 0.17))
        box(axes, 3.1, y, 0.4, 0.34, f"${value:g}$", tint=tint, fontsize=12)
        label(axes, 3.6, y + 0.17, "active" if value > 0 else "silent", ha="left", fontsize=10.5)
    label(axes, 0.84, 2.16, "$W_O$", ha="right", fontsize=13)
    label(axes, 2.62, 2.16, r"$\mathrm{ReLU}$")
    label(axes, 1.56, 1.66, "rows: neurons", fontsize=10.5)


def _answer(axes: Axes, x: float) -> None:
    arrow(axes, (x, 1.76), (x, 1.36))
    label(axes, x + 0.12, 1.56, rf"$a^{{\!\top}}=({SECOND[0]:g},{{{SECOND[1]:g}}})$", ha="left")
    box(axes, x - 0.5, 0.98, 1.0, 0.34, f"$F={OUTPUT:g}$", fontsize=13)
    arrow(axes, (x, 0.94), (x, 0.62))
    stage(axes, x - 0.58, 0.24, 1.16, 0.34, f"sign ${np.sign(OUTPUT):+g}$", tint="output")
