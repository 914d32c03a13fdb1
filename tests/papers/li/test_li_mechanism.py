"""Section 4 of Li et al.: every formula by a second route and by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from icl_lib.seeds import stream
from papers.li.classification import hinge
from papers.li.patterns import Codes, PatternClassification, orthogonal_patterns, write
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.task_sets import covers, cyclic_tasks, one_sided_tasks
from papers.li.theory import mechanism

PATTERNS = orthogonal_patterns(4, 2, 6, 1.5)
LAW = PatternClassification(PATTERNS, cyclic_tasks(4, 1), 0.7, 0.5)


def random_model(seed=0, size=1.0, m=6):
    generator = stream(seed, "model")
    shapes = dict(W_Q=(5, 8), W_K=(5, 8), W_V=(4, 8), W_O=(m, 4), a=(m,), q=(2,))
    draw = {k: size * torch.randn(shape, generator=generator, dtype=torch.float64) for k, shape in shapes.items()}
    return SoftmaxAttentionMLP(**draw)


def differentiated(model, names, loss):
    """Return the gradients of a loss of the model in some of its weights, by automatic differentiation."""
    leaves = {name: getattr(model, name).clone().requires_grad_() for name in names}
    return [g.numpy() for g in torch.autograd.grad(loss(replace(model, **leaves)), list(leaves.values()))]


# --- the score gradient ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "c"), [(0, 1.0), (1, 1.0), (2, 5.0), (3, 0.01)])
def test_gradients_of_the_hinge_loss_in_queries_and_keys(seed, c):
    model, prompts = random_model(seed, 0.6), LAW.sample(stream(seed, "prompts"), (1,), 5)
    z = prompts.y_query
    exact = differentiated(model, ("W_Q", "W_K"), lambda m: (c - z * m(prompts)).relu().sum())
    attention, contexts = model.attention(prompts)[0].numpy(), model.contexts(prompts)[0].numpy()
    rows = (model.W_O @ model.W_V).numpy()
    phi = mechanism.context_outputs(model.a.numpy(), rows @ (attention @ contexts) > 0, rows, contexts)
    F = float(model(prompts))
    assert attention @ phi == pytest.approx(F, rel=1e-12)
    slope = mechanism.hinge_slope(F, float(z), c)
    G = mechanism.form_gradient(mechanism.score_gradient(attention, phi), contexts, model.query(prompts)[0].numpy())
    assert np.allclose(slope * mechanism.query_gradient(model.W_K.numpy(), G), exact[0], rtol=1e-10, atol=1e-13)
    assert np.allclose(slope * mechanism.key_gradient(model.W_Q.numpy(), G), exact[1], rtol=1e-10, atol=1e-13)


def test_score_gradient_by_hand():
    found = mechanism.score_gradient(np.array([0.5, 0.25, 0.25]), np.array([1.0, -1.0, 0.0]))
    assert found.tolist() == [0.375, -0.3125, -0.0625]
    a, on, rows = np.array([2.0, -1.0]), np.array([True, False]), np.array([[1.0, 3.0], [5.0, 5.0]])
    assert mechanism.context_outputs(a, on, rows, np.array([[1.0, 1.0], [0.0, -1.0]])).tolist() == [8.0, -6.0]
    assert [mechanism.hinge_slope(F, z) for F, z in ((0.5, 1.0), (2.0, 1.0), (2.0, -1.0))] == [-1.0, 0.0, 1.0]
    assert mechanism.hinge_slope(2.0, 1.0, c=3.0) == -1.0


def test_keys_of_the_mean_pattern_have_no_gradient():
    model, prompts = random_model(4), LAW.sample(stream(4, "prompts"), (50,), 7)
    keys, queries = differentiated(model, ("W_K", "W_Q"), lambda m: hinge(prompts.y_query * m(prompts)).mean())
    mean, one = PATTERNS.relevant.mean(0).numpy(), PATTERNS.relevant[0].numpy()
    assert abs(keys[:, :6] @ mean).max() < 1e-13 * abs(keys).max()
    assert abs(keys[:, :6] @ one).max() > 1e-2 * abs(keys).max()
    assert abs(queries[:, :6] @ mean).max() > 1e-2 * abs(queries).max()


# --- the push on the scores -----------------------------------------------------------------------------------------


def every_prompt(a, b, M1, l, alpha, K):
    """All prompts of one task with kappa = +-K on one irrelevant pattern, and their probabilities."""
    others = [k for k in range(M1) if k not in (a, b)]
    cells = [(a, 1, alpha / 2), (b, -1, alpha / 2)]
    cells += [(k, y, (1 - alpha) / len(others) / 2) for k in others for y in (1, -1)]
    contexts = [(k, y, s * K, w / 2) for k, y, w in cells for s in (1, -1)]
    queries = [(k, y, s * K, 1 / 4) for k, y in ((a, 1), (b, -1)) for s in (1, -1)]
    tokens = torch.tensor(list(product(*[contexts] * l, queries)), dtype=torch.float64)
    pattern = tokens[..., 0].long()
    return Codes(pattern, torch.zeros_like(pattern), tokens[..., 2], tokens[..., 1]), tokens[..., 3].prod(-1)


@pytest.mark.parametrize("tasks", [cyclic_tasks(3, 1), cyclic_tasks(3, 2), one_sided_tasks(4)])
def test_first_push_over_every_prompt(tasks):
    """phi_i = c y_i by two neurons that read the label; attention uniform by W_Q = 0; dF/dW_Q = W_K G with W_K = I."""
    M1, l, alpha, c, beta = int(tasks.max()) + 1, 3, 0.7, 0.3, 1.5
    patterns, eye = orthogonal_patterns(M1, 1, M1 + 1, beta), torch.eye(M1 + 2, dtype=torch.float64)
    label = torch.stack([eye[-1], -eye[-1]])
    a, q = torch.tensor([c, -c], dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    model = SoftmaxAttentionMLP(W_Q=0 * eye, W_K=eye, W_V=eye, W_O=label, a=a, q=q)
    found = np.zeros((M1 + 2, M1 + 2))
    for first, second in tasks.tolist():
        codes, weight = every_prompt(first, second, M1, l, alpha, K=0.4)
        prompts = write(codes, patterns)
        assert float(weight.sum()) == pytest.approx(1)
        loss = lambda m, p=prompts, w=weight: (w * hinge(p.y_query * m(p))).sum()  # noqa: E731
        found -= differentiated(model, ("W_Q",), loss)[0] / len(tasks)
    push = mechanism.attention_push(tasks.numpy(), M1, c, alpha, l)
    assert np.allclose(found[:M1, :M1], beta**2 * push, atol=1e-14)
    assert abs(found[M1]).max() < 1e-14 and abs(found[:, M1:]).max() < 1e-14
    assert (abs(found[M1 + 1]).max() < 1e-14) == covers(tasks, M1)  # the label row, 0 when the labels are balanced


def test_laplacian_is_degrees_less_adjacency():
    tasks = cyclic_tasks(6, 3).numpy()
    counts = np.zeros((6, 6))
    np.add.at(counts, (tasks[:, 0], tasks[:, 1]), 1)
    counts += counts.T
    assert np.allclose(mechanism.task_laplacian(tasks, 6) * 18, np.diag(counts.sum(0)) - counts)


def test_push_by_hand():
    push = mechanism.attention_push(np.array([[0, 1], [1, 2], [2, 0]]), M1=3, c=1.0, alpha=1.0, l=2)
    assert np.allclose(push * 24, 3 * np.eye(3) - 1)
    assert mechanism.mode_growth(np.array([0.5]), beta=2.0, alpha=1.0, l=2, total=3.0).tolist() == [1.5]


@pytest.mark.parametrize("tasks", [np.zeros((0, 2), int), np.array([[1, 1]]), np.array([[0, 3]]), np.array([[-1, 0]])])
def test_laplacian_refuses(tasks):
    with pytest.raises(ValueError, match="pairs of different patterns"):
        mechanism.task_laplacian(tasks, 3)


def test_modes_follow_from_small_steps():
    """Many small steps W_Q += eta W_K X, W_K += eta W_Q X^T, X = beta^2 P, from delta I."""
    tasks, M1, l, alpha, beta, delta, eta, steps = cyclic_tasks(5, 1).numpy(), 5, 20, 0.8, 2.0, 0.2, 1e-3, 400
    W_Q = W_K = delta * np.eye(M1)
    X = beta**2 * mechanism.attention_push(tasks, M1, 1.0, alpha, l)
    for _ in range(steps):
        W_Q, W_K = W_Q + eta * mechanism.query_gradient(W_K, X), W_K + eta * mechanism.key_gradient(W_Q, X)
    eigenvalue, basis = np.linalg.eigh(mechanism.task_laplacian(tasks, M1))
    grown = np.log(np.einsum("jm,jk,km->m", basis, W_K.T @ W_Q, basis) / delta**2)
    assert np.allclose(grown, mechanism.mode_growth(eigenvalue, beta, alpha, l, eta * steps), rtol=1e-3, atol=1e-12)


def test_eigenspaces_whatever_the_basis():
    assert [len(mechanism.eigenspaces(np.diag([0.0, apart]))[0]) for apart in (0.5e-9, 1.5e-9)] == [1, 2]
    """One cycle of six patterns has eigenvalues 0, 1/6, 1/2, 2/3 with multiplicities 1, 2, 2, 1; (0, 0, 3) by hand."""
    laplacian = mechanism.task_laplacian(cyclic_tasks(6, 1).numpy(), 6)
    eigenvalue, P = mechanism.eigenspaces(laplacian)
    assert np.allclose(eigenvalue, [0, 1 / 6, 1 / 2, 2 / 3]) and np.einsum("nii->n", P) == pytest.approx([1, 2, 2, 1])
    assert np.allclose(np.einsum("n,nij->ij", eigenvalue, P), laplacian) and np.allclose(P.sum(0), np.eye(6))
    assert np.allclose(mechanism.mean_on_spaces(P, laplacian), eigenvalue)
    turned = mechanism.eigenspaces(np.diag([0.0, 3.0, 0.0]))[1]
    scores = np.array([[1.0, 7.0, 2.0], [0.0, 4.0, 0.0], [5.0, 0.0, 3.0]])
    assert mechanism.mean_on_spaces(turned, np.stack([scores, 2 * scores])).tolist() == [[2.0, 4.0], [4.0, 8.0]]


# --- the odds law ---------------------------------------------------------------------------------------------------


def test_odds_law_against_a_softmax():
    scores = np.array([1.7, 1.7, 0.2, 0.2, 0.2])
    assert mechanism.attention_mass(2, 5, 1.5) == pytest.approx(np.exp(scores)[:2].sum() / np.exp(scores).sum(), rel=1e-14)
    assert mechanism.attention_mass(2, 4, np.log(3)) == pytest.approx(0.75)
    start = mechanism.attention_mass_from_gap(np.array([0.0, 800.0]), 3, 0.4)
    assert start == pytest.approx([0.4 / (1 - 0.6**3), 1.0])  # E[n | n >= 1] / l, and everything on the query's pattern
    two = (2 * 0.4 * 0.6 * 3 / 4 + 0.4**2) / (1 - 0.6**2)
    assert mechanism.attention_mass_from_gap(np.array([np.log(3)]), 2, 0.4) == pytest.approx([two])


def test_gap_by_hand_and_against_a_long_prompt():
    scores = stream_matrix(3)
    others = np.array([[0.0, 1.0, 0.25], [0.5, 0.0, 0.75], [0.5, 0.0, 0.0]])
    gap = mechanism.score_gap(scores, others)
    assert gap[1] == pytest.approx(scores[1, 1] - scores[0, 1])
    counts = 40 * np.array([0.25, 0.75, 0.0]) + np.array([0, 0, 10])  # contexts under a query with pattern 2
    mass = (counts * np.exp(scores[:, 2]))[2] / (counts * np.exp(scores[:, 2])).sum()
    assert mechanism.attention_mass(10, 50, gap[2]) == pytest.approx(mass, rel=1e-13)
    assert np.exp(mechanism.score_gap(np.log(2) * np.eye(3), (1 - np.eye(3)) / 2)) == pytest.approx([2, 2, 2])


@pytest.mark.parametrize("others", [np.full((3, 3), 1 / 3), np.ones((3, 3)) - np.eye(3)])
def test_gap_refuses(others):
    with pytest.raises(ValueError, match="sum 1, diagonal 0"):
        mechanism.score_gap(np.eye(3), others)


def stream_matrix(n):
    return torch.randn(n, n, generator=stream(0, "scores"), dtype=torch.float64).numpy()


def test_label_signal_over_drawn_prompts():
    codes = LAW.codes(stream(1, "signal"), (60_000,), 6)
    same = codes.pattern[:, :-1] == codes.pattern[:, -1:]
    attention = (1.2 * same).double().softmax(-1)
    drawn = float((codes.y[:, -1] * (attention * codes.y[:, :-1]).sum(-1)).mean())
    assert mechanism.label_signal(float((attention * same).sum(-1).mean()), 0.35) == pytest.approx(drawn, abs=0.006)
    assert mechanism.label_signal(2 / 3, 1 / 3) == pytest.approx(0.5)
    assert mechanism.label_signal(0.35, 0.35) == pytest.approx(0, abs=1e-15)


# --- the push on the neurons ----------------------------------------------------------------------------------------


def test_row_push_is_minus_the_gradient():
    model, prompts = random_model(5, 0.3), LAW.sample(stream(5, "prompts"), (40,), 5)
    z = prompts.y_query
    assert float((z * model(prompts)).max()) < 1
    (slope,) = differentiated(model, ("W_O",), lambda m: hinge(z * m(prompts)).mean())
    average = torch.einsum("bl,blj->bj", model.attention(prompts), model.contexts(prompts)).numpy()
    value = average @ model.W_V.numpy().T
    for r, (a_r, row) in enumerate(zip(model.a.numpy(), model.W_O.numpy(), strict=True)):
        assert np.allclose(mechanism.row_push(float(a_r), z.numpy(), value @ row > 0, value), -slope[r], atol=1e-14)


@pytest.mark.parametrize("on", list(product([True, False], repeat=2)))
@pytest.mark.parametrize("a_r", [0.5, -0.5])
def test_two_clusters_are_two_prompts(a_r, on):
    mu_bar, q = np.array([1.0, 0.0]), np.array([2.0])
    clusters = np.array([[1.0, 0.0, 2.0], [1.0, 0.0, -2.0]])
    push = mechanism.two_cluster_push(a_r, *on, mu_bar, q)
    assert np.allclose(push, mechanism.row_push(a_r, np.array([1.0, -1.0]), np.array(on), clusters))


def test_two_clusters_by_hand():
    mu_bar, q = np.array([1.0, 0.0]), np.array([2.0])
    assert mechanism.two_cluster_push(0.5, True, True, mu_bar, q).tolist() == [0.0, 0.0, 1.0]
    assert mechanism.two_cluster_push(-0.5, False, True, mu_bar, q).tolist() == [0.25, 0.0, -0.5]
    assert mechanism.two_cluster_push(0.5, False, True, mu_bar, q).tolist() == [-0.25, 0.0, 0.5]
    assert not mechanism.two_cluster_push(0.5, False, False, mu_bar, q).any()


def followed(rows, mu_bar, q, steps=8000, step=0.01):
    """Rows with a_r = 1 after many small steps of the push of two clusters; those that are active on each at the end."""
    right, wrong = np.concatenate([mu_bar, q]), np.concatenate([mu_bar, -q])
    both, first, second = (
        mechanism.two_cluster_push(1.0, *on, mu_bar, q) for on in ((True, True), (True, False), (False, True))
    )
    for _ in range(steps):
        on_right, on_wrong = rows @ right > 0, rows @ wrong > 0
        pushes = np.select([(on_right & on_wrong)[:, None], on_right[:, None], on_wrong[:, None]], [both, first, second], 0.0)
        rows = rows + step * pushes
    return rows @ right > 0, rows @ wrong > 0


@pytest.mark.parametrize(("beta", "q", "turned"), [(2.0, 1.0, 0.113), (4.0, 0.5, 0.0)])
def test_rows_active_on_the_wrong_label_only_end_as_the_third_case_says(beta, q, turned):
    """Settings A and B: |mu_bar| = beta/sqrt(6); the share that turns to the right label is that of the angles."""
    mu_bar, q = np.array([beta / 6**0.5]), np.array([q])
    rows = np.random.default_rng(0).standard_normal((4000, 2))
    start = rows[(rows @ [*mu_bar, *q] <= 0) & (rows @ [*mu_bar, *-q] > 0)]
    heard, _ = followed(start, mu_bar, q)
    rule = q @ q * (start[:, :1] @ mu_bar) + mu_bar @ mu_bar * (start[:, 1:] @ q)
    clear = abs(rule) > 0.03
    assert np.array_equal(heard[clear], rule[clear] > 0)
    assert heard.mean() == pytest.approx(turned, abs=0.02)
    wedge = np.arctan2(mu_bar[0], q[0])
    assert max(0.0, 1 - np.pi / 2 / (np.pi - 2 * wedge)) == pytest.approx(turned, abs=1e-3)
