"""The wing of Li et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(
    key="li",
    letters=("L",),
    authors="Li et al.",
    title="How Do Nonlinear Transformers Learn and Generalize in In-Context Learning?",
    arXiv="2402.15607",
)
