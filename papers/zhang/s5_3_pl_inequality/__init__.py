"""Section 5.3 PL inequality and global convergence: notebooks/zhang_5_3_pl_inequality.ipynb."""
