"""Section 2 Contextual blocks: notebooks/dherin_2_contextual_blocks.ipynb."""
