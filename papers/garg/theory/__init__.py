"""Garg, Tsipras, Liang, Valiant, "What Can Transformers Learn In-Context?" (arXiv 2208.01066): what is known beforehand.

``bayes``   the errors of the Bayes predictors of the dense task, without and with label noise (derived here)

LSA, averaging and least squares have their closed forms in ``papers.zhang.theory.error`` and ``papers.zhang.theory.shifts``.
"""
