"""Figures of the part on Li et al."""
