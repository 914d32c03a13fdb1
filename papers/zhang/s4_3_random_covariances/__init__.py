"""Section 4.3 Transformers trained on random covariances: notebooks/zhang_4_3_random_covariances.ipynb."""
