"""One class per displayed architecture, and baselines."""
