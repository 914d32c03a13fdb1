"""Pattern prompts of Li et al., sections 2 and 3.2: x = mu_j + kappa nu_k, labelled by a pair of patterns."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.linalg import helmert
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, normal
from papers.li.task_sets import require_tasks

EDGE = 1e-9
"""How close count * S_1^2 / M1 comes to 1 to count as 1."""


class Patterns(NamedTuple):
    """What inputs are made of: relevant patterns mu_j (IDR, ODR) and irrelevant ones nu_k (IDI, ODI), as rows.

    Leading dimensions count replicates or draws and meet the leading dimensions of the prompts except the last.
    """

    relevant: Float[Tensor, "... M1 d"]
    irrelevant: Float[Tensor, "... M2 d"]


class Codes(NamedTuple):
    """Prompts in pattern coordinates: token i is x_i = relevant[pattern_i] + kappa_i irrelevant[distractor_i], label y_i.

    T = l + 1 tokens: the l contexts and, last, the query with the label to predict. Labels are +1 and -1.
    """

    pattern: Int[Tensor, "... T"]
    distractor: Int[Tensor, "... T"]
    kappa: Float[Tensor, "... T"]
    y: Float[Tensor, "... T"]


def write(codes: Codes, patterns: Patterns) -> Prompts:
    """Return the prompts that the codes stand for."""
    lead = codes.pattern.shape[:-1]
    beside = patterns if not lead else Patterns(*(rows.unsqueeze(-3) for rows in patterns))
    relevant, irrelevant = (rows.expand(*lead, *rows.shape[-2:]) for rows in beside)
    x = torch.take_along_dim(relevant, codes.pattern[..., None], -2)
    x = x + codes.kappa[..., None] * torch.take_along_dim(irrelevant, codes.distractor[..., None], -2)
    return Prompts(x[..., :-1, :], codes.y[..., :-1], x[..., -1, :], codes.y[..., -1])


@dataclass(frozen=True, eq=False)
class PatternClassification:
    """Per prompt a task (a, b) from ``tasks``; contexts are mu_a or mu_b with probability alpha/2 each, else another pattern.

    y = +1 on mu_a, -1 on mu_b, a fair coin on the others; the query is mu_a or mu_b. Every token carries an irrelevant
    pattern of its own, scaled by kappa uniform on (-K, K). ``alpha`` and ``K`` are numbers, or one per replicate (S,);
    ``tasks`` are (n, 2), or (S, n, 2). Raises ValueError for alpha outside (0, 1], M1 < 3, K < 0 and an empty task set.
    """

    patterns: Patterns
    tasks: Int[Tensor, "*S n 2"]
    alpha: float | Float[Tensor, "S"]
    K: float | Float[Tensor, "S"]

    def __post_init__(self):
        M1 = self.patterns.relevant.shape[-2]
        alpha, K = torch.as_tensor(self.alpha), torch.as_tensor(self.K)
        if not ((alpha > 0) & (alpha <= 1)).all():
            raise ValueError(f"alpha = {self.alpha}: it is the share of contexts that the task decides, so 0 < alpha <= 1")
        if M1 < 3:
            raise ValueError(f"M1 = {M1}: a task needs two patterns and the other contexts a third, so take M1 >= 3")
        if not (K >= 0).all():
            raise ValueError(f"K = {self.K}: kappa is uniform on (-K, K), so K >= 0")
        require_tasks(self.tasks)
        if self.tasks.min() < 0 or self.tasks.max() >= M1:
            raise ValueError(f"a task names pattern {int(self.tasks.max())}, but there are M1 = {M1}, counted from 0")

    def codes(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Codes:
        """Draw ``shape`` prompts of ``length`` contexts in pattern coordinates; O(length) numbers a prompt."""
        like = self.patterns.relevant
        device, dtype = generator.device, like.dtype
        tasks = self.tasks.to(device)
        chosen = torch.randint(tasks.shape[-2], shape, generator=generator, device=device)
        a, b = (
            torch.take_along_dim(tasks[..., side], chosen, -1) if tasks.ndim > 2 else tasks[chosen, side] for side in (0, 1)
        )
        pattern = self._context(generator, a, b, (*shape, length))
        z = _signs(generator, shape, like)
        pattern = torch.cat([pattern, torch.where(z > 0, a, b)[..., None]], -1)
        y = _signs(generator, pattern.shape, like)
        y = torch.where(pattern == a[..., None], 1.0, torch.where(pattern == b[..., None], -1.0, y)).to(dtype)
        M2 = self.patterns.irrelevant.shape[-2]
        distractor = torch.randint(M2, pattern.shape, generator=generator, device=device)
        uniform = torch.rand(pattern.shape, generator=generator, dtype=dtype, device=device)
        return Codes(pattern, distractor, (2 * uniform - 1) * _per_prompt(self.K, pattern, dtype), y)

    def _context(self, generator: torch.Generator, a: Tensor, b: Tensor, shape: tuple[int, ...]) -> Int[Tensor, "... l"]:
        """Draw the patterns of the contexts: a, b, or one of the other M1 - 2."""
        device = generator.device
        a, b = a[..., None], b[..., None]
        other = torch.randint(self.patterns.relevant.shape[-2] - 2, shape, generator=generator, device=device)
        low, high = torch.minimum(a, b), torch.maximum(a, b)
        other = other + (other >= low)
        other = other + (other >= high)
        u = torch.rand(shape, generator=generator, dtype=torch.float64, device=device)
        alpha = _per_prompt(self.alpha, u, torch.float64)
        return torch.where(u < alpha / 2, a, torch.where(u < alpha, b, other))

    def sample(self, generator: torch.Generator, shape: tuple[int, ...], length: int) -> Prompts:
        """Draw ``shape`` prompts of ``length`` contexts."""
        return write(self.codes(generator, shape, length), self.patterns)


def _signs(generator: torch.Generator, shape: tuple[int, ...], like: Tensor) -> Tensor:
    return torch.randint(2, shape, generator=generator, device=generator.device).to(like.dtype) * 2 - 1


def _per_prompt(number: float | Tensor, like: Tensor, dtype: torch.dtype) -> float | Tensor:
    """Return one number per replicate shaped to multiply what has replicates first."""
    return number.to(like.device, dtype).reshape(-1, *[1] * (like.ndim - 1)) if isinstance(number, Tensor) else number


# --- the patterns of training and of test -------------------------------------------------------------------------


def orthogonal_patterns(M1: int, M2: int, d: int, beta: float, dtype: torch.dtype = torch.float64) -> Patterns:
    """Return M1 relevant and M2 irrelevant patterns, mutually orthogonal and of norm beta: the first axes of R^d times beta.

    Raises ValueError when they do not fit, M1 + M2 > d, or beta <= 0.
    """
    if d < M1 + M2:
        raise ValueError(f"{M1} + {M2} orthogonal patterns do not fit into {d} dimensions: take d >= {M1 + M2}")
    if not beta > 0:
        raise ValueError(f"beta = {beta}: it is the norm of a pattern, so beta > 0")
    axes = beta * torch.eye(d, dtype=dtype)
    return Patterns(axes[:M1], axes[M1 : M1 + M2])


def combined_patterns(
    generator: torch.Generator, relevant: Float[Tensor, "M1 d"], count: int, S_1: float, draws: int
) -> Float[Tensor, "D C d"]:
    """Draw ODR patterns mu'_j = sum_i k_ji mu_i with sum_i k_ji = S_1, mutually orthogonal and as long as the mu_i.

    Convention "fixed norm". ``draws`` independent sets of ``count`` patterns, uniform over all that satisfy this. The
    part of k_j along (1, ..., 1) is S_1/M1 in each entry; the rest lies in its complement with Gram matrix
    I - (S_1^2/M1) J. Both parts are written in Helmert's bases, so that a seed draws the same patterns on every machine.
    Such patterns exist only if count * S_1^2 <= M1 (Bessel's inequality); raises ValueError else.
    """
    M1 = len(relevant)
    left = 1 - count * S_1**2 / M1  # the eigenvalue of I - (S_1^2/M1) J along ones; every other is 1
    along = [(left**0.5, np.full((1, count), count**-0.5))] if left > EDGE else []
    rank = count - 1 + len(along)
    if left < -EDGE or rank > M1 - 1:
        raise ValueError(
            f"{count} orthogonal patterns of the norm of {M1} IDR patterns cannot all have coefficient sum {S_1}: the "
            f"geometry needs count * S_1^2 <= M1, and count < M1 unless |S_1| = 1"
        )
    root = np.concatenate([*(scale * axis for scale, axis in along), helmert(count)])
    root, complement = (torch.from_numpy(rows).to(relevant.dtype) for rows in (root, helmert(M1)))
    directions = orthonormal_rows(generator, rank, M1 - 1, draws, relevant.dtype)
    coefficients = S_1 / M1 + torch.einsum("rc,drk,km->dcm", root, directions, complement)
    return coefficients @ relevant


def rescaled_patterns(relevant: Float[Tensor, "M1 d"], S_1: float) -> Float[Tensor, "M1 d"]:
    """Return mu'_j = S_1 mu_j: coefficient sum S_1 and norm S_1 beta. Convention "rescaling"."""
    return S_1 * relevant


def rotated_patterns(
    generator: torch.Generator, irrelevant: Float[Tensor, "M2 d"], count: int, draws: int
) -> Float[Tensor, "D C d"]:
    """Draw ODI patterns: ``draws`` sets of ``count`` orthogonal patterns in the span of the IDI ones, equally long.

    Raises ValueError when the span has fewer than ``count`` dimensions.
    """
    return orthonormal_rows(generator, count, len(irrelevant), draws, irrelevant.dtype) @ irrelevant


def orthonormal_rows(
    generator: torch.Generator, count: int, dimensions: int, draws: int, dtype: torch.dtype
) -> Float[Tensor, "D C n"]:
    """Draw ``draws`` uniform sets of ``count`` orthonormal vectors; raises ValueError when they do not fit."""
    if count > dimensions:
        raise ValueError(f"{count} orthogonal patterns do not fit into a span of {dimensions} dimensions: take fewer")
    gaussian = normal(generator, (draws, dimensions, dimensions), torch.empty(0, dtype=dtype))
    Q, R = torch.linalg.qr(gaussian)
    uniform = Q * torch.diagonal(R, dim1=-2, dim2=-1).sign()[..., None, :]  # without the signs Q is not uniform
    return uniform.mT[:, :count]
