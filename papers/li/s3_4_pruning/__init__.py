"""Section 3.4 ICL with magnitude-based model pruning: notebooks/li_3_4_pruning.ipynb."""
