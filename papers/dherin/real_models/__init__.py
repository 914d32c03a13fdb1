"""Classes of Hugging Face's transformers, patched within their own forward: notebooks/dherin_real_models.ipynb."""
