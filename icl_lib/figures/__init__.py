"""Figures: each a function of one dataset, drawn in a light and a dark version."""
