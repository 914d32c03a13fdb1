"""Garg, Tsipras, Liang, Valiant, "What Can Transformers Learn In-Context?" (arXiv 2208.01066): what is known beforehand.

``bayes``   the errors of the Bayes predictors of the dense task, without and with label noise (derived here)

LSA and averaging have theirs in ``papers.zhang.theory.error`` and ``shifts``, least squares in ``papers.regression.theory``.
"""
