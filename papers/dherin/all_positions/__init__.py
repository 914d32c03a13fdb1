"""Sequel 1: all positions, all blocks: notebooks/dherin_all_positions.ipynb."""
