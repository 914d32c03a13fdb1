"""Section 4.1 Convergence and prediction error: notebooks/zhang_4_1_convergence.ipynb."""
