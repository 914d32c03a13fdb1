"""Declarations and runs for Dherin et al. and the sequels."""
