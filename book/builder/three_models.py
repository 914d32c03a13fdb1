"""Diagram of the front page: the models of the papers side by side, and the pages that join them."""

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion import diagram
from icl_lib.companion.html import template
from icl_lib.companion.shapes import arrow, box, canvas, label, line, stage


@dataclass(frozen=True)
class Model:
    """One column: what mixes the tokens, what follows, the task, and the kind of statement; no text, no such part."""

    authors: str
    attention: str
    follows: str
    task: str
    statement: str


@dataclass(frozen=True)
class Link:
    """What two columns have in common, and the pages that join them: (title, notebook)."""

    joins: tuple[int, int]
    words: str
    pages: tuple[tuple[str, str], ...]


MODELS = (
    Model("Garg\net al.", "softmax", "GELU", "linear\nregression", "what GPT-2\ndoes"),
    Model("Zhang\net al.", "linear", "", "linear\nregression", "where\ntraining ends"),
    Model("Li\net al.", "softmax", "ReLU", "classifying\npatterns", "what SGD\nlearns"),
    Model("Dherin\net al.", "any $A$", "$W$, any $f$", "any\ninput", "true of any\nweights"),
)
LINKS = (
    Link(
        (0, 1),
        "a decoder and a linear layer on the same prompts",
        (("the observations", "garg_prior_observations"), ("GPT-2 decoders", "zhang_4_3_gpt2")),
    ),
    Link((0, 2), "a decoder on prompts of patterns", (("numerical experiments", "li_5_experiments"),)),
    Link(
        (1, 2),
        "linear for softmax, identity for ReLU",
        (("introduction", "li_1_introduction"), ("one function", "lenses_3_one_function")),
    ),
    Link(
        (1, 3),
        "linear attention as $A$: a gradient step",
        (
            ("contextual blocks", "dherin_2_contextual_blocks"),
            ("setup and agreement", "dherin_4_1_agreement"),
            ("one block", "lenses_1_one_block"),
            ("its own weights", "lenses_2_own_weights"),
        ),
    ),
    Link(
        (2, 3),
        "attention as $A$, $W_O$ as $W$",
        (("contextual blocks", "dherin_2_contextual_blocks"), ("one function", "lenses_3_one_function")),
    ),
    Link((0, 3), "skips, norms, many blocks", (("modern blocks", "dherin_modern_blocks"),)),
)
CENTRES = (0.72, 1.76, 2.80, 3.84)
CAPTION = template(
    """
A dashed part is missing. Each numbered line joins two models, which meet on these pages:
<ol class="icl-links">{% for link in links %}<li>{% for title, name in link.pages %}\
<a href="../notebooks/{{ name }}.html">{{ title }}</a>{{ "" if loop.last else ", " }}{% endfor %}</li>{% endfor %}</ol>"""
)


@diagram(
    "three-models",
    alt=(
        "Four columns. Garg et al.: tokens, softmax attention and a GELU layer, stacked twelve times; linear regression; "
        "what GPT-2 does. Zhang et al.: linear attention and no MLP; linear regression; where training ends. Li et al.: "
        "softmax attention and a ReLU layer; classifying patterns; what SGD learns. Dherin et al.: any contextual "
        "layer A, a matrix W and any f; any input; true of any weights. Six numbered lines join them: 1 Garg and Zhang, a "
        "decoder and a linear layer on the same prompts; 2 Garg and Li, a decoder on prompts of patterns; 3 Zhang and Li, "
        "linear for softmax and identity for ReLU; 4 Zhang and Dherin, linear attention as a gradient step; 5 Li and Dherin, "
        "attention as A and W O as W; 6 Garg and Dherin, skips, norms and many blocks."
    ),
    caption=CAPTION.render(links=LINKS),
    size=(4.34, 6.6),
)
def three_models(figure: Figure) -> None:
    """Four columns of the same parts, and below them one line for each pair."""
    axes = canvas(figure)
    for centre, model in zip(CENTRES, MODELS, strict=True):
        _column(axes, centre, model)
    line(axes, (0.24, 0.18, 0.18, 0.24), (5.22, 5.22, 4.06, 4.06))
    label(axes, 0.095, 4.64, r"$\times 12$", rotation=90, fontsize=10)
    for row, link in enumerate(LINKS):
        _link(axes, 2.36 - 0.4 * row, row + 1, link)


def _column(axes: Axes, centre: float, model: Model) -> None:
    label(axes, centre, 6.3, model.authors, fontweight="bold", fontsize=10.5, linespacing=1.1)
    for k in range(4):
        box(axes, centre - 0.4 + 0.2 * k, 5.58, 0.18, 0.3, tint="query" if k == 3 else "plain")
    arrow(axes, (centre, 5.54), (centre, 5.2))
    stage(axes, centre - 0.44, 4.84, 0.88, 0.32, model.attention, tint="live", fontsize=10)
    arrow(axes, (centre, 4.8), (centre, 4.5))
    stage(axes, centre - 0.44, 4.14, 0.88, 0.32, model.follows, tint="third" if model.follows else "absent", fontsize=10)
    arrow(axes, (centre, 4.1), (centre, 3.84))
    box(axes, centre - 0.12, 3.62, 0.24, 0.18, tint="output")
    label(axes, centre, 3.36, model.task, fontsize=10, linespacing=1.1)
    label(axes, centre, 2.92, model.statement, fontsize=10, linespacing=1.1, fontstyle="italic")


def _link(axes: Axes, y: float, number: int, link: Link) -> None:
    """Two dots and the line that joins them, with number and words above; beside them open dots for the other models."""
    first, last = link.joins
    others = [centre for column, centre in enumerate(CENTRES) if not first <= column <= last]
    line(axes, others, [y] * len(others), linewidth=0, marker="o", markersize=5, fillstyle="none", alpha=0.4)
    ends = (CENTRES[first], CENTRES[last])
    line(axes, ends, (y, y), linewidth=1.6, marker="o", markersize=5, color=f"C{number - 1}")
    label(axes, 0.14, y + 0.16, f"{number}  {link.words}", ha="left", fontsize=10)
