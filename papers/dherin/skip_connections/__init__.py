"""Appendix: skip connections: notebooks/dherin_skip_connections.ipynb."""
