"""The wing of Garg et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion import Paper

PAPER = Paper(
    key="garg",
    letters=("G",),
    authors="Garg et al.",
    title="What Can Transformers Learn In-Context?",
    arXiv="2208.01066",
    scope=(
        "The observations on decoders that the three papers start from: linear and sparse functions, and shifted "
        "prompts. The stored models here have 3 layers where theirs have 12."
    ),
    easy=("A small decoder learns linear functions in context. It tolerates the shifts that Garg et al. report as tolerated."),
    hard=(
        "What needs scale was not found: the use of sparsity, and the bump of least squares under label noise. Of each "
        "stored model one training is read, so that nothing is said of the spread between them."
    ),
)
