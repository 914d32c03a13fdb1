"""Patches of model classes: one change of the last matrix and of the gain behind it for T tokens, and how many it can serve.

y_t: what should leave the norm for token t, of D entries; m: its gain; u_t: what the norm reads; h_t: what the matrix reads.

Two tokens with y = (2, 4) and (4, 2), mean squares rho = 1 and 0.625: 4 a_1 + 16 a_2 = 2 and 16 a_1 + 4 a_2 = 1.25 at
a = (1/20, 9/80):

>>> import numpy as np
>>> from papers.dherin.theory.model_classes import capacity, gain_equations, normed_target
>>> y, rho, a = np.array([[2.0, 4.0], [4.0, 2.0]]), np.array([1.0, 0.625]), np.array([1 / 20, 9 / 80])
>>> gain_equations(y, a, rho).round(12).tolist()
[0.0, 0.0]
>>> normed_target(np.array([3.0, 4.0]), np.array([5.0, 5.0]), 2.0, 2.0).round(4).tolist()  # rho = 1/2
[1.2, 1.6]
>>> capacity(14336)
14336.0
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def capacity(H: int) -> float:
    """H: so many tokens one change of the last matrix serves, as their h_t are independent, and not one more, whatever D.

    (prop-dherin-real-capacity)
    """
    return float(H)


def gain_equations(y: Float[ndarray, "T D"], a: Float[ndarray, "D"], rho: Float[ndarray, "T"]) -> Float[ndarray, "T"]:
    """sum_d y_td^2 a_d - D rho_t with a = 1/m'^2: 0 if and only if the gain m' gives the y_t at these rho_t.

    (eq-dherin-real-gains)
    """
    return (y**2) @ a - len(a) * rho


def normed_target(y: Float[ndarray, "D"], m: Float[ndarray, "D"], square: float, epsilon: float) -> Float[ndarray, "D"]:
    """u' = sqrt(square + epsilon) y / m', what the last matrix has to make (eq-dherin-real-target).

    ``square`` is mean(u'^2), so that square + epsilon = epsilon / (1 - rho).
    """
    return np.sqrt(square + epsilon) * y / m
