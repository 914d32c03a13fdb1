"""Section 2 Problem formulation: notebooks/li_2_formulation.ipynb."""
