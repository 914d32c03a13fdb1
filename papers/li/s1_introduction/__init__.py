"""Section 1 Introduction: notebooks/li_1_introduction.ipynb."""
