"""Contextual layers, contextual blocks and networks of blocks (Dherin et al. and the sequels)."""
