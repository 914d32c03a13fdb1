"""The wing of Dherin et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion.paper import Paper

PAPER = Paper(key="dherin", letters=("D",), authors="Dherin et al.", title="Learning without Training", arXiv="2507.16003")
