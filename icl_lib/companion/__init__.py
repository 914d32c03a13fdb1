"""The nouns of a companion to a paper: declarations, experiments, claims, figures, and what stores them.

It carries results and computes none, so no change here makes a stored number outdated.
"""
