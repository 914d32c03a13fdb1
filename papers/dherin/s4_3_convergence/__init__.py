"""Section 4.3 Convergence of the update: notebooks/dherin_4_3_convergence.ipynb."""
