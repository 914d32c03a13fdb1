"""The risk of a model in parts: the least risk, what is not linear in the query, and how far its vector is from the best.

With the answer 2x + x^3 to standard normal queries, for the posterior mean 1 and the least risk 1/2, 6 is not linear and 16
the distance:

>>> import numpy as np
>>> from papers.lenses.theory import what_is_left as left
>>> left.risk_in_parts(np.array([0.5]), np.array([6.0]), np.array([16.0])).tolist()
[22.5]

Of one example in two dimensions the posterior mean leaves 1/2:

>>> left.excess(0.75, d=2, k=1)
0.25
"""

from jaxtyping import Float
from numpy import ndarray


def risk_in_parts(
    least: Float[ndarray, "..."], bent: Float[ndarray, "..."], far: Float[ndarray, "..."]
) -> Float[ndarray, "..."]:
    """R* + E(T - <G, x>)^2 + E|G - m|^2: Bayes risk, what is not linear in the query, and a distance (eq-lenses-4-parts)."""
    return least + bent + far


def excess(error: float, d: int, k: int) -> float:
    """What an error over d leaves beyond that of the posterior mean of k examples without noise (eq-lenses-4-excess)."""
    return error - max(0.0, 1 - k / d)
