"""Figures on the observations of Garg et al., one module a result."""
