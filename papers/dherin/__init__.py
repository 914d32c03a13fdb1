"""The wing of Dherin et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion import Paper

PAPER = Paper(
    key="dherin",
    letters=("D",),
    authors="Dherin et al.",
    title="Learning without Training",
    arXiv="2507.16003",
    scope=(
        "A block that reads a context, and the rank-1 change of a weight matrix that does the same: sections 2 to 4, "
        "an appendix and two sequels. Known from the abstract, notes, reviews and quotations."
    ),
    easy="The identities are exact to rounding in every block tried, trained or not. They need no training.",
    hard=(
        "What is said about learning is harder. How far patch and finetuning agree depends on the initialisation, "
        "which is not known to us."
    ),
)
