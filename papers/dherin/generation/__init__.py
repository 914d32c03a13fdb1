"""Beyond the first token: notebooks/dherin_generation.ipynb."""
