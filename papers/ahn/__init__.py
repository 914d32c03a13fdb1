"""Ahn, Cheng, Daneshmand, Sra: layers of linear attention as steps of gradient descent; a room on their depth."""

from icl_lib.companion import Paper

PAPER = Paper(
    key="ahn",
    letters=("A",),
    authors="Ahn et al.",
    title="Transformers learn to implement preconditioned gradient descent for in-context learning",
    arXiv="2306.00297",
    scope=(
        "What several layers of linear attention can do, derived in this book from the model in the authors' code. Of the "
        "paper the abstract was read, of the code the loss and the losses that its notebooks print."
    ),
    easy="Layers that change labels only are polynomials of one matrix, and the best polynomial is a classical one.",
    hard="To compare with printed losses: a mean over all prompts and a mean over the prompts of a run differ by far.",
)
