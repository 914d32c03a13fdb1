"""The softmax-attention MLP: by hand, against plain loops, in pattern coordinates."""

import math

import numpy as np
import pytest
import torch

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.li.patterns import PatternClassification, Patterns, orthogonal_patterns, rotated_patterns, write
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from papers.li.task_sets import all_tasks

double = torch.float64


def random_model(*lead: int, d_X=7, d_Y=2, m=5, m_a=4, m_b=3) -> SoftmaxAttentionMLP:
    generator = stream(0, "weights")

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*lead, *shape, generator=generator, dtype=double) / 3

    D = d_X + d_Y
    return SoftmaxAttentionMLP(
        draw(m_a, D), draw(m_a, D), draw(m_b, D), draw(m, m_b), draw(m), torch.tensor([0.7, -0.4], dtype=double)
    )


def by_loops(model: SoftmaxAttentionMLP, x, y, x_query) -> float:
    """F(P) written from the displayed equation with numpy, one column at a time."""
    W_Q, W_K, W_V, W_O, a, q = (np.asarray(w) for w in (model.W_Q, model.W_K, model.W_V, model.W_O, model.a, model.q))
    columns = [np.concatenate([x[i], y[i] * q]) for i in range(len(y))]
    query = np.concatenate([x_query, 0 * q])
    weights = [math.exp((W_K @ p) @ (W_Q @ query)) for p in columns]
    value = sum(w / sum(weights) * (W_V @ p) for w, p in zip(weights, columns, strict=True))
    return float(sum(a[i] * max(0.0, W_O[i] @ value) for i in range(len(a))))


PATTERNS = orthogonal_patterns(4, 3, 7, 1.5)


@pytest.fixture(scope="module")
def codes():
    return PatternClassification(PATTERNS, all_tasks(4), 0.7, 0.5).codes(stream(0, "codes"), (6,), 5)


def test_by_hand():
    """Two contexts with scores ln 3 and 0, labels +1 and -1: attention (3/4, 1/4), average label 1/2.

    W_V = I, neurons (0, 0, 2) and (0, 0, -2), a = (1, -1): F = relu(1) - relu(-1) = 1.
    """
    eye = torch.eye(3, dtype=double)
    model = SoftmaxAttentionMLP(
        eye,
        eye,
        eye,
        torch.tensor([[0.0, 0, 2], [0, 0, -2]]).double(),
        torch.tensor([1.0, -1]).double(),
        torch.ones(1).double(),
    )
    x = torch.tensor([[[math.log(3), 0.0], [0.0, 5.0]]], dtype=double)
    prompt = Prompts(x, torch.tensor([[1.0, -1.0]]).double(), torch.tensor([[1.0, 0.0]]).double(), torch.ones(1).double())
    assert model.attention(prompt).tolist()[0] == pytest.approx([0.75, 0.25])
    assert model(prompt).item() == pytest.approx(1.0)


def test_against_plain_loops(codes):
    model, prompts = random_model(), write(codes, PATTERNS)
    expected = [by_loops(model, *(np.asarray(part[b]) for part in prompts[:3])) for b in range(6)]
    assert model(prompts).tolist() == pytest.approx(expected, rel=1e-12)
    assert model.on(PATTERNS)(codes).tolist() == pytest.approx(expected, rel=1e-12)


def test_attention_sums_to_one_over_the_contexts_alone(codes):
    attention = random_model().attention(write(codes, PATTERNS))
    assert attention.shape == (6, 5) and torch.allclose(attention.sum(-1), torch.ones(6, dtype=double))


def test_coordinates_agree_with_columns_for_replicates_and_draws(codes):
    model = random_model(3, 1)
    rows = rotated_patterns(stream(0, "rotation"), torch.eye(7, dtype=double), 7, 2)
    patterns = Patterns(rows[None, :, :4], rows[None, :, 4:])
    drawn = PatternClassification(patterns, all_tasks(4), 0.7, 0.5).codes(stream(0, "more"), (3, 2, 6), 5)
    fast, slow = model.on(patterns), model
    prompts = write(drawn, patterns)
    assert torch.allclose(fast(drawn), slow(prompts), rtol=1e-11, atol=1e-13)
    assert torch.allclose(fast.attention(drawn), slow.attention(prompts), rtol=1e-11)


def test_replicates_are_models_of_their_own(codes):
    stacked, prompts = random_model(3), write(codes, PATTERNS)
    names = ("W_Q", "W_K", "W_V", "W_O", "a")
    for s in range(3):
        alone = SoftmaxAttentionMLP(*(getattr(stacked, name)[s] for name in names), q=stacked.q)
        assert torch.allclose(stacked(prompts)[s], alone(prompts))


def test_the_start():
    delta, xi = torch.tensor([0.2, 0.1]).double(), torch.tensor([0.01, 1.0]).double()
    weights = initial_weights(stream(0, "start"), 30, 10, 400, delta, xi)
    assert torch.allclose(weights["W_V"][0], 0.2 * torch.eye(40, dtype=double))
    diagonal = weights["W_Q"][1].diagonal()
    assert (
        torch.allclose(diagonal[:30], torch.full((30,), 0.1, dtype=double))
        and (diagonal[30:] == 0).all()
        and weights["W_K"][1].count_nonzero() == 30
    )
    assert weights["W_O"].std(dim=(1, 2)).tolist() == pytest.approx([0.01, 1.0], rel=0.03)
    a = output_weights(100)
    assert a.sum() == 0 and set(a.tolist()) == {0.1, -0.1}
