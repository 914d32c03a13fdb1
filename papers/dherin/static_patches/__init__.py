"""Static patches: notebooks/dherin_static_patches.ipynb."""
