"""Training distributions of in-context regression, drawn on the device, and the curriculum of Garg et al. 2022 over them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, normal
from icl_lib.tasks.regression import linear_labels


@dataclass(frozen=True)
class Ramp:
    """A whole number that grows: ``start`` + ``increment`` every ``interval`` steps, up to ``end``.

    start, end   the first and the last number; increment: what is added each time; interval: steps from one time to the next

    Raises ValueError unless 1 <= start <= end, increment >= 1 and interval >= 1.
    """

    start: int
    end: int
    increment: int
    interval: int

    def __post_init__(self):
        if not 1 <= self.start <= self.end or self.increment < 1 or self.interval < 1:
            raise ValueError(f"{self}: a ramp needs 1 <= start <= end, and increment and interval of at least 1")

    def at(self, step: int) -> int:
        """Return the number at a step, counted from 0."""
        return min(self.end, self.start + self.increment * (step // self.interval))


@dataclass(frozen=True)
class IsotropicRegression:
    """w and all inputs from N(0, I_d), y = <w, x>; inputs are 0 beyond their first ``dims`` entries."""

    d: int
    dims: int

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples, float32."""
        return _prompts(generator, shape, length, _inside(self.d, self.dims, generator), _normal(generator, (*shape, self.d)))


@dataclass(frozen=True)
class ExponentialRegression:
    """Per prompt variances from Exp(1), independent; w ~ N(0, I_d), x ~ N(0, diag(variances)), 0 beyond ``dims`` entries.

    The random covariance of Zhang et al., section 4.3.
    """

    d: int
    dims: int

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples, float32."""
        variances = torch.empty((*shape, self.d), device=generator.device).exponential_(generator=generator)
        scale = variances.sqrt() * _inside(self.d, self.dims, generator)
        return _prompts(generator, shape, length, scale, _normal(generator, (*shape, self.d)))


@dataclass(frozen=True)
class SparseRegression:
    """``sparsity`` entries of w, uniformly chosen among the first ``dims``, are N(0, 1), the others 0; x ~ N(0, I_d).

    Inputs are 0 beyond ``dims`` entries. The sparse task of Garg et al. 2022. Raises ValueError unless
    1 <= sparsity <= dims.
    """

    d: int
    dims: int
    sparsity: int

    def __post_init__(self):
        if not 1 <= self.sparsity <= self.dims:
            raise ValueError(f"{self.sparsity} entries among {self.dims}: take 1 <= sparsity <= dims")

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` examples, float32."""
        lots = torch.rand((*shape, self.d), generator=generator, device=generator.device)
        inside = _inside(self.d, self.dims, generator)
        chosen = (lots + 2 * (1 - inside)).argsort(-1)[..., : self.sparsity]
        w = torch.zeros((*shape, self.d), device=generator.device)
        w.scatter_(-1, chosen, _normal(generator, (*shape, self.sparsity)))
        return _prompts(generator, shape, length, inside, w)


def _normal(generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
    return normal(generator, shape, torch.empty(0))


def _inside(d: int, dims: int, generator: torch.Generator) -> Tensor:
    """Return 1 for the first ``dims`` entries and 0 for the others; raises ValueError unless 1 <= dims <= d."""
    if not 1 <= dims <= d:
        raise ValueError(f"the first {dims} entries of {d}: take 1 <= dims <= d")
    return (torch.arange(d, device=generator.device) < dims).float()


def _prompts(generator: torch.Generator, shape: tuple[int, ...], length: int, scale: Tensor, w: Tensor) -> Prompts:
    scale = scale.expand(*shape, scale.shape[-1])
    x = _normal(generator, (*shape, length + 1, scale.shape[-1])) * scale[..., None, :]
    y = linear_labels(x, w)
    return Prompts(x[..., :-1, :], y[..., :-1], x[..., -1, :], y[..., -1])
