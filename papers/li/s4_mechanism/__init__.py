"""Section 4 Mechanism: notebooks/li_4_mechanism.ipynb."""
