"""Appendices B, C and D: notebooks/zhang_appendices.ipynb."""
