"""Section 3 The implicit learning dynamics: notebooks/dherin_3_implicit_dynamics.ipynb."""
