"""Experiments on Li et al. (arXiv 2402.15607)."""
