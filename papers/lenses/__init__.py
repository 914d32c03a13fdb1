"""One model, three lenses: what the three papers say of one another; a room for each question."""

from icl_lib.companion import Paper

PAPER = Paper(
    key="lenses",
    letters=("S",),
    authors="One model, three lenses",
    title="What the three papers say of one another",
    arXiv="",
    scope=(
        "Statements that put two of the papers, or all three, on one model. They are derived in this book; we know no source "
        "where none is cited."
    ),
    easy="On one block of linear attention the objects of two papers are one matrix, and what relates them is an identity.",
    hard="To say for which queries, at which divisor and from which point a statement holds: the papers choose differently.",
)
