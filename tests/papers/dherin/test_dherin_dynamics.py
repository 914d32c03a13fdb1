"""Section 3: theory by second routes and by hand, experiments on tiny declarations, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.companion import FAILS, HOLDS, Claim
from icl_lib.patches.rank_one import redirection
from papers.dherin.s3_implicit_dynamics import claims, consumed
from papers.dherin.s3_implicit_dynamics import dynamics as dynamics_run
from papers.dherin.s3_implicit_dynamics import left_consuming as left_run
from papers.dherin.s3_implicit_dynamics import linear_loss as loss_run
from papers.dherin.s3_implicit_dynamics.consumed import even, random_cases
from papers.dherin.s3_implicit_dynamics.dynamics import DYNAMICS
from papers.dherin.s3_implicit_dynamics.left_consuming import LEFT_CONSUMING
from papers.dherin.s3_implicit_dynamics.linear_loss import LINEAR_LOSS
from papers.dherin.s3_implicit_dynamics.order import ORDER, context_orders
from papers.dherin.theory import dynamics
from papers.dherin.trained import OneBlock, Training
from tests.elsewhere import move_book

SMALL = OneBlock("softmax attention", d=1, width=6, heads=2, hidden=7)
TRAINING = Training("", SMALL, N=6, every_prefix=False, B=2, rate=1e-3, steps=1, replicates=3)
LAYERS = ("softmax attention", "tanh RNN")
SIZES = dict(layers=LAYERS, d=2, N=5, width=6, heads=2, hidden=7, networks=1, prompts=2, training=TRAINING)
TINY = {
    "dherin-dynamics": replace(DYNAMICS.quick, **SIZES),
    "dherin-order": replace(ORDER.quick, **SIZES | dict(N=30), orders=3, drawn_orders=3),
    "dherin-left-consuming": replace(LEFT_CONSUMING.quick, **SIZES),
    "dherin-linear-loss": replace(LINEAR_LOSS.quick, training=TRAINING, N=6, prompts=3, tasks=50, slope_at=(1.0, 1e6)),
}
ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
W_0, A = np.diag([1.0, 2.0]), np.array([[2.0, 0.0], [2.0, 1.0], [0.0, 3.0]])


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        move_book(patch, build=tmp_path_factory.mktemp("made"))
        yield {slug: each.expect(each.run(0, "cpu"), 0).assign_attrs(slug=slug) for slug, each in TINY.items()}


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_path_steps_and_falls_by_hand():
    W, Delta, h = dynamics.path(W_0, A), dynamics.step_matrices(W_0, A), dynamics.rate(A[0])
    assert h == 0.25
    assert W.tolist() == [[[1, 0], [0, 2]], [[1, 0], [1, 2]], [[0, 0], [3, 2]]]
    assert Delta.tolist() == [[[0, 0], [-4, 0]], [[4, 0], [-8, 0]]]
    assert dynamics.follow(W_0, Delta, h).tolist() == W.tolist()
    assert dynamics.follow(W_0, Delta[1:], h)[1].tolist() == dynamics.ahead(W)[1].tolist() == [[0, 0], [2, 2]]
    assert dynamics.falls(W_0, A).tolist() == dynamics.decrease(Delta, np.array([h, h])).tolist() == [4, 20]
    assert (dynamics.linear_loss(Delta, W[:-1]) - dynamics.linear_loss(Delta, W[1:])).tolist() == [4, 20]


def test_path_is_the_patches():
    W, a = torch.from_numpy(draw(0, 7, 6)), torch.from_numpy(draw(1, 3, 9, 6))
    assert np.allclose(dynamics.path(W.numpy(), a.numpy()), W + redirection(W, a[:, :1], a), rtol=1e-12)


def test_vectors_have_the_geometry_of_the_matrices():
    W, a = draw(2, 7, 6), draw(3, 9, 6)
    change, vectors = dynamics.path(W, a) - W, dynamics.path_vectors(W, a)
    assert np.allclose(np.einsum("imn,jmn->ij", change, change), vectors @ vectors.T)
    assert np.allclose(np.linalg.norm(dynamics.path_vectors(W_0, A), axis=1), [0, 1, np.sqrt(10)])


def test_gradients_by_finite_differences():
    W, V, a, next_a = draw(4, 7, 6), draw(5, 7, 6), draw(6, 6), draw(7, 6)
    Delta = dynamics.step_matrices(W, np.stack([a, next_a]))[0]
    target, D, t = W @ next_a, np.outer(a - next_a, a), 1e-5
    for loss, gradient in (
        (lambda M: np.trace(Delta.T @ M), Delta),
        (lambda M: np.trace((M @ D).T @ M), dynamics.moving_gradient(W, a - next_a, a)),
        (lambda M: dynamics.quadratic_loss(M, a, target), dynamics.quadratic_gradient(W, a, target)),
    ):
        slope = (loss(W + t * V) - loss(W - t * V)) / (2 * t)
        assert slope == pytest.approx((gradient * V).sum(), rel=1e-8)
    assert dynamics.linear_loss(Delta, V) == pytest.approx(np.trace(Delta.T @ V))


def test_the_squared_error_has_the_same_steps():
    W = dynamics.path(W_0, A)
    assert dynamics.quadratic_gradient(W[1], A[0], W_0 @ A[2]).tolist() == dynamics.step_matrices(W_0, A)[1].tolist()
    assert dynamics.quadratic_loss(W[2], A[0], W_0 @ A[2]) == 0 and dynamics.quadratic_loss(W[1], A[0], W_0 @ A[2]) == 10


def test_any_sequence_descends():
    V = draw(8, 5, 3, 4)
    losses = dynamics.frozen_gradients(V, 0.3)
    assert np.allclose(dynamics.follow(V[0], losses, np.array(0.3)), V)
    fall = dynamics.linear_loss(losses, V[:-1]) - dynamics.linear_loss(losses, V[1:])
    assert np.allclose(fall, (np.diff(V, axis=0) ** 2).sum((1, 2)) / 0.3) and (fall > 0).all()


def test_left_consuming_by_hand():
    b = np.array([[2.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    W, least = dynamics.left_consuming(np.eye(2), b), dynamics.left_least(np.eye(2), b)
    assert W[1:].tolist() == [[[1.5, 0.5], [0, 1]], [[2, 0.5], [1, 1]]]
    assert [(W[i] @ b[i]).tolist() for i in range(3)] == [[2, 1]] * 3
    assert least[2].tolist() == [[1, 0], [1, 0]] and np.linalg.matrix_rank(W[2] - W[0]) == 2
    nearly = np.array([1.0, 1e-9])  # whose cosine with the first axis is 1 in float64
    assert dynamics.skew(np.array([2.0, 0.0]), nearly) == pytest.approx(np.sqrt(2) * 2e-9)
    assert dynamics.skew(b[0], b[1]) == pytest.approx(1) and dynamics.skew(b[1], b[2]) == pytest.approx(np.sqrt(2))


def test_left_consuming_keeps_the_product_and_the_least_norm():
    W, b = draw(9, 7, 6), draw(10, 2, 9, 6)
    found, least = dynamics.left_consuming(W, b), dynamics.left_least(W, b)
    assert np.allclose(np.einsum("pimk,pik->pim", found, b), np.einsum("mk,pk->pm", W, b[:, 0])[:, None])
    assert np.allclose(dynamics.left_product(W, b[1]), found[1, -1])
    rest = found - W - least
    assert np.allclose((rest * least).sum((2, 3)), 0, atol=1e-9)
    solution = np.linalg.pinv(b[0, 4][:, None])  # the least matrix D with D b_4 = W (b_0 - b_4)
    assert np.allclose(least[0, 4], np.outer(W @ (b[0, 0] - b[0, 4]), solution[0]))


def test_skewness_of_the_step_is_the_angle():
    b = torch.from_numpy(draw(11, 3, 2, 6))  # one step: the median over i is that step
    found = left_run.skewness(left_run.left_step, b)
    assert np.allclose(found, dynamics.skew(b[:, 0].numpy(), b[:, 1].numpy()))
    assert left_run.skewness(left_run.quadratic_step, b).max() < 1e-14
    parallel = torch.stack([3 * b[:, 1], b[:, 1]], 1)
    assert left_run.skewness(left_run.left_step, parallel).max() < 1e-14


def test_bounds_by_hand():
    assert dynamics.rank_bound(30, 128, 32, 24) == 24 and dynamics.rank_bound(3, 128, 32, 24) == 3
    assert dynamics.rank_bound(30, 5, 32, 24) == 5 and dynamics.rank_bound(30, 128, 7, 24) == 7
    assert dynamics.attention_span(8, 4, 3, 32) == 24 and dynamics.attention_span(1, 32, 10, 32) == 10
    assert even(4) == 4 and even(5) == 4 and even(1) == 2


def test_attention_spans_no_more_than_that():
    model = OneBlock("softmax attention", d=2, width=32, heads=4, hidden=9)
    case = next(random_cases(model, 1, 300, 3, 0))
    values = case.prefixes()[:, -1]
    assert left_run.span(case.block.joint.layer) == 12 == torch.linalg.matrix_rank(values, rtol=1e-10)


@pytest.mark.parametrize(("d", "heads", "expected"), [(2, 1, 2), (2, 8, 3), (3, 2, 5), (3, 8, 6), (4, 2, 7)])
def test_a_token_moves_linear_attention_in_few_dimensions(d, heads, expected):
    """Ranks of the end and of the differences of A, heads written out; labels without noise."""
    q, N, n, width = np.append(draw(1, d), 0), 25, d + 1, 40
    x, w, R, W_O = draw(2, N, d), draw(3, d), draw(4, heads, n, n), draw(5, heads, width, n)
    tokens = np.concatenate([x, (x @ w)[:, None]], 1)
    each = np.einsum("hkn,tn,tm,hml,l->tk", W_O, tokens, tokens, R, q)
    own = np.einsum("hkn,n,m,hml,l->k", W_O, q, q, R, q)
    b = own + np.concatenate([each[::-1].cumsum(0)[::-1], np.zeros((1, width))])
    change = dynamics.left_consuming(draw(6, 50, width), b)[-1] - draw(6, 50, width)
    ranks = [left_run.rank(each[None]).item() for each in (change, np.diff(b, axis=0))]
    assert ranks == [dynamics.linear_span(heads, d)] * 2 == [expected] * 2


def test_prefixes_and_suffixes_against_the_layer():
    case = next(random_cases(SMALL, 1, 2, 5, 0))
    layer, tokens = case.block.joint.layer, case.tokens
    assert torch.allclose(case.prefixes()[:, 2], layer(case.weights, tokens[:, [0, 1, 5]]))
    assert torch.allclose(case.suffixes()[:, 2], layer(case.weights, tokens[:, 2:]))
    back = case.along(torch.arange(5).flip(0))
    assert torch.equal(back.tokens[:, [0, 5]], tokens[:, [4, 5]])
    whole = case.block(case.weights, tokens)[:, -1]
    assert torch.allclose(case.output(case.W, case.prefixes()[:, -1:])[:, 0], whole)


def test_false_contexts_keep_what_they_should():
    tokens = torch.from_numpy(draw(12, 4, 6, 3))
    shuffled, noise = (loss_run.context(kind, tokens, 0) for kind in ("shuffled labels", "noise tokens"))
    assert torch.equal(shuffled[..., :-1], tokens[..., :-1]) and not torch.equal(shuffled, tokens)
    assert torch.equal(shuffled[:, :-1, -1].sort(1).values, tokens[:, :-1, -1].sort(1).values)
    assert torch.equal(noise[:, -1], tokens[:, -1]) and not (noise[:, :-1] == tokens[:, :-1]).any()
    many = loss_run.context("noise tokens", torch.zeros(50, 41, 5, dtype=torch.float64), 0)[:, :-1]
    assert many.flatten(0, 1).std(0).tolist() == pytest.approx([1, 1, 1, 1, 2], rel=0.1)
    assert torch.equal(loss_run.context("true labels", tokens, 0), tokens)


def test_orders_are_permutations():
    orders = context_orders(7, 4, 0)
    assert len(orders) == 4 and orders[1].tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert all(sorted(order.tolist()) == list(range(7)) for order in orders)
    assert len(context_orders(7, 1, 0)) == 1


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="needs A != 0"):
        dynamics.path(np.eye(2), np.zeros((3, 2)))
    for declaration in TINY.values():
        with pytest.raises(ValueError, match="at least 2"):
            replace(declaration, N=1).run(0, "cpu")
    with pytest.raises(ValueError, match="at least 2"):
        replace(TINY["dherin-order"], orders=1).run(0, "cpu")
    with pytest.raises(ValueError, match="take from 1 to all"):
        replace(TINY["dherin-linear-loss"], prompts=301).run(0, "cpu")


@pytest.mark.parametrize("slug", TINY)
def test_experiments_on_tiny_declarations(slug, datasets):
    dataset = datasets[slug]
    if slug == "dherin-left-consuming":
        assert np.allclose(dataset.ratios.sel(i=1), 1, rtol=1e-6) and (dataset.ranks.sel(i=1) == 1).all()  # one token
        assert (dataset.ranks.isel(share=1) <= dataset.ranks.isel(share=0)).all()
    if slug == "dherin-linear-loss":
        assert np.allclose(dataset.fall, dataset.fall_of_moves) and dataset.up.max() == 0
    if slug == "dherin-order":
        assert dataset.distance.isel(i=0).max() == 0 and 0.3 < dataset.kept <= 1


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_hold_and_their_controls_fail(claim, datasets):
    """The networks are all but untrained here; errors that need training are put in by hand."""
    dataset = datasets[claim.experiment]
    if claim is claims.D17d:
        error = dataset.error.copy(data=np.ones(dataset.error.shape))
        error.loc[dict(kind="true labels", i=6)] = 0.1
        dataset = dataset.assign(error=error)
    judged = claim.judge(dataset)
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS)


def only_random(monkeypatch, slug):
    monkeypatch.setattr(consumed, "trained_cases", lambda *arguments: iter(()))
    return replace(TINY[slug], networks=1)


@pytest.mark.parametrize(
    "fault, red",
    [
        (lambda W, a: dynamics.step_matrices(W, a)[..., ::-1, :, :].copy(), (claims.D13, claims.D17)),
        (lambda W, a: -dynamics.step_matrices(W, a), (claims.D13, claims.D17e)),
        (lambda W, a: dynamics.step_matrices(W, a) * (1 + 1e-9), (claims.D13, claims.D17)),
    ],
    ids=["order", "sign", "size"],
)
def test_a_wrong_step_is_seen(monkeypatch, fault, red):
    declaration = only_random(monkeypatch, "dherin-dynamics")
    broken = type("Theory", (), {**vars(dynamics), "step_matrices": staticmethod(fault)})
    monkeypatch.setattr(dynamics_run, "dynamics", broken)
    dataset = declaration.run(0, "cpu")
    for claim in red:
        assert claim.check(dataset).verdict(claim.margin) == FAILS


def test_an_epsilon_in_the_left_rate_is_seen(monkeypatch):
    declaration, rate = only_random(monkeypatch, "dherin-left-consuming"), dynamics.rate
    monkeypatch.setattr(dynamics, "rate", lambda a: 1 / (1 / rate(a) + 1e-8))
    assert claims.D19.check(declaration.run(0, "cpu")).verdict(claims.D19.margin) == FAILS
