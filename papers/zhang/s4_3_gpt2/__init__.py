"""Section 4.3 and appendix E: large nonlinear transformers: notebooks/zhang_4_3_gpt2.ipynb."""
