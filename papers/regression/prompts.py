"""The shifted prompts of Garg et al. 2022: what a model trained on N(0, I) meets out of distribution.

Inputs are rescaled to the mean squared norm of training, d, except where the scale is the shift. All tasks are dense
linear with w ~ N(0, I) and noiseless targets.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, gaussian, normal
from icl_lib.tasks.regression import LinearRegression, linear_labels
from icl_lib.typed import refuse

DOUBLE = torch.empty(0, dtype=torch.float64)
"""Whose type and device draws take."""


def label(x: Float[Tensor, "... M d"], x_query: Float[Tensor, "... d"], w: Float[Tensor, "... d"]) -> Prompts:
    """Return the noiseless linear prompts with these inputs and weights."""
    return Prompts(x, linear_labels(x, w), x_query, torch.einsum("...d,...d->...", x_query, w))


@dataclass(frozen=True)
class NoisyContext:
    """Context labels carry N(0, noise_sd^2) noise; the target is the clean label of the query."""

    d: int
    noise_sd: float

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        refuse(not 0 <= self.noise_sd < float("inf"), f"noise_sd is {self.noise_sd}: give 0 or more, a finite number")
        clean = LinearRegression(torch.eye(self.d, dtype=torch.float64)).sample(generator, shape, length)
        return clean._replace(y=clean.y + self.noise_sd * normal(generator, (*shape, length), DOUBLE))


@dataclass(frozen=True)
class ScaledInputs:
    """All inputs times ``scale``: covariance scale^2 I."""

    d: int
    scale: float

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        covariance = self.scale**2 * torch.eye(self.d, dtype=torch.float64)
        return LinearRegression(covariance).sample(generator, shape, length)


@dataclass(frozen=True)
class ScaledWeights:
    """All weights times ``scale``: w ~ N(0, scale^2 I)."""

    d: int
    scale: float

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        prompts = LinearRegression(torch.eye(self.d, dtype=torch.float64)).sample(generator, shape, length)
        return prompts._replace(y=self.scale * prompts.y, y_query=self.scale * prompts.y_query)


@dataclass(frozen=True)
class SkewedCovariance:
    """Covariance with eigenvalues proportional to 1/i^2 and trace d, in one random basis a call."""

    d: int

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        eigenvalues = 1 / torch.arange(1, self.d + 1, dtype=torch.float64) ** 2
        eigenvalues *= self.d / eigenvalues.sum()
        basis = torch.linalg.qr(normal(generator, (self.d, self.d), DOUBLE)).Q
        covariance = torch.einsum("ik,k,jk->ij", basis, eigenvalues, basis)
        return LinearRegression((covariance + covariance.mT) / 2).sample(generator, shape, length)


@dataclass(frozen=True)
class SubspaceInputs:
    """Context and query of each prompt lie in a random subspace of dimension ``k``; entries rescaled by sqrt(d/k)."""

    d: int
    k: int

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        if not 1 <= self.k <= self.d:
            raise ValueError(f"the subspace dimension k={self.k} must lie between 1 and d={self.d}")
        basis = torch.linalg.qr(normal(generator, (*shape, self.d, self.k), DOUBLE)).Q
        inside = normal(generator, (*shape, length + 1, self.k), DOUBLE) * (self.d / self.k) ** 0.5
        x = torch.einsum("...mk,...dk->...md", inside, basis)
        return label(x[..., :-1, :], x[..., -1, :], normal(generator, (*shape, self.d), DOUBLE))


@dataclass(frozen=True)
class OrthantContext:
    """The context of each prompt lies in one random orthant, the query in another drawn independently."""

    d: int

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        signs = normal(generator, (2, *shape, self.d), DOUBLE).sign()
        x = normal(generator, (*shape, length, self.d), DOUBLE).abs() * signs[0][..., None, :]
        x_query = normal(generator, (*shape, self.d), DOUBLE).abs() * signs[1]
        return label(x, x_query, normal(generator, (*shape, self.d), DOUBLE))


@dataclass(frozen=True, eq=False)
class OrthogonalQuery:
    """The query is orthogonal to every context input, and as long as an unconstrained query; needs length < d."""

    covariance: Float[Tensor, "d d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        d = len(self.covariance)
        if length >= d:
            raise ValueError(f"no direction is orthogonal to {length} inputs in dimension {d}: take length < {d}")
        x = gaussian(generator, (*shape, length), self.covariance)
        free = gaussian(generator, shape, self.covariance)
        span = torch.linalg.qr(x.mT).Q
        across = free - torch.einsum("...dk,...ek,...e->...d", span, span, free)
        x_query = across * (free.norm(dim=-1) / across.norm(dim=-1))[..., None]
        return label(x, x_query, normal(generator, free.shape, free))


@dataclass(frozen=True, eq=False)
class RepeatedQuery:
    """The query copies the first context input; examples are exchangeable, so which one does not matter."""

    covariance: Float[Tensor, "d d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        prompts = LinearRegression(self.covariance).sample(generator, shape, length)
        return prompts._replace(x_query=prompts.x[..., 0, :], y_query=prompts.y[..., 0])
