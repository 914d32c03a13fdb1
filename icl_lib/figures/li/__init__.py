"""Figures on Li et al. (arXiv 2402.15607), one module a section."""
