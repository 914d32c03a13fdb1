"""Experiments: what is declared before a run, and the dataset it yields."""
