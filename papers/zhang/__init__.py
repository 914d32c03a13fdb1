"""The wing of Zhang, Frei, Bartlett: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(
    key="zhang",
    letters=("Z", "ZF"),
    authors="Zhang, Frei, Bartlett",
    title="Trained Transformers Learn Linear Models In-Context",
    arXiv="2306.09927",
)
