"""One block, three notations: the change of weights that stands for a context, as a step on a loss."""
