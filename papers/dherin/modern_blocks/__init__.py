"""Sequel 2: modern blocks: notebooks/dherin_modern_blocks.ipynb."""
