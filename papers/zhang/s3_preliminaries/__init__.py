"""Section 3 Preliminaries: notebooks/zhang_3_preliminaries.ipynb."""
