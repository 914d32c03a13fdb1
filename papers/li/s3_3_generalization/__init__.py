"""Section 3.3 Generalization in domain and out of domain: notebooks/li_3_3_generalization.ipynb."""
