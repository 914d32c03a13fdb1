"""Experiments on Zhang, Frei, Bartlett (arXiv 2306.09927), one module a result."""
