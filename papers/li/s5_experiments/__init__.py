"""Section 5 Numerical experiments: notebooks/li_5_experiments.ipynb."""
