"""Nearest neighbours, the Lasso and the sparse Bayes predictor against hand cases and second routes."""

import numpy as np
import pytest
import torch

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.garg.prior_observations.sparse import sparse_prompts
from papers.garg.regressors import LassoPath, NeighbourAverage, SparseBayes


def one_prompt(x, y, query):
    return Prompts(*(torch.tensor(np.array(part), dtype=torch.float64) for part in ([x], [y], [query], [0.0])))


def test_neighbours_by_hand():
    """Inputs 0, 1, 2, 10 with labels 1, 2, 6, 50, query 1.2: the three nearest are 1, 2, 0."""
    prompts = one_prompt([[0.0], [1.0], [2.0], [10.0]], [1.0, 2.0, 6.0, 50.0], [1.2])
    assert [NeighbourAverage(k)(prompts).item() for k in (1, 2, 3, 4, 9)] == [2.0, 4.0, 3.0, 14.75, 14.75]
    with pytest.raises(ValueError, match="take at least 1"):
        NeighbourAverage(0)(prompts)


def test_neighbours_are_those_of_scikit_learn():
    from sklearn.neighbors import KNeighborsRegressor  # slow, and only here

    prompts = sparse_prompts(stream(0, "neighbours"), 20, 7, d=3, sparsity=2)
    found = NeighbourAverage(3)(prompts)
    for x, y, query, value in zip(prompts.x, prompts.y, prompts.x_query, found, strict=True):
        fitted = KNeighborsRegressor(3).fit(x.numpy(), y.numpy())
        assert value.item() == pytest.approx(fitted.predict(query.numpy()[None])[0])


def test_lasso_by_hand():
    """X = sqrt(2) I: w is y/sqrt(2), moved towards 0 by the penalty."""
    root = 2**0.5
    prompts = one_prompt([[root, 0.0], [0.0, root]], [3 * root, -0.4 * root], [1.0, 10.0])
    assert LassoPath((1.0, 0.1))(prompts)[:, 0].tolist() == pytest.approx([2.0, 2.9 - 3.0])


@pytest.mark.parametrize("M", [3, 12])
def test_lasso_meets_its_optimality_conditions(M):
    """|X^T (y - X w)/M| is the penalty where w is not 0, with its sign, and at most the penalty elsewhere."""
    penalties, d = (0.3, 0.02), 5
    for x, y in zip(*sparse_prompts(stream(0, f"lasso/{M}"), 10, M, d=d, sparsity=2)[:2], strict=True):
        units = Prompts(x.expand(d, M, d), y.expand(d, M), torch.eye(d, dtype=torch.float64), torch.zeros(d).double())
        for penalty, w in zip(penalties, LassoPath(penalties)(units), strict=True):
            slope = x.T @ (y - x @ w) / M
            assert (slope.abs() < penalty * 1.02).all()
            assert torch.allclose(slope[w != 0], penalty * w[w != 0].sign(), atol=0.02 * penalty)


@pytest.mark.parametrize("penalties", [(), (0.1, 1.0), (1.0, 0.0)])
def test_impossible_penalties_are_refused(penalties):
    with pytest.raises(ValueError, match="take positive ones, the largest first"):
        LassoPath(penalties)(one_prompt([[1.0]], [1.0], [1.0]))


def test_sparse_bayes_by_hand():
    """One example x = (1, 1), y = 2: both supports explain it alike, w_S = 2, so the prediction is the mean of 6 and 10.

    With x = (1, 2) the supports weigh exp(-2) and exp(-1/2)/2, and w_S is 2 and 1.
    """
    assert SparseBayes(1)(one_prompt([[1.0, 1.0]], [2.0], [3.0, 5.0])).item() == pytest.approx(8.0)
    first, second = np.exp(-2.0), np.exp(-0.5) / 2
    expected = (first * 6 + second * 5) / (first + second)
    assert SparseBayes(1)(one_prompt([[1.0, 2.0]], [2.0], [3.0, 5.0])).item() == pytest.approx(expected)
    assert SparseBayes(1)(one_prompt(np.zeros((0, 2)), [], [3.0, 5.0])).item() == 0.0


@pytest.mark.parametrize("x", [[[0.8, -0.3, 0.5]], [[0.8, -0.3, 0.5], [0.2, 0.9, -0.4]]])
def test_sparse_bayes_is_the_mean_of_the_tasks_that_explain_the_labels(x):
    """Rejection: of many tasks with 2 of 3 entries, those whose labels lie within 0.05 of y."""
    generator = np.random.default_rng(len(x))
    w = generator.normal(size=(3_000_000, 3))
    w[np.arange(len(w)), generator.integers(3, size=len(w))] = 0
    y, query = np.array([0.7, -0.5])[: len(x)], np.array([1.0, 2.0, -1.5])
    kept = w[(abs(w @ np.array(x).T - y) < 0.05).all(1)] @ query
    found = SparseBayes(2)(one_prompt(x, y, query)).item()
    assert len(kept) > 2_000 and abs(found - kept.mean()) < 4 * kept.std() / len(kept) ** 0.5 + 0.02


@pytest.mark.parametrize("s", [1, 2, 3])
def test_sparse_bayes_is_exact_from_one_example_more_than_entries(s):
    errors = []
    for M in (s, s + 1, s + 4):
        prompts = sparse_prompts(stream(s, f"exact/{M}"), 200, M, d=6, sparsity=s)
        errors.append(float((SparseBayes(s)(prompts) - prompts.y_query).square().mean()))
    assert errors[0] > 0.05 and max(errors[1:]) < 1e-15


def test_sparse_bayes_refuses_more_entries_than_there_are():
    with pytest.raises(ValueError, match="take 1 <= sparsity <= 2"):
        SparseBayes(3)(one_prompt([[1.0, 1.0]], [2.0], [3.0, 5.0]))


def test_sparse_tasks_have_their_entries_anywhere():
    """w from d noiseless labels: exactly s entries, each place as often, of variance 1."""
    prompts = sparse_prompts(stream(0, "law"), 6_000, 5, d=5, sparsity=2)
    w = torch.linalg.solve(prompts.x, prompts.y[..., None])[..., 0]
    present = w.abs() > 1e-6
    assert (present.sum(-1) == 2).float().mean() > 0.999
    assert torch.allclose(present.double().mean(0), torch.full((5,), 0.4).double(), atol=0.03)
    assert float(w[present].clamp(-5, 5).square().mean()) == pytest.approx(1, abs=0.05)
    assert float(prompts.y_query.square().mean()) == pytest.approx(2, abs=0.2)
