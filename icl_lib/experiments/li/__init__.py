"""Experiments on Li et al."""
