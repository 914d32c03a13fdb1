"""Figures of Dherin et al. and the sequels, by section."""
