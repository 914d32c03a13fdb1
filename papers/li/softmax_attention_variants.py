"""The softmax-attention MLP with one or both nonlinearities taken out (what the columns of Li et al.'s comparison name).

All are functions of prompts in pattern coordinates, with the weights and shapes of ``OnPatterns``.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from papers.li.patterns import Codes, Patterns
from papers.li.softmax_attention import OnPatterns, SoftmaxAttentionMLP


@dataclass(frozen=True, eq=False)
class LinearAttention(OnPatterns):
    """attn_i = (W_K p_i)^T W_Q p_query / l: weights that may be negative and do not add up to 1; the MLP keeps its ReLU."""

    def attention(self, codes: Codes) -> Float[Tensor, "... B l"]:
        """Return attn_i of every context."""
        scores = torch.einsum("...bn,...nk->...bk", self._query(codes), self.table)
        pattern, distractor, kappa, y = self._contexts(codes)
        total = scores.gather(-1, pattern) + kappa * scores.gather(-1, distractor) + y * scores[..., -1:]
        return total / pattern.shape[-1]


@dataclass(frozen=True, eq=False)
class ShiftedLinearAttention(LinearAttention):
    """attn_i = (1 + (W_K p_i)^T W_Q p_query) / l: linear attention whose weights add up to 1 where the scores vanish."""

    def attention(self, codes: Codes) -> Float[Tensor, "... B l"]:
        """Return attn_i of every context."""
        linear = super().attention(codes)
        return linear + 1 / linear.shape[-1]


@dataclass(frozen=True, eq=False)
class LinearMLP(OnPatterns):
    """F = a^T W_O sum_i W_V p_i attn_i: no ReLU; the attention keeps its softmax."""

    def output(self, codes: Codes, attention: Float[Tensor, "... B l"]) -> Float[Tensor, "... B"]:
        """Return F(P) for given attention."""
        gives = torch.einsum("...mk,...m->...k", self.neurons, self.a)
        pattern, distractor, kappa, y = self._contexts(codes)
        gives = gives[..., None, :].expand(*attention.shape[:-1], -1)
        token = gives.gather(-1, pattern) + kappa * gives.gather(-1, distractor) + y * gives[..., -1:]
        return (attention * token).sum(-1)


@dataclass(frozen=True, eq=False)
class LinearBoth(LinearMLP, LinearAttention):
    """F = a^T W_O sum_i W_V p_i (W_K p_i)^T W_Q p_query / l: neither softmax nor ReLU."""


VARIANTS: dict[str, type[OnPatterns]] = {
    "softmax, ReLU": OnPatterns,
    "softmax, linear": LinearMLP,
    "linear, ReLU": LinearAttention,
    "linear, linear": LinearBoth,
    "shifted linear, ReLU": ShiftedLinearAttention,
}
"""The models by what stands in the attention and in the MLP; the first is the paper's."""


def variant(name: str, model: SoftmaxAttentionMLP, patterns: Patterns) -> OnPatterns:
    """Return a variant with the weights of ``model``, on prompts made of ``patterns``.

    Raises ValueError for a name that is not in ``VARIANTS``.
    """
    if name not in VARIANTS:
        raise ValueError(f"unknown variant {name!r}: take one of {'; '.join(VARIANTS)}")
    return VARIANTS[name](**vars(model.on(patterns)))
