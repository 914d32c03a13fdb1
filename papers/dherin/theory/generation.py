"""Stale patches, rotary positions, and what a generated token costs.

Costs are operations of matrix products, two for a multiplication and an addition. D width, H hidden channels, L blocks, V
vocabulary, T tokens so far, the new one included. Gated MLPs; attention of D channels.
"""

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def stale_input(
    W: Float[ndarray, "m k"], z: Float[ndarray, "k"], z_C: Float[ndarray, "k"], other: Float[ndarray, "k"]
) -> Float[ndarray, "m"]:
    """W z' + <z, z'>/|z|^2 W (z_C - z): what a patch made for z gives at z' = other (eq-dherin-generation-stale)."""
    if not z.any():
        raise ValueError("z = 0: there is no patch to use again")
    return W @ other + (z @ other) / (z @ z) * (W @ (z_C - z))


def turned(x: Float[ndarray, "c"], position: int) -> Float[ndarray, "c"]:
    """R(p) x: entries j and j + c/2 turned together by p 10000^(-2j/c) (eq-dherin-generation-rotary). c is even."""
    half = len(x) // 2
    if len(x) % 2:
        raise ValueError(f"rotary positions turn pairs of entries: give an even number, not {len(x)}")
    angle = position * 10000.0 ** (-np.arange(half) / half)
    first, second = x[:half], x[half:]
    return np.concatenate([first * np.cos(angle) - second * np.sin(angle), first * np.sin(angle) + second * np.cos(angle)])


def token_cost(D: int, H: int) -> int:
    """8 D^2 + 6 D H: one token in one block, without its scores (eq-dherin-generation-token)."""
    return 8 * D**2 + 6 * D * H


def score_cost(D: int, T: int) -> int:
    """4 D T: scores of one query with T keys, and the sum of T values (eq-dherin-generation-scores)."""
    return 4 * D * T


def full_cost(D: int, H: int, L: int, V: int, T: int) -> int:
    """L T (token + score) + 2 D V: all T tokens through all blocks, one read-out, no cache (eq-dherin-generation-full).

    Scores with later tokens are computed and masked, as in the code.
    """
    return L * T * (token_cost(D, H) + score_cost(D, T)) + 2 * D * V


def cached_cost(D: int, H: int, L: int, V: int, T: int) -> int:
    """L (token + score) + 2 D V: the new token with keys and values of the others at hand (eq-dherin-generation-cached)."""
    return L * (token_cost(D, H) + score_cost(D, T)) + 2 * D * V


def patch_products(D: int, H: int, L: int, V: int) -> int:
    """L (8 D^2 + 2 D + 14 D H) + 2 D V: matrix products of one token's patch, nothing kept; part of eq-dherin-generation-patch.

    The token alone through attention 8 D^2, and 2 D for its own score (a sum of one value is no product); W_gate and W_up
    times z_C - z 4 D H; h for W_down 4 D H; the patched feed-forward part 6 D H; the read-out 2 D V.
    """
    return L * (8 * D**2 + 2 * D + 14 * D * H) + 2 * D * V


def outer_products(D: int, H: int, L: int) -> int:
    """6 D H L: an outer product for each of three matrices, a multiplication and an addition an entry."""
    return 6 * D * H * L


def patch_cost(D: int, H: int, L: int, V: int) -> int:
    """L (8 D^2 + 2 D + 20 D H) + 2 D V: making the patch of one token and using it (eq-dherin-generation-patch).

    Matrix products and outer products.
    """
    return patch_products(D, H, L, V) + outer_products(D, H, L)


def cost_ratio(D: int, H: int, L: int, V: int, T: int, cache: bool) -> float:
    """(full + patch) / full, more than 1: the states with the context at the price of a step (eq-dherin-generation-ratio)."""
    full = (cached_cost if cache else full_cost)(D, H, L, V, T)
    return 1 + patch_cost(D, H, L, V) / full


def break_even(D: int, H: int, L: int, V: int) -> float:
    """T* from which a patch costs less than a cached step, if states were free: (14 H + 2)/4 (eq-dherin-generation-even).

    At H = 3 it is 44/4 = 11, whatever D, L and V: there the two costs agree, 2 * 420 + 70 + 180 and 2 (290 + 20 * 11) + 70:

    >>> from papers.dherin.theory.generation import break_even, cached_cost, patch_cost
    >>> break_even(5, 3, 2, 7), patch_cost(5, 3, 2, 7), cached_cost(5, 3, 2, 7, T=11)
    (11.0, 1090, 1090)
    """
    return (patch_cost(D, H, L, V) - cached_cost(D, H, L, V, 0)) / (4 * D * L)
