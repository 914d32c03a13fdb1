"""The wing of Li et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(
    key="li",
    letters=("L",),
    authors="Li et al.",
    title="How Do Nonlinear Transformers Learn and Generalize in In-Context Learning?",
    arXiv="2402.15607",
    sections=(
        "s1_introduction",
        "s2_formulation",
        "s3_2_data_and_tasks",
        "s3_3_generalization",
        "s3_4_pruning",
        "s4_mechanism",
        "s5_experiments",
    ),
)
