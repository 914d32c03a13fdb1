"""The training engine: what a step costs, what limits it, and the benchmark."""

from icl_lib.companion import Paper

PAPER = Paper(key="engine", letters=(), authors="", title="The training engine", arXiv="")
