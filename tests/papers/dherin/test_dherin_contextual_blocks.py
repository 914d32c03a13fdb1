"""Section 2 of Dherin et al.: theory by second routes and by hand, and the layer behind one step of gradient descent."""

import numpy as np
import pytest
import torch

from icl_lib.models.contextual.layers import ContextualLayer, LinearAttention, SoftmaxAttention
from icl_lib.models.contextual.weights import start
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.dherin.gradient_step import ResidualContextAttention, descent_weights
from papers.dherin.theory import contextual_blocks as theory
from papers.dherin.theory import one_step

W = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
A, A_FULL = np.array([1.0, 1.0]), np.array([3.0, 0.0])
LIKE = torch.zeros((), dtype=torch.float64)


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_the_update_by_hand():
    delta = theory.contextual_vector(A_FULL, A)
    assert delta.tolist() == [2, -1]
    update = theory.update(W, delta, A)
    assert update.tolist() == [[1, 1], [-1, -1], [0.5, 0.5]]
    assert theory.update_norm(W, delta, A) == pytest.approx(3 / 2**0.5)
    assert theory.norm_bound(np.diag([3.0, 1.0]), np.array([0.0, 2.0]), np.array([4.0, 0.0])) == pytest.approx(3 * 2 / 4)
    assert theory.redirect(W, A, A_FULL).tolist() == update.tolist()


def test_the_block_without_its_context():
    f, b = (lambda z: np.tanh(z).cumsum()), np.array([0.3, -0.2, 0.1])
    update = theory.update(W, A_FULL - A, A)
    assert theory.block(f, W + update, b, A) == pytest.approx(theory.block(f, W, b, A_FULL), rel=1e-14)
    assert theory.block(f, W, b, A) != pytest.approx(theory.block(f, W, b, A_FULL), rel=0.01)
    assert theory.block(abs, W, -b, A).tolist() == pytest.approx([0.7, 2.2, 1.9])


def test_theory_and_patches_agree():
    W, a, full = draw(7, 5), draw(5, seed=1), draw(5, seed=2)
    found = redirection(*(torch.from_numpy(each) for each in (W, a, full))).numpy()
    assert np.allclose(found, theory.update(W, full - a, a), rtol=1e-12)


def test_the_smallest_by_an_optimiser_and_by_pseudo_inverse():
    """Gradient descent from 0 on |D a - c|^2 stays in the span of c a^T and ends at the smallest solution."""
    W, a, full = draw(6, 4), draw(4, seed=1), draw(4, seed=2)
    target, D = W @ (full - a), np.zeros((6, 4))
    for _ in range(2000):
        D -= 0.05 * np.outer(D @ a - target, a)
    update = theory.update(W, full - a, a)
    assert np.allclose(D, update, rtol=1e-10)
    assert np.allclose(update, np.outer(target, np.linalg.pinv(a[:, None])[0]), rtol=1e-12)
    assert np.linalg.norm(update) == pytest.approx(theory.update_norm(W, full - a, a), rel=1e-13)
    assert np.linalg.norm(update, 2) == pytest.approx(theory.update_norm(W, full - a, a), rel=1e-13)
    assert theory.update_norm(W, full - a, a) <= theory.norm_bound(W, full - a, a)


def test_the_free_part_by_hand_and_by_projection():
    assert theory.free_part(np.array([[2.0, 0.0]]), np.array([1.0, 1.0])).tolist() == [[1, -1]]
    M, a = draw(6, 4), draw(4, seed=1)
    basis = np.linalg.svd(a[None])[2][1:]  # orthonormal, orthogonal to a
    assert np.allclose(theory.free_part(M, a), M @ basis.T @ basis)


def test_any_target_can_be_reached_but_not_from_zero():
    U, h, target = draw(3, 4), draw(4, seed=1), draw(3, seed=2)
    assert np.allclose((U + theory.send(U, h, target)) @ h, target, rtol=1e-12)
    assert theory.send(np.eye(2), np.array([2.0, 0.0]), np.array([0.0, 6.0])).tolist() == [[-1, 0], [3, 0]]
    with pytest.raises(ValueError, match="needs a != 0"):
        theory.update(U, h, 0 * h)


def test_cosines_and_swapped_updates():
    columns, rows = (np.array([1.0, 0.0]), np.array([3.0, 4.0])), (np.array([1.0, 1.0]), np.array([-2.0, 0.0]))
    assert theory.update_cosine(columns, rows) == pytest.approx(-0.6 / 2**0.5)
    W, i, j, change = draw(6, 4), draw(4, seed=1), draw(4, seed=2), draw(4, seed=3)
    one, other = theory.update(W, change, i), theory.update(W, i - j, j)
    product = (one * other).sum() / np.linalg.norm(one) / np.linalg.norm(other)
    assert theory.update_cosine((W @ change, W @ (i - j)), (i, j)) == pytest.approx(product)
    assert np.allclose(theory.swapped(W, change, i, j), (W + one) @ j)
    assert theory.swapped(np.eye(2), np.array([5.0, 0.0]), np.array([1.0, 0.0]), np.array([0.0, 3.0])).tolist() == [0, 3]


def test_random_directions_by_hand_and_by_draws():
    """In the plane cos^2 is at most 1/2 half of the time; in space the cosine is uniform, P(cos^2 <= t) = sqrt(t)."""
    assert theory.aligned_share(0.0, 0.5, 2) == pytest.approx(0.5)
    assert theory.aligned_share(0.0, 0.25, 3) == pytest.approx(0.5)
    assert theory.aligned_share(-1.0, 0.0, 3) == 0
    x = draw(2, 40_000, 5)
    square = (x[0] * x[1]).sum(-1) ** 2 / (x**2).sum(-1).prod(0)
    assert ((square > 0.1) & (square <= 0.4)).mean() == pytest.approx(theory.aligned_share(0.1, 0.4, 5), abs=0.01)
    assert square.mean() == pytest.approx(1 / 5, abs=0.005)


def test_a_joint_patch_by_hand():
    """a_3 = a_1 + a_2: with columns 1, 2 and 3 the relation holds and D = (1, 2); with 1, 2 and 6 it is broken by 3."""
    A0 = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    kept, broken = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 6.0]])
    assert theory.joint_patch(kept, A0, 1e-10) == pytest.approx(np.array([[1.0, 2.0]]))
    assert theory.joint_miss(kept, A0, 1e-10) == pytest.approx(0, abs=1e-15)
    assert theory.joint_miss(broken, A0, 1e-10) == pytest.approx(3 / 3**0.5 / 41**0.5)
    assert theory.joint_patch(broken, A0, 1e-10) == pytest.approx(np.array([[2.0, 3.0]]))
    assert theory.joint_miss(kept, 1e-12 * A0, 1e-10) == pytest.approx(0, abs=1e-12)  # the tolerance is relative


@pytest.mark.parametrize("K", [1, 3, 4, 5, 9])
def test_the_joint_patch_by_least_squares(K):
    A0, columns = draw(4, K), draw(6, K, seed=1)
    found = theory.joint_patch(columns, A0, 1e-10)
    assert np.allclose(found, np.linalg.lstsq(A0.T, columns.T, rcond=None)[0].T, rtol=1e-9)
    miss = np.linalg.norm(found @ A0 - columns) / np.linalg.norm(columns)
    assert theory.joint_miss(columns, A0, 1e-10) == pytest.approx(miss, rel=1e-9, abs=1e-13)
    assert (miss < 1e-12) == (K <= 4) and np.linalg.matrix_rank(found) <= 4
    if K == 1:
        assert np.allclose(found, theory.send(np.zeros((6, 4)), A0[:, 0], columns[:, 0]))


def test_attention_to_one_token_is_linear():
    layer = SoftmaxAttention(heads=2, head_width=3, inputs=4, outputs=5)
    weights = start(layer.shapes, stream(0, "weights"), (), LIKE)
    x = torch.from_numpy(draw(4))
    expected = theory.single_token(weights["W_O"].numpy(), weights["W_V"].numpy(), x.numpy())
    assert np.allclose(layer(weights, x[None]).numpy(), expected, rtol=1e-13)
    assert theory.single_token(np.array([[2.0]]), np.array([[1.0, 3.0]]), np.array([1.0, 1.0])).tolist() == [8]


# --- one step of gradient descent ---------------------------------------------------------------------------------

CASE = (np.array([1.0, 1.0]), np.array([[1.0, 2.0]]), np.array([1.0]), 0.5, np.array([1.0, 0.0]))


def test_one_step_by_hand():
    w, x, y, eta, q = CASE
    assert one_step.loss(w, x, y) == 2 and one_step.gradient(w, x, y).tolist() == [2, 4]
    assert one_step.stepped(*CASE) == 0
    assert one_step.memory(x, y, eta).tolist() == [[-0.5, -1], [-1, -2], [-0.5, -1]]
    assert one_step.attention(x, y, eta, q).tolist() == [0.5, -1, -0.5]
    assert one_step.patch(*CASE).tolist() == [[-1, 0, 0]]
    assert one_step.self_attention_excess(w, eta, np.array([1.0, 2.0])) == -0.5 * 5 * 3


def test_the_gradient_by_autograd_and_the_patch_by_the_theorem():
    w, x, y, q = draw(3), draw(8, 3, seed=1), draw(8, seed=2), draw(3, seed=3)
    leaf = torch.tensor(w, requires_grad=True)
    (0.5 * (torch.from_numpy(x) @ leaf - torch.from_numpy(y)).square().sum()).backward()
    assert np.allclose(leaf.grad.numpy(), one_step.gradient(w, x, y), rtol=1e-12)
    step = (leaf.detach() - 0.1 * leaf.grad) @ torch.from_numpy(q)
    assert one_step.stepped(w, x, y, 0.1, q) == pytest.approx(step.item())
    W, full = np.r_[w, -1.0], one_step.attention(x, y, 0.1, q)
    assert W @ full == pytest.approx(step.item())
    assert one_step.loss(w - 1e-3 * one_step.gradient(w, x, y), x, y) < one_step.loss(w, x, y)
    update = theory.update(W[None], full - np.r_[q, 0.0], np.r_[q, 0.0])
    assert np.allclose(update, one_step.patch(w, x, y, 0.1, q), atol=1e-12)


def test_the_layer_against_the_formula_and_plain_linear_attention():
    d, eta = 3, 0.2
    layer, weights = ResidualContextAttention(d, d + 1), descent_weights(d, eta, LIKE)
    assert isinstance(layer, ContextualLayer) and layer.outputs == d + 1
    tokens = torch.from_numpy(draw(2, 6, d + 1))
    tokens[:, -1, -1] = 0
    for prompt, found in zip(tokens.numpy(), layer(weights, tokens).numpy(), strict=True):
        expected = one_step.attention(prompt[:-1, :-1], prompt[:-1, -1], eta, prompt[-1, :-1])
        assert np.allclose(found, expected, rtol=1e-12)
    itself = tokens[:, -1] + LinearAttention(d, d + 1, d + 1)(weights, tokens)
    w = torch.from_numpy(draw(d, seed=1))
    row = torch.cat([w, -torch.ones(1, dtype=torch.float64)])
    excess = [one_step.self_attention_excess(w.numpy(), eta, prompt[-1, :-1].numpy()) for prompt in tokens]
    assert np.allclose(((itself - layer(weights, tokens)) @ row).numpy(), excess)


def test_the_three_ways_to_ask_the_layer_agree():
    layer = ResidualContextAttention(2, 4)
    weights = start(layer.shapes, stream(0, "any"), (), LIKE)
    tokens, queries = torch.from_numpy(draw(2, 6, 4)), torch.from_numpy(draw(2, 6, 4, seed=1))
    everywhere, prefixes = layer.everywhere(weights, tokens, torch.arange(6)), layer.prefixes(weights, tokens[:, :5], queries)
    for t in range(6):
        assert torch.allclose(layer(weights, tokens[:, : t + 1]), everywhere[:, t])
        assert torch.allclose(layer(weights, torch.cat([tokens[:, :t], queries[:, t : t + 1]], 1)), prefixes[:, t])
    assert torch.equal(layer(weights, tokens[:, :1]), tokens[:, 0])
