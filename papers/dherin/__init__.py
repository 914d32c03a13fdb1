"""The wing of Dherin et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(
    key="dherin",
    letters=("D",),
    authors="Dherin et al.",
    title="Learning without Training",
    arXiv="2507.16003",
    sections=(
        "s2_contextual_blocks",
        "s3_implicit_dynamics",
        "s4_1_agreement",
        "s4_3_convergence",
        "s4_4_finetuning",
        "skip_connections",
        "all_positions",
        "modern_blocks",
        "generation",
        "static_patches",
        "what_it_shows",
    ),
)
