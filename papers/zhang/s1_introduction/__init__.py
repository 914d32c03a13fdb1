"""Section 1 Introduction and 2 Related work: notebooks/zhang_1_introduction.ipynb."""
