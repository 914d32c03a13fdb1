"""Prompt distributions of Zhang et al., sections 3.3, 4.1 and 4.2."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, gaussian, normal, undrawn
from icl_lib.typed import refuse


def linear_labels(x: Float[Tensor, "... M d"], w: Float[Tensor, "... d"]) -> Float[Tensor, "... M"]:
    """Return y_i = <w, x_i> for every example of every prompt."""
    refuse(w.shape[-1:] != x.shape[-1:], f"w has shape {tuple(w.shape)} and x {tuple(x.shape)}: give as many entries")
    return torch.einsum("...md,...d->...m", x, w)


@dataclass(frozen=True, eq=False)
class LinearRegression:
    """The training distribution of section 3.3: per prompt w ~ N(0, I), x_i and x_query ~ N(0, covariance), y = <w, x>.

    Two examples in two dimensions determine w, and with it the label of the query:

    >>> import torch
    >>> from icl_lib.seeds import stream
    >>> from icl_lib.tasks.regression import LinearRegression
    >>> x, y, x_query, y_query = LinearRegression(torch.eye(2, dtype=torch.float64)).sample(stream(0, "data"), (3,), 2)
    >>> w = torch.linalg.solve(x, y)
    >>> torch.allclose((w * x_query).sum(-1), y_query)
    True
    """

    covariance: Float[Tensor, "d d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        refuse(*undrawn(shape, length, self.covariance))
        w = normal(generator, (*shape, len(self.covariance)), self.covariance)
        x = gaussian(generator, (*shape, length), self.covariance)
        x_query = gaussian(generator, shape, self.covariance)
        return Prompts(x, linear_labels(x, w), x_query, torch.einsum("...d,...d->...", x_query, w))


@dataclass(frozen=True, eq=False)
class LinearLabels:
    """One fixed task for all prompts: y = <w, x> + noise_sd * N(0, 1), the query's label included (section 4.1)."""

    covariance: Float[Tensor, "d d"]
    w: Float[Tensor, "d"]
    noise_sd: float

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        refuse(*undrawn(shape, length, self.covariance, w=self.w))
        refuse(not 0 <= self.noise_sd < float("inf"), f"noise_sd is {self.noise_sd}: give 0 or more, a finite number")
        x = gaussian(generator, (*shape, length + 1), self.covariance)
        y = x @ self.w.to(x.device) + self.noise_sd * normal(generator, (*shape, length + 1), x)
        return Prompts(x[..., :-1, :], y[..., :-1], x[..., -1, :], y[..., -1])


@dataclass(frozen=True, eq=False)
class CubicLabels:
    """A nonlinear task, the same for all prompts: y = <v, x>^3 (a task shift of section 4.2)."""

    covariance: Float[Tensor, "d d"]
    v: Float[Tensor, "d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        refuse(*undrawn(shape, length, self.covariance, v=self.v))
        x = gaussian(generator, (*shape, length + 1), self.covariance)
        y = (x @ self.v.to(x.device)) ** 3
        return Prompts(x[..., :-1, :], y[..., :-1], x[..., -1, :], y[..., -1])


@dataclass(frozen=True, eq=False)
class QueryShift:
    """Context from N(0, covariance), query from N(0, query_covariance), one fixed linear task (section 4.2)."""

    covariance: Float[Tensor, "d d"]
    query_covariance: Float[Tensor, "d d"]
    w: Float[Tensor, "d"]

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples."""
        refuse(*undrawn(shape, length, self.covariance, w=self.w))
        refuse(*undrawn(shape, length, self.query_covariance, w=self.w))
        x = gaussian(generator, (*shape, length), self.covariance)
        x_query = gaussian(generator, shape, self.query_covariance)
        w = self.w.to(x.device)
        return Prompts(x, x @ w, x_query, x_query @ w)
