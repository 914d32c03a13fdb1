"""One layer of softmax attention and a ReLU MLP (Li et al., section 2)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, normal
from papers.li.patterns import Codes, Patterns


@dataclass(frozen=True, eq=False)
class SoftmaxAttentionMLP:
    """F(P) = a^T ReLU(W_O sum_i W_V p_i attn_i), attn = softmax_i((W_K p_i)^T W_Q p_query), p_i = (x_i; y_i q).

    Sum and softmax run over the l context columns only; the query's column is p_query = (x_query; 0). No 1/sqrt(d), no
    residual, no positions. sign(F) is the predicted label. D = d_X + d_Y; neurons are the m rows of W_O.

    Weights may carry leading dimensions that meet the leading dimensions of the prompts except the last.
    """

    W_Q: Float[Tensor, "... m_a D"]
    W_K: Float[Tensor, "... m_a D"]
    W_V: Float[Tensor, "... m_b D"]
    W_O: Float[Tensor, "... m m_b"]
    a: Float[Tensor, "... m"]
    q: Float[Tensor, "... d_Y"]

    def attention(self, prompts: Prompts) -> Float[Tensor, "... B l"]:
        """Return attn_i of every context."""
        key = torch.einsum("...aj,...ai,...bi->...bj", self.W_K, self.W_Q, self.query(prompts))
        return torch.einsum("...blj,...bj->...bl", self.contexts(prompts), key).softmax(-1)

    def __call__(self, prompts: Prompts) -> Float[Tensor, "... B"]:
        """Return F(P)."""
        average = torch.einsum("...bl,...blj->...bj", self.attention(prompts), self.contexts(prompts))
        hidden = torch.einsum("...mv,...vj,...bj->...bm", self.W_O, self.W_V, average).relu()
        return torch.einsum("...bm,...m->...b", hidden, self.a)

    def contexts(self, prompts: Prompts) -> Float[Tensor, "... B l D"]:
        """Return the columns p_i = (x_i; y_i q) of the contexts."""
        labels = torch.einsum("...bl,...k->...blk", prompts.y, self.q)
        return torch.cat([prompts.x, labels], -1)

    def query(self, prompts: Prompts) -> Float[Tensor, "... B D"]:
        """Return p_query = (x_query; 0)."""
        nothing = prompts.x_query.new_zeros(*prompts.x_query.shape[:-1], self.q.shape[-1])
        return torch.cat([prompts.x_query, nothing], -1)

    def on(self, patterns: Patterns) -> "OnPatterns":
        """Return the same function of prompts that are made of ``patterns``, as a function of their codes.

        A token is a combination of K + 1 vectors: the K = M1 + M2 patterns and (0; q). Scores then come from a table of
        (K + 1) K numbers, and the value of a prompt is K + 1 weights: per context 3 numbers are read in place of D.
        """
        rows = _stack(patterns)
        d_Y = self.q.shape[-1]
        tokens = torch.cat([rows, rows.new_zeros(*rows.shape[:-1], d_Y)], -1)
        label = torch.cat([self.q.new_zeros(*self.q.shape[:-1], rows.shape[-1]), self.q], -1)[..., None, :]
        lead = torch.broadcast_shapes(tokens.shape[:-2], label.shape[:-2])
        vocabulary = torch.cat([tokens.expand(*lead, -1, -1), label.expand(*lead, -1, -1)], -2)
        table = torch.einsum("...ni,...ai,...aj,...kj->...nk", tokens, self.W_Q, self.W_K, vocabulary)
        neurons = torch.einsum("...mv,...vj,...kj->...mk", self.W_O, self.W_V, vocabulary)
        return OnPatterns(table, neurons, self.a, patterns.relevant.shape[-2])


@dataclass(frozen=True, eq=False)
class OnPatterns:
    """The model on prompts in pattern coordinates; made by ``SoftmaxAttentionMLP.on``.

    table    score of vector k as context under vector n as query
    neurons  what each neuron gives on each vector before the ReLU
    """

    table: Float[Tensor, "... N K"]
    neurons: Float[Tensor, "... m K"]
    a: Float[Tensor, "... m"]
    M1: int

    def attention(self, codes: Codes) -> Float[Tensor, "... B l"]:
        """Return attn_i of every context."""
        scores = torch.einsum("...bn,...nk->...bk", self._query(codes), self.table)
        pattern, distractor, kappa, y = self._contexts(codes)
        return (scores.gather(-1, pattern) + kappa * scores.gather(-1, distractor) + y * scores[..., -1:]).softmax(-1)

    def __call__(self, codes: Codes) -> Float[Tensor, "... B"]:
        """Return F(P)."""
        return self.output(codes, self.attention(codes))

    def output(self, codes: Codes, attention: Float[Tensor, "... B l"]) -> Float[Tensor, "... B"]:
        """Return F(P) for given attention."""
        pattern, distractor, kappa, y = self._contexts(codes)
        weights = attention.new_zeros(*attention.shape[:-1], self.table.shape[-2])
        weights = weights.scatter_add(-1, pattern, attention).scatter_add(-1, distractor, kappa * attention)
        weights = torch.cat([weights, (y * attention).sum(-1, keepdim=True)], -1)
        hidden = torch.einsum("...bk,...mk->...bm", weights, self.neurons).relu()
        return torch.einsum("...bm,...m->...b", hidden, self.a)

    def _contexts(self, codes: Codes) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        pattern, distractor, kappa, y = (part[..., :-1] for part in codes)
        return pattern, self.M1 + distractor, kappa, y

    def _query(self, codes: Codes) -> Float[Tensor, "... B N"]:
        pattern, distractor, kappa, _ = (part[..., -1:] for part in codes)
        empty = kappa.new_zeros(*kappa.shape[:-1], self.table.shape[-2])
        return empty.scatter_add(-1, pattern, torch.ones_like(kappa)).scatter_add(-1, self.M1 + distractor, kappa)


def _stack(patterns: Patterns) -> Float[Tensor, "... K d"]:
    """Return relevant and irrelevant patterns as the rows of one matrix."""
    lead = torch.broadcast_shapes(patterns.relevant.shape[:-2], patterns.irrelevant.shape[:-2])
    return torch.cat([rows.expand(*lead, *rows.shape[-2:]) for rows in patterns], -2)


def initial_weights(
    generator: torch.Generator, d_X: int, d_Y: int, m: int, delta: Float[Tensor, "S"], xi: Float[Tensor, "S"]
) -> dict[str, Float[Tensor, "S _ _"]]:
    """Draw S starts of the four trained matrices, with m_a = m_b = D = d_X + d_Y (from memory of the paper).

    W_V = delta I. W_Q = W_K = delta on the first d_X diagonal entries and 0 elsewhere, so that labels do not enter the
    scores at first. W_O has independent N(0, xi^2) entries.
    """
    D, S = d_X + d_Y, len(delta)
    eye = torch.eye(D, dtype=delta.dtype, device=delta.device)
    inputs_only = eye * (torch.arange(D, device=delta.device) < d_X)
    W_O = xi[:, None, None] * normal(generator, (S, m, D), delta)
    W_QK = delta[:, None, None] * inputs_only
    return {"W_Q": W_QK, "W_K": W_QK.clone(), "W_V": delta[:, None, None] * eye, "W_O": W_O}


def output_weights(m: int, dtype: torch.dtype = torch.float64) -> Float[Tensor, "m"]:
    """Return a with entries +1/sqrt(m) and -1/sqrt(m) in turn, never trained (balanced; the rows of W_O are random)."""
    return (1 - 2 * (torch.arange(m) % 2)).to(dtype) / m**0.5
