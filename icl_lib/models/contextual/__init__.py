"""Contextual layers and blocks, their feed-forward parts and norms (Dherin et al. and the sequels)."""
