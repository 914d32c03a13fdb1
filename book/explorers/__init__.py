"""Figures that answer when a slider or a point is moved: one module and one script each, `explorer` for all."""
