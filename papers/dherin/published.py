"""What notes on the papers of Dherin et al. report of measurements; nothing measured here.

No other place holds these numbers: a test compares what docstrings quote.
"""

GEMMA_TOKENS = {"published form": (0.875,), "stable form": (1.0, 0.98)}
"""Share of the tokens kept in bfloat16 by Gemma 3; the second number is that of another version of the text [S]."""

TEN_BLOCKS = 1e-6
"""Mean difference over 100 tasks in a network of ten blocks, notes on v4 [S]."""
