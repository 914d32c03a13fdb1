"""Dherin et al. and the sequels: one function per displayed equation."""
