"""Magnitude pruning of the rows of W_O: by hand, by a loop, and a planted fault."""

import pytest
import torch

from icl_lib.seeds import stream
from papers.li import pruning
from papers.li.patterns import PatternClassification, orthogonal_patterns
from papers.li.pruning import largest_first, prune, random_large, small_neurons
from papers.li.softmax_attention import SoftmaxAttentionMLP, output_weights
from papers.li.task_sets import task_set

LENGTHS = torch.tensor([5.0, 0.3, 4.0, 2.4, 3.0, 2.6], dtype=torch.float64)
W_O = torch.diag(LENGTHS)[:, [1, 0, 2, 3, 4, 5]]
"""Six rows of these lengths; row 1 and row 3 are shorter than half of the longest, 2.5."""


def network() -> tuple[SoftmaxAttentionMLP, object]:
    generator = stream(3, "network")
    law = PatternClassification(orthogonal_patterns(3, 2, 5, 1.5), task_set("all", 3), 0.7, 0.5)
    weights = {
        name: torch.randn(rows, 7, generator=generator, dtype=torch.float64)
        for name, rows in (("W_Q", 7), ("W_K", 7), ("W_V", 7), ("W_O", 6))
    }
    q = torch.tensor([1.0, 0.0], dtype=torch.float64)
    return SoftmaxAttentionMLP(**weights, a=output_weights(6), q=q), law.sample(generator, (40,), 6)


def without_rows(model: SoftmaxAttentionMLP, deleted: list[int]) -> SoftmaxAttentionMLP:
    """The second route: a smaller network, its rows really taken out."""
    kept = [r for r in range(len(model.a)) if r not in deleted]
    return SoftmaxAttentionMLP(model.W_Q, model.W_K, model.W_V, model.W_O[kept], model.a[kept], model.q)


def pruned(model: SoftmaxAttentionMLP, deleted: list[int]) -> SoftmaxAttentionMLP:
    mask = torch.tensor([r in deleted for r in range(len(model.a))])
    return SoftmaxAttentionMLP(model.W_Q, model.W_K, model.W_V, pruning.prune(model.W_O, mask), model.a, model.q)


def test_small_neurons_by_hand():
    assert small_neurons(W_O).tolist() == [False, True, False, True, False, False]
    assert small_neurons(W_O, threshold=0.55).tolist() == [False, True, False, True, False, True]
    assert small_neurons(torch.stack([W_O, 7 * W_O])).tolist() == [small_neurons(W_O).tolist()] * 2


def test_largest_first_by_hand():
    assert largest_first(W_O, 0.0).tolist() == [False] * 6
    assert largest_first(W_O, 0.5).tolist() == [True, False, True, False, False, False]
    assert largest_first(W_O, 0.7).tolist() == [True, False, True, False, True, False]  # 2.8 of 4 large rows: 3
    assert largest_first(W_O, 1.0).tolist() == [True, False, True, False, True, True]


def test_random_choices_are_large_nested_and_uniform():
    many = torch.broadcast_to(W_O, (4000, 6, 6))
    half = random_large(stream(0, "half"), many, 0.5)
    assert not (half & small_neurons(many)).any()
    assert (half.sum(-1) == 2).all()
    share = half.double().mean(0)[[0, 2, 4, 5]]
    assert torch.allclose(share, torch.full((4,), 0.5).double(), atol=0.04)
    more = random_large(stream(0, "half"), many, 0.75)
    assert (more | ~half).all() and (more.sum(-1) == 3).all()


def test_pruned_rows_are_as_rows_that_are_not_there():
    model, prompts = network()
    assert torch.allclose(pruned(model, [1, 4])(prompts), without_rows(model, [1, 4])(prompts), atol=1e-13)
    assert torch.equal(prune(model.W_O, torch.zeros(6).bool()), model.W_O)
    assert (pruned(model, list(range(6)))(prompts) == 0).all()


def test_pruning_columns_turns_red(monkeypatch):
    def columns(W_O, neurons):
        return torch.cat([W_O[..., : len(neurons)].masked_fill(neurons, 0.0), W_O[..., len(neurons) :]], -1)

    monkeypatch.setattr(pruning, "prune", columns)
    with pytest.raises(AssertionError):
        test_pruned_rows_are_as_rows_that_are_not_there()


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
def test_bad_fractions_are_refused(fraction):
    with pytest.raises(ValueError, match="share of the large neurons"):
        largest_first(W_O, fraction)
    with pytest.raises(ValueError, match="share of the large neurons"):
        random_large(stream(0, "x"), W_O, fraction)
