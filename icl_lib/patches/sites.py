"""Where a block takes up a vector behind its nonlinearity: output controllability (Goldwaser et al.).

The MLP computes |z|; both sites add 6 to it at z = 2, and the bias does so at z = -2 as well:

>>> import torch
>>> from icl_lib.models.contextual.feed_forward import MLP
>>> from icl_lib.patches.sites import Bias, Matrix
>>> mlp, z, six = MLP(1, (2,), 1, "relu"), torch.tensor([[2.0], [-2.0]]), torch.tensor([6.0])
>>> weights = {"W": torch.tensor([[1.0], [-1.0]]), "b": torch.zeros(2), "W_out": torch.ones(1, 2), "b_out": torch.zeros(1)}
>>> [mlp(site.absorb(mlp, weights, z[0], six), z).flatten().tolist() for site in (Bias("b_out"), Matrix("W_out"))]
[[8.0, 8.0], [8.0, 2.0]]
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.rank_one import rank_one
from icl_lib.typed import refuse


@runtime_checkable
class Patchable(Protocol):
    """A feed-forward part that can be patched: what a pretrained model has to provide, beside ``mix`` and ``feed``.

    reads    names of the matrices that are applied to z itself; z enters in no other way
    hidden   (weights, z) -> what the last matrix is applied to

    Besides, ``Gain`` and ``MatrixAndGain`` ask for ``normalised``, (weights, z) -> what the gain is applied to, and the latter
    for ``epsilon``, that of its norm.
    """

    reads: tuple[str, ...]

    def hidden(self, weights: Weights, z: Tensor) -> Tensor:
        """Return h, what the last matrix is applied to, (..., T, H)."""
        ...

    def __call__(self, weights: Weights, z: Tensor) -> Tensor:
        """Return the output, (..., T, D)."""
        ...


@runtime_checkable
class Site(Protocol):
    """A rule for changing weights so that feed_forward(changed, z) = feed_forward(weights, z) + difference at one z."""

    def absorb(self, feed_forward: Patchable, weights: Weights, z: Tensor, difference: Tensor) -> Weights:
        """Return the changed weights, for z (..., k) and the difference (..., D)."""
        ...


@dataclass(frozen=True)
class Nowhere:
    """Leave the weights: right where nothing is to be added, as in blocks without a skip connection."""

    def absorb(self, feed_forward: Patchable, weights: Weights, z: Tensor, difference: Tensor) -> Weights:
        """Return the weights."""
        return weights


@dataclass(frozen=True)
class Bias:
    """b += difference, for the bias that is added last (Dherin et al., v1, appendix A; Innocenti and Achour).

    Another bias of as many entries gives another output, and no error.
    """

    name: str

    def absorb(
        self, feed_forward: Patchable, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the bias changed."""
        refuse(*_unmet(weights, self.name, -1, difference))
        return {**weights, self.name: weights[self.name] + difference}


@dataclass(frozen=True)
class Matrix:
    """W += difference h^T / |h|^2 with h what the last matrix reads; for blocks whose output is W h, plus a bias at most."""

    name: str

    def absorb(
        self, feed_forward: Patchable, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the last matrix changed."""
        refuse(*_unmet(weights, self.name, -2, difference))
        h = feed_forward.hidden(weights, z[..., None, :])[..., 0, :]
        return {**weights, self.name: weights[self.name] + rank_one(difference, h)}


@dataclass(frozen=True)
class Gain:
    """m += difference / n entry by entry, n the normalised output (Goldwaser et al., theorem 1, Gemma).

    Raises ValueError when an entry of n is 0.
    """

    name: str

    def absorb(
        self, feed_forward: Patchable, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the gain changed."""
        refuse(*_unmet(weights, self.name, -1, difference))
        n = feed_forward.normalised(weights, z[..., None, :])[..., 0, :]
        if (n == 0).any():
            raise ValueError("an entry of the normalised output is 0, so no gain can move it: patch matrix and gain together")
        return {**weights, self.name: weights[self.name] + difference / n}


@dataclass(frozen=True)
class MatrixAndGain:
    """Turn the output with the matrix, and stretch it with one factor on the whole gain: the well-conditioned form.

    The output should be m * t with t = n + difference / m. With r = RMS(t), u = W h and the norm's epsilon e:
    W += (u' - u) h^T / |h|^2 with u' = RMS(u) t / r, then m *= r sqrt(RMS(u)^2 + e) / RMS(u). It divides by the gains m and
    by lengths, never by single activations. Raises ValueError when a gain, u or t is 0.
    """

    matrix: str
    gain: str

    def absorb(
        self, feed_forward: Patchable, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the matrix and the gain changed."""
        refuse(*_unmet(weights, self.matrix, -2, difference))
        refuse(*_unmet(weights, self.gain, -1, difference))
        W, m = weights[self.matrix], weights[self.gain]
        h = feed_forward.hidden(weights, z[..., None, :])[..., 0, :]
        u = torch.einsum("...dh,...h->...d", W, h)
        t = feed_forward.normalised(weights, z[..., None, :])[..., 0, :] + difference / m
        r, length = _rms(t), _rms(u)
        if (m == 0).any() or (r == 0).any() or (length == 0).any():
            raise ValueError("a gain or the whole output is 0, so the patch cannot be scaled: patch a bias in its place")
        turned = length * t / r
        stretch = r * (length.square() + feed_forward.epsilon).sqrt() / length
        return {**weights, self.matrix: W + rank_one(turned - u, h), self.gain: m * stretch}


def _unmet(weights: Weights, name: str, axis: int, difference: Tensor) -> tuple[bool, str]:
    """Return whether no weight of this name takes up the difference along an axis, and why: what ``refuse`` takes."""
    if name not in weights:
        return True, f"{name} must be among the block's weights: {', '.join(weights)}"
    shape, D = tuple(weights[name].shape), difference.shape[-1]
    unmet = shape[axis : axis + 1 or None] != (D,)
    return unmet, f"{name} of shape {shape} does not take up {D} numbers: name the one that makes the output"


def _rms(x: Float[Tensor, "... D"]) -> Float[Tensor, "... 1"]:
    return x.square().mean(-1, keepdim=True).sqrt()
