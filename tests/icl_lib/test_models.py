"""The attention layer against the formula in plain loops, and against numbers worked by hand."""

import pytest
import torch

from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression


def prompts(d: int, M: int, shape: tuple[int, ...] = (3,)) -> Prompts:
    root = normal(d, d, name="root")
    return LinearRegression(root @ root.mT / d).sample(stream(0, f"prompts/{d}/{M}"), shape, M)


def normal(*shape: int, name: str) -> torch.Tensor:
    return torch.randn(shape, generator=stream(0, name), dtype=torch.float64)


def layer(d: int, *stack: int) -> LinearSelfAttention:
    return LinearSelfAttention(normal(*stack, d + 1, d + 1, name="PV"), normal(*stack, d + 1, d + 1, name="KQ"))


def loops(W_PV, W_KQ, x, y, x_query) -> list[list[float]]:
    """f_LSA(E) = E + W_PV E (E^T W_KQ E) / M for one prompt, in plain loops over indices."""
    M, d = len(x), len(x_query)
    E = [[float(x[m][i]) for m in range(M)] + [float(x_query[i])] for i in range(d)]
    E += [[float(label) for label in y] + [0.0]]
    tokens, rows = range(M + 1), range(d + 1)
    score = [[sum(E[i][m] * float(W_KQ[i][j]) * E[j][n] for i in rows for j in rows) / M for n in tokens] for m in tokens]
    value = [[sum(float(W_PV[i][j]) * E[j][m] for j in rows) for m in tokens] for i in rows]
    return [[E[i][n] + sum(value[i][m] * score[m][n] for m in tokens) for n in tokens] for i in rows]


def test_embedding_by_hand():
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([7.0, 8.0, 9.0])
    prompt = Prompts(x, y, torch.tensor([10.0, 11.0]), torch.tensor(99.0))
    assert embed(prompt).tolist() == [[1, 3, 5, 10], [2, 4, 6, 11], [7, 8, 9, 0]]


@pytest.mark.parametrize(("d", "M"), [(1, 1), (1, 4), (3, 1), (3, 2), (3, 7)])
def test_tokens_against_plain_loops(d, M):
    model, batch = layer(d), prompts(d, M)
    found = model.tokens(embed(batch))
    for b in range(3):
        by_loops = loops(model.W_PV, model.W_KQ, batch.x[b], batch.y[b], batch.x_query[b])
        expected = torch.tensor(by_loops, dtype=torch.float64)
        assert torch.allclose(found[b], expected, rtol=1e-12, atol=1e-12)
        assert torch.allclose(model(batch)[b], expected[-1, -1], rtol=1e-12, atol=1e-12)


def test_prediction_by_hand():
    """d = 1, example (2, 4), query 3: E E^T = [[13, 8], [8, 16]], (1, 2) E E^T (1, -1)^T 3 = (5 - 16) 3 = -33."""
    prompt = Prompts(torch.tensor([[[2.0]]]), torch.tensor([[4.0]]), torch.tensor([[3.0]]), torch.tensor([6.0]))
    model = LinearSelfAttention(torch.tensor([[7.0, 8.0], [1.0, 2.0]]), torch.tensor([[1.0, 9.0], [-1.0, 9.0]]))
    assert model(prompt).tolist() == [-33.0]
    assert model.tokens(embed(prompt))[0, 1, 1] == -33.0


def test_two_examples_by_hand():
    """d = 1, examples (1, 1), (2, 2), query 1, W_PV = W_KQ = I: (0, 1) E E^T / 2 (1, 0)^T = (1 + 4) / 2."""
    x, y = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[1.0, 2.0]])
    prompt = Prompts(x, y, torch.tensor([[1.0]]), torch.tensor([1.0]))
    assert LinearSelfAttention(torch.eye(2), torch.eye(2))(prompt).tolist() == [2.5]


@pytest.mark.parametrize(("d", "M"), [(1, 3), (4, 2), (4, 9), (20, 40)])
def test_query_row_equals_the_layer_as_printed(d, M):
    model, batch = layer(d), prompts(d, M, (10,))
    full = model.tokens(embed(batch))[..., -1, -1]
    assert torch.allclose(model(batch), full, rtol=1e-11, atol=1e-11 * float(full.abs().max()))


def test_stacked_weights_are_that_many_models():
    """Weights (S, d+1, d+1) on shared prompts (B, M, d), and on prompts of their own (S, B, M, d)."""
    stack = layer(3, 5)
    shared, own = prompts(3, 4, (6,)), prompts(3, 4, (5, 6))
    on_shared, on_own = stack(shared), stack(own)
    assert on_shared.shape == on_own.shape == (5, 6)
    for s in range(5):
        alone = LinearSelfAttention(stack.W_PV[s], stack.W_KQ[s])
        assert torch.allclose(on_shared[s], alone(shared), rtol=1e-12)
        assert torch.allclose(on_own[s], alone(Prompts(*(part[s] for part in own))), rtol=1e-12)
    full = stack.tokens(embed(own))[..., -1, -1]
    assert torch.allclose(on_own, full, rtol=1e-10, atol=1e-11)


def test_only_the_last_row_and_the_first_columns_matter():
    model, batch = layer(3), prompts(3, 5)
    W_PV, W_KQ = model.W_PV.clone(), model.W_KQ.clone()
    W_PV[:-1], W_KQ[:, -1] = 1e6, -1e6
    assert torch.equal(LinearSelfAttention(W_PV, W_KQ)(batch), model(batch))
    for row, column in [(3, 0), (3, 3)]:
        moved = model.W_PV.clone()
        moved[row, column] += 1
        assert not torch.allclose(LinearSelfAttention(moved, model.W_KQ)(batch), model(batch))
    for row, column in [(0, 0), (3, 1), (1, 2)]:
        moved = model.W_KQ.clone()
        moved[row, column] += 1
        assert not torch.allclose(LinearSelfAttention(model.W_PV, moved)(batch), model(batch))


def test_rescaling_and_the_divisor():
    """(c W_PV, W_KQ / c) predicts the same; repeating the context twice leaves the examples' part as it is."""
    model, batch = layer(3), prompts(3, 5)
    assert torch.allclose(LinearSelfAttention(7 * model.W_PV, model.W_KQ / 7)(batch), model(batch), rtol=1e-12)
    W_PV = model.W_PV.clone()
    W_PV[-1, :-1] = 0  # removes the query's own token
    doubled = Prompts(torch.cat([batch.x] * 2, 1), torch.cat([batch.y] * 2, 1), batch.x_query, batch.y_query)
    without = LinearSelfAttention(W_PV, model.W_KQ)
    assert torch.allclose(without(doubled), without(batch), rtol=1e-12)


def test_the_target_is_never_read():
    model, batch = layer(3), prompts(3, 5)
    assert torch.equal(model(batch._replace(y_query=batch.y_query * torch.nan)), model(batch))
