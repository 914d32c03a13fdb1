"""Section 4.4 of Dherin et al.: finetuning and alignment in theory, by second routes and by hand."""

import numpy as np
import pytest
import torch

from icl_lib.seeds import stream
from papers.dherin.s4_4_finetuning.finetuned import Plain, draw_tasks
from papers.dherin.theory import finetuning
from papers.dherin.trained import OneBlock


def balanced(generator, rows: int, d: int):
    """Return rows in pairs v, -v with equal u^2: balanced gates, b = 0."""
    half, u = generator.standard_normal((rows // 2, d)), generator.standard_normal(rows // 2)
    return np.concatenate([half, -half]), np.concatenate([u, -u])


def test_loss_share_by_hand_and_by_slow_finetuning():
    assert finetuning.loss_share(np.diag([1.0, 3.0]), 2.0, np.log(2) / 2, 1) == pytest.approx((1 / 2 + 1 / 8) / 2)
    generator = np.random.default_rng(1)
    V, u = balanced(generator, 400, 2)
    u, G = u / np.linalg.norm(u), np.diag([1.0, 2.0])
    V = 30 * V / np.linalg.norm(V, axis=1, keepdims=True)  # long rows: the gates stay
    x, test = generator.standard_normal((4, 1500, 2)), generator.standard_normal((500, 2))
    found = []
    for t, w in enumerate(np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])):
        c, y = 0.0, x[t] @ w
        y = y + [finetuning.prediction(V, np.zeros(400), u, c, G @ each) for each in x[t]]  # the start is subtracted
        path = finetuned_ends(V, u, x[t] @ G.T, y, 1e-3)
        change = np.maximum(test @ G.T @ path.T, 0) @ u - np.maximum(test @ G.T @ V.T, 0) @ u
        found.append(((change - test @ w) ** 2).mean() / ((test @ w) ** 2).mean())
    assert np.mean(found) == pytest.approx(finetuning.loss_share(G.T @ G, 1.0, 1e-3, 1500), abs=0.03)


def finetuned_ends(W, u, a, y, pace):
    """Finetune without biases, keeping the last matrix only."""
    W = W.copy()
    for a_i, y_i in zip(a, y, strict=True):
        hidden = W @ a_i
        W -= 2 * pace * (u @ np.maximum(hidden, 0) - y_i) * np.outer(u * (hidden > 0), a_i)
    return W


def test_limit_by_hand_and_by_mean_squares():
    assert finetuning.limit(np.diag([1.0, 3.0]), 2.0) == 0.125
    x = np.random.default_rng(2).standard_normal((400_000, 3))
    mu = finetuning.limit(2.0 * np.eye(3), 0.5) * 0.5 * 2.0
    v = np.array([0.6, 0.0, 0.8])
    grown = v - mu * x * (x @ v)[:, None]
    assert (grown**2).sum(-1).mean() == pytest.approx(1, abs=0.02)


def test_mean_and_approach_by_many_draws():
    assert finetuning.approach(np.eye(2), np.array([2.0, 5.0]), 7) == pytest.approx((9 / 14) ** 0.5)
    assert finetuning.approach(3 * np.eye(4), np.ones(4), 1) == pytest.approx(0.5)  # (1 + 2)/(1 + 2d + 3)
    assert finetuning.mean_change(np.array([1.0, 2.0]), np.eye(2), np.array([0.0, 3.0]), 0.1, 5).tolist() == [
        [0, 1.5],
        [0, 3.0],
    ]
    generator = np.random.default_rng(3)
    G, w, u = generator.standard_normal((4, 3)), np.array([1.0, -0.5, 2.0]), generator.standard_normal(200)
    V = generator.standard_normal((200, 4))
    x = generator.standard_normal((3000, 8, 3))
    a = x @ G.T
    S = 2 * 0.1 * np.einsum("tj,tjr,tjk->trk", x @ w, u * (a @ V.T > 0), a)
    mean = finetuning.mean_change(u, G, w, 0.1, 8)
    assert np.linalg.norm(S.mean(0) - mean) < 0.05 * np.linalg.norm(mean)
    ratio = np.sqrt(((S * mean).sum((1, 2)) ** 2).mean() / (mean**2).sum() / (S**2).sum((1, 2)).mean())
    assert ratio == pytest.approx(finetuning.approach(G.T @ G, w, 8), abs=0.01)


def test_alignment_and_its_factors():
    S, a, moved = np.diag([3.0, 4.0]), np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert finetuning.share(S, a) == pytest.approx(0.6)
    assert finetuning.query_alignment(np.eye(2), moved, S, a) == pytest.approx(0.5**0.5)
    assert finetuning.alignment(np.eye(2), np.diag([3.0, -4.0])) == pytest.approx(-1 / 50**0.5)
    generator = np.random.default_rng(4)
    W, S, a, delta = (generator.standard_normal(shape) for shape in ((5, 3), (5, 3), 3, 3))
    product = finetuning.share(S, a) * finetuning.query_alignment(W, delta, S, a)
    assert product == pytest.approx(finetuning.alignment(finetuning.patch(W, a, delta), S), rel=1e-12)
    u, G, w = generator.standard_normal(5), generator.standard_normal((3, 2)), np.array([1.0, 2.0])
    fixed = finetuning.fixed_alignment(W @ delta, u, G, w, a)
    assert fixed == pytest.approx(finetuning.alignment(finetuning.patch(W, a, delta), np.outer(u, G @ w)), rel=1e-12)
    moved, a = np.array([3.0, 4.0]), np.array([3.0, 4.0])
    assert finetuning.fixed_alignment(moved, np.array([1.0, 0]), np.eye(2), np.array([0, 1.0]), a) == pytest.approx(0.48)
    with pytest.raises(ValueError, match="no direction"):
        finetuning.alignment(0 * S, S)


def test_mean_share_and_dilution():
    generator = np.random.default_rng(5)
    S, queries = generator.standard_normal((4, 3)), generator.standard_normal((20_000, 3))
    unit = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    measured = np.mean([finetuning.share(S, a) ** 2 for a in queries[:2000]])
    assert finetuning.mean_share(S, unit.T @ unit / len(unit)) == pytest.approx(measured, abs=0.02)
    assert finetuning.mean_share(np.diag([3.0, 4.0]), np.diag([1.0, 0.0])) == pytest.approx(9 / 25)
    assert finetuning.mean_share(S, np.eye(3) / 3) == pytest.approx(1 / 3)
    assert finetuning.diluted(0.25, 0.4) == pytest.approx(0.2)
    even, odd = np.array([3.0, 0, 0]), np.array([0, 4.0, 0])  # S sees the label part alone
    cosine = (even + odd) @ odd / (5 * 4)
    assert cosine == pytest.approx(finetuning.diluted(16 / 25, 1.0))


def test_mean_direction_by_hand_and_by_many_draws():
    """In two dimensions the mean of cos^2/(l cos^2 + m sin^2) over the circle is 1/(l + sqrt(l m))."""
    assert np.allclose(finetuning.mean_direction(np.diag([1.0, 4.0])), np.diag([1 / 3, 1 / 6]))
    assert np.allclose(finetuning.mean_direction(2 * np.eye(5)), np.eye(5) / 10)
    generator = np.random.default_rng(9)
    root, x = generator.standard_normal((3, 3)), generator.standard_normal((200_000, 3))
    K = root @ root.T + np.eye(3)
    x /= np.einsum("qd,de,qe->q", x, K, x)[:, None] ** 0.5
    assert np.allclose(finetuning.mean_direction(K), x.T @ x / len(x), atol=0.01 * np.trace(x.T @ x) / len(x))


def distance_from_the_loss_formula(pace: float, bias: float, H: int = 512, d: int = 2, tasks: int = 600) -> float:
    """Largest distance of the loss of finetuning from the formula, over the loss before, up to pace * i = 2."""
    shapes = (H, 8), (8, d), (H,), (H,)
    W, G, u, b = (torch.randn(shape, generator=stream(k, "wide"), dtype=torch.float64) for k, shape in enumerate(shapes))
    out = torch.cat([torch.zeros(d, H, dtype=torch.float64), u[None] / H**0.5])
    weights = {"W": W / 8**0.5, "b": bias * b, "W_out": out, "b_out": torch.zeros(d + 1, dtype=torch.float64)}
    layer = OneBlock("softmax attention", 3, 6, 2, 10).network().block.joint.layer
    wide = Plain(layer, weights, G / d**0.5)
    prompts, _ = draw_tasks(stream(1, "tasks"), (tasks,), round(2 / pace), d)
    p = [wide.output(wide.hidden(prompts.x_query, D)) for D in wide.finetune(prompts.x, prompts.y, pace)]
    loss = np.array([(each - prompts.y_query).square().mean() for each in p])
    u_squared = wide.u.square().sum().item()
    formula = [finetuning.loss_share(wide.K.numpy(), u_squared, pace, i) for i in range(len(loss))]
    return abs(loss / loss[0] - formula).max()


@pytest.mark.long
def test_slow_finetuning_comes_to_the_formula():
    """Wide and without biases it is close to it for slow rates, and farther off for faster ones and with biases."""
    near = distance_from_the_loss_formula(0.01, 0)
    assert near < 0.03
    assert distance_from_the_loss_formula(0.05, 0) > 2 * near
    assert distance_from_the_loss_formula(0.01, 1.0) > 2 * near


def test_the_mirrored_task_has_the_same_label_at_the_query():
    assert finetuning.mirrored(np.array([7.0]), np.array([[1.0, 1.0]]), np.array([1.0, 0.0]), 2.0).tolist() == [-3]
    generator = np.random.default_rng(6)
    w, x, query = generator.standard_normal(4), generator.standard_normal((9, 4)), generator.standard_normal(4)
    labels = finetuning.mirrored(x @ w, x, query, query @ w)
    other = np.linalg.lstsq(x, labels, rcond=None)[0]
    assert np.allclose(x @ other, labels) and query @ other == pytest.approx(query @ w)
    assert np.linalg.norm(other) == pytest.approx(np.linalg.norm(w))


def test_mean_cosine_by_hand_and_by_many_draws():
    assert finetuning.mean_cosine(2) == pytest.approx(2 / np.pi) and finetuning.mean_cosine(3) == pytest.approx(0.5)
    w, x = np.random.default_rng(7).standard_normal((2, 100_000, 5))
    cosines = abs((w * x).sum(-1)) / np.linalg.norm(w, axis=1) / np.linalg.norm(x, axis=1)
    assert finetuning.mean_cosine(5) == pytest.approx(cosines.mean(), abs=0.005)


def test_a_patch_for_one_query_sees_finetuning_at_that_query_alone():
    """Two changes of one size that do the same to a align alike with every patch at a."""
    generator = np.random.default_rng(8)
    S, a = generator.standard_normal((5, 3)), generator.standard_normal(3)
    mirror = 2 * np.outer(a, a) / (a @ a) - np.eye(3)
    for v in generator.standard_normal((4, 5)):
        one, other = (finetuning.alignment(np.outer(v, a), each) for each in (S, S @ mirror))
        assert one == pytest.approx(other, rel=1e-12)
    joint = finetuning.alignment(S, S @ mirror)
    assert abs(joint - 1) > 0.1
