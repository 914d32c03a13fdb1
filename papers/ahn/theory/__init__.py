"""Layers of linear attention as polynomials of the context's covariance; derived in this book.

``wishart``             exact moments of that covariance, and its rule of Gauss
``depth``               the least error of L layers and their step sizes, also for many dimensions
``random_covariances``  the same where each prompt has a covariance of its own
``free_features``       layers that change the features as well
"""
