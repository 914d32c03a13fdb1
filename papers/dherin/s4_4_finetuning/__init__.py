"""Section 4.4 Comparison with finetuning: notebooks/dherin_4_4_finetuning.ipynb."""
