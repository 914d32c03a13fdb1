"""What queries tell of a network's answers after one context: how far its vector is from another, and what is no vector.

t_j = T(C, x_j) are answers at Q independent queries of second moment Lambda, c is a vector that does not know them, and
delta_j = t_j - <c, x_j>. ``square``, ``distance`` and ``curved`` return estimates for
each context whose mean is exact for every model T.
"""

import torch
from jaxtyping import Float
from torch import Tensor


def square(t: Float[Tensor, "B Q"], x: Float[Tensor, "B Q d"], c: Float[Tensor, "B d"]) -> Float[Tensor, "B"]:
    """Return the mean of delta^2, whose mean is E_x (T - <c, x>)^2."""
    return (t - torch.einsum("bqd,bd->bq", x, c)).square().mean(-1)


def distance(
    t: Float[Tensor, "B Q"], x: Float[Tensor, "B Q d"], c: Float[Tensor, "B d"], M: Float[Tensor, "d d"]
) -> Float[Tensor, "B"]:
    """Return the mean of delta_i delta_j <x_i, M x_j> over pairs i != j.

    Its mean is |G - c|_Lambda^2 for M = Lambda^-1, and |G - c|^2 for M = Lambda^-2, as E[delta x] = Lambda (G - c).
    """
    Q, whole = t.shape[-1], _pairs(t, x, c, M)
    delta = t - torch.einsum("bqd,bd->bq", x, c)
    own = torch.einsum("bq,bqd,de,bqe->b", delta**2, x, M, x)
    return (Q**2 * whole - own) / (Q * (Q - 1))


def distance_plain(
    t: Float[Tensor, "B Q"], x: Float[Tensor, "B Q d"], c: Float[Tensor, "B d"], M: Float[Tensor, "d d"]
) -> Float[Tensor, "B"]:
    """Return ``distance`` with the pairs i = j left in: too large by E[delta^2 <x, M x>]/Q less a Q-th of itself."""
    return _pairs(t, x, c, M)


def curved(t: Float[Tensor, "B Q"], x: Float[Tensor, "B Q d"], M: Float[Tensor, "d d"]) -> Float[Tensor, "B"]:
    """Return the mean square of what is not linear in the query, E_x (T - <G, x>)^2, with no prior.

    It is ``square`` less ``distance`` at any c. Here c is fitted to one half of the queries and put to the other, and the
    other way round; the nearer c is to G, the less the estimate scatters.
    """
    half = t.shape[-1] // 2
    one, two = (t[:, :half], x[:, :half]), (t[:, half : 2 * half], x[:, half : 2 * half])
    found = 0
    for here, there in ((one, two), (two, one)):
        c = fitted(*there)
        found = found + (square(*here, c) - distance(*here, c, M)) / 2
    return found


def fitted(t: Float[Tensor, "B Q"], x: Float[Tensor, "B Q d"]) -> Float[Tensor, "B d"]:
    """Return the vector of least squares of the answers on the queries."""
    return torch.linalg.lstsq(x, t[..., None]).solution[..., 0]


def _pairs(t: Tensor, x: Tensor, c: Tensor, M: Tensor) -> Float[Tensor, "B"]:
    moved = torch.einsum("bq,bqd->bd", t - torch.einsum("bqd,bd->bq", x, c), x) / t.shape[-1]
    return torch.einsum("bd,de,be->b", moved, M, moved)
