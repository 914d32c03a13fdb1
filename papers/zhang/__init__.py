"""The wing of Zhang, Frei, Bartlett: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(
    key="zhang",
    letters=("Z", "ZF"),
    authors="Zhang, Frei, Bartlett",
    title="Trained Transformers Learn Linear Models In-Context",
    arXiv="2306.09927",
    sections=(
        "s1_introduction",
        "s3_preliminaries",
        "s4_1_convergence",
        "s4_2_shifts",
        "s4_3_random_covariances",
        "s4_3_gpt2",
        "s5_1_quadratic_form",
        "s5_2_dynamics",
        "s5_3_pl_inequality",
        "appendices",
    ),
)
