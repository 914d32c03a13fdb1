"""The wing of Garg et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(
    key="garg", letters=("G",), authors="Garg et al.", title="What Can Transformers Learn In-Context?", arXiv="2208.01066"
)
