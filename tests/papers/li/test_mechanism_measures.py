"""Measures on weights and on attention, by hand."""

import pytest
import torch

from icl_lib.measure.cosine import cosine
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.li.classification import attention_mass, same_pattern
from papers.li.mechanism import bilinear_form, growth, neurons
from papers.li.patterns import Codes
from papers.li.softmax_attention import SoftmaxAttentionMLP


def tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def codes(pattern, l):
    zeros = torch.zeros(1, l + 1, dtype=torch.float64)
    return Codes(torch.tensor([pattern]), torch.zeros(1, l + 1, dtype=torch.long), zeros, zeros + 1)


def small_model():
    """d_X = 2, d_Y = 1, two keys, two values, two neurons."""
    return SoftmaxAttentionMLP(
        W_Q=tensor([1.0, 2.0, 0.0], [0.0, 1.0, 0.0]),
        W_K=tensor([3.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
        W_V=tensor([1.0, 0.0, 0.0], [0.0, 0.0, 2.0]),
        W_O=tensor([1.0, 3.0], [-2.0, 1.0]),
        a=torch.tensor([1.0, -1.0], dtype=torch.float64),
        q=torch.tensor([1.0], dtype=torch.float64),
    )


def test_cosine_by_hand():
    """(3, 4) and (4, 3): 24/25; a vector and its negative: -1."""
    found = cosine(tensor([3.0, 4.0], [1.0, 2.0]), tensor([4.0, 3.0], [-2.0, -4.0]))
    assert found.tolist() == pytest.approx([0.96, -1.0], abs=1e-15)


def test_the_form_is_keys_times_queries():
    """Column by column of W_K^T W_Q; not W_Q^T W_K, which is its transpose."""
    expected = [[3.0, 6.0, 0.0], [0.0, 1.0, 0.0], [1.0, 2.0, 0.0]]
    assert bilinear_form(small_model()).tolist() == expected


def test_the_form_gives_the_scores_of_the_model():
    """A difference of log attention is a difference of p^T W_K^T W_Q p'."""
    model = small_model()
    x = torch.rand(1, 2, 2, generator=stream(0, "x"), dtype=torch.float64)
    prompts = Prompts(x, tensor([1.0, -1.0]), tensor([0.3, -0.2]), tensor([1.0])[0])
    p, query = model.contexts(prompts)[0], model.query(prompts)[0]
    scores = p @ bilinear_form(model) @ query
    attention = model.attention(prompts)[0].log()
    assert float(attention[0] - attention[1]) == pytest.approx(float(scores[0] - scores[1]), rel=1e-12)


def test_growth_by_hand():
    """W = (1 2; 0 1) on the inputs. p = (3, 0): image (3, 0). p = (0, 2): image (4, 2), length sqrt(20), along p: 2."""
    W = tensor([1.0, 2.0, 9.0], [0.0, 1.0, 9.0], [0.0, 0.0, 9.0])
    found = growth(W, tensor([3.0, 0.0], [0.0, 2.0]))
    assert found.norm.tolist() == pytest.approx([3.0, 20**0.5])
    assert found.projection.tolist() == pytest.approx([3.0, 2.0])


def test_neurons_by_hand():
    """Rows of W_O W_V: (1, 0, 6) and (-2, 0, 2), split after two entries."""
    rows = neurons(small_model())
    assert rows.feature.tolist() == [[1.0, 0.0], [-2.0, 0.0]]
    assert rows.label.tolist() == [[6.0], [2.0]]


def test_attention_mass_by_hand():
    """Contexts 2, 0, 2 with attention 1/2, 1/3, 1/6 under a query with pattern 2: 2/3."""
    attention = tensor([1 / 2, 1 / 3, 1 / 6])
    assert same_pattern(codes([2, 0, 2, 2], 3)).tolist() == [[True, False, True]]
    assert float(attention_mass(attention, codes([2, 0, 2, 2], 3))) == pytest.approx(2 / 3)


def test_mass_is_no_number_where_the_pattern_is_absent():
    attention = tensor([1 / 2, 1 / 3, 1 / 6])
    assert torch.isnan(attention_mass(attention, codes([0, 0, 1, 2], 3))).all()
    assert float(attention_mass(attention, codes([1, 1, 1, 1], 3))) == pytest.approx(1.0)
