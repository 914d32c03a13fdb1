"""Closed forms on Li et al., one function per displayed equation; arguments and results are numpy arrays and numbers.

Letters: ``alpha`` share of contexts that the task decides (``alpha_test`` is alpha'), ``l`` prompt length, ``M1``
relevant patterns, ``beta`` their norm, ``q`` norm of the label embedding, ``S_1`` coefficient sum of an ODR pattern.
"""
