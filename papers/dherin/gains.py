"""The gain of a norm behind the last matrix, when one change has to give several outputs.

With a gain m' the outputs y_r can be had together at given mean squares rho_r if and only if a = 1/m'^2 solves the linear
equations sum_d y_rd^2 a_d = D rho_r: then n_r = y_r / m' has the mean square rho_r that the norm gives it, and the matrix
has to make u'_r in its direction.

One row needs one factor: y = (2, 4) at rho = 1 asks for the gains (m'^2, m'^2) with (4 + 16)/m'^2 = 2. With the row (4, 2) for
the same rho both equations agree; with rho = 1 and 0.625 they do not, and a = (1/20, 9/80) solves them:

>>> import torch
>>> from papers.dherin.gains import one_factor, solved
>>> y, m, rho = torch.tensor([[2.0, 4.0], [4.0, 2.0]]).double(), torch.ones(2).double(), torch.tensor([1.0, 0.625]).double()
>>> [round(entry, 4) for entry in one_factor(y[:1], rho[:1], m).square().tolist()]
[10.0, 10.0]
>>> [round(entry, 4) for entry in (1 / solved(y, rho, m).square()).tolist()]
[0.05, 0.1125]
"""

import torch
from jaxtyping import Float
from torch import Tensor

STEPS, CLOSE = 200, 1e-10
"""At most so many Newton steps; the equations are solved when no row is off by more than this share."""


def one_factor(y: Float[Tensor, "R D"], rho: Float[Tensor, "R"], m: Float[Tensor, "D"]) -> Float[Tensor, "D"]:
    """Return m over sqrt(c), c the least-squares solution of c sum_d y_rd^2 / m_d^2 = D rho_r: exact for one row.

    Raises ValueError where a gain is 0.
    """
    return m / _common(y, rho, m).sqrt()


def solved(y: Float[Tensor, "R D"], rho: Float[Tensor, "R"], m: Float[Tensor, "D"]) -> Float[Tensor, "D"]:
    """Return the gain with 1/m'^2 = x / m^2, x the positive solution of the R equations in their middle.

    That is where sum_d (log x_d - x_d / c) is largest, c the one factor: x_d = 1 / (1/c - sum_r l_r B_rd), B = y^2 / m^2, with
    the l at which sum_d log x_d - D sum_r rho_r l_r, convex in l, is least. Raises ValueError when the equations have no
    positive solution, and so no real gain, and where a gain is 0.
    """
    scale = (y / m).square().sum(-1)
    B, b = (y / m).square() / scale[:, None], len(m) * rho / scale  # rows that sum to one
    multipliers, bare = torch.zeros_like(b), (1 / _common(y, rho, m)).expand(len(m))
    for _ in range(STEPS):
        x = 1 / (bare - torch.einsum("r,rd->d", multipliers, B))
        gradient = torch.einsum("rd,d->r", B, x) - b
        if (gradient.abs() <= CLOSE * b).all():
            return m / x.sqrt()
        curvature = torch.einsum("rd,d,sd->rs", B, x.square(), B)
        step = -torch.linalg.lstsq(curvature, gradient[:, None], driver="gelsd").solution[:, 0]
        decrement = (-(gradient * step).sum()).clamp(min=0).sqrt()
        multipliers = multipliers + step / (1 + decrement)  # so long a step stays where every x is positive
    raise ValueError(f"no gain gives these {len(b)} outputs together: 1/m'^2 would have to be negative somewhere, take fewer")


def _common(y: Float[Tensor, "R D"], rho: Float[Tensor, "R"], m: Float[Tensor, "D"]) -> Float[Tensor, ""]:
    if (m == 0).any():
        raise ValueError("a gain is 0, so the patch cannot be scaled: patch a bias in its place")
    row = (y / m).square().sum(-1)
    return (row * len(m) * rho).sum() / row.square().sum()
