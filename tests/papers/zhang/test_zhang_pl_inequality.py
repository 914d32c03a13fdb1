"""Section 5.3: balance, bounds, PL constant and the rank-one point, by a second route and by hand."""

import numpy as np
import pytest
from scipy.optimize import brentq
from zhang_instances import SKEW, covariance, draw

from papers import registry
from papers.zhang import reduced_flow
from papers.zhang.flow import gradient_flow
from papers.zhang.s5_3_pl_inequality.figures import long_prompts
from papers.zhang.s5_3_pl_inequality.long_prompts import balanced, settle
from papers.zhang.s5_3_pl_inequality.rank_one_trap import edge
from papers.zhang.theory import dynamics, full_loss, optimum, pl_inequality, rank_one_trap, wall


def test_pl_constant_and_bound_by_hand():
    one = np.eye(1)
    assert pl_inequality.headroom(one, 2, 0.5) == 1.5
    assert pl_inequality.u_last_squared_bound(one, 2, one, 0.5) == pytest.approx(3 / 16)
    assert pl_inequality.pl_constant(one, 2, one, 0.5) == pytest.approx(3 / 4)
    # Lambda = diag(2, 1), N = 2, Gamma = diag(4.5, 3); Theta = diag(1, 0): ||Lambda Theta||^2 = 4.
    Theta = np.diag([1.0, 0.0])
    bracket = 2 - 2**0.5 * 0.01 * 4.5
    assert pl_inequality.u_last_squared_bound(SKEW, 2, Theta, 0.1) == pytest.approx(0.01 / (8 * 2**0.5) * 4 * bracket)
    traces = (1 / 9 + 1 / 3) * 1.5
    assert pl_inequality.pl_constant(SKEW, 2, Theta, 0.1) == pytest.approx(0.01 * 4 * bracket / (2**0.5 * 4 * traces))
    # gap(0) = 3/2 at Gamma = 2: ceiling^2 = 1/2 + sqrt(3/2).
    assert pl_inequality.u_last_ceiling(one, 2, 1.5) == pytest.approx((0.5 + 1.5**0.5) ** 0.5)
    assert pl_inequality.u_last_bound_any_sigma(one, 2, one, 9.0, 1.5) == pytest.approx(0.5 / (0.5 + 1.5**0.5) ** 0.5)
    assert pl_inequality.u_last_bound_any_sigma(one, 2, one, 0.01, 0.0) == pytest.approx(0.01)
    # Lambda = diag(2, 1/2), N = 2: Gamma = diag(17/4, 2), lambda_min(Gamma Lambda) lambda_min(Lambda) = 1 * 1/2.
    ceiling = ((16 / 289 + 1 / 4) ** 0.5 + 2) ** 0.5
    assert pl_inequality.u_last_ceiling(np.diag([2.0, 0.5]), 2, 1.0) == pytest.approx(ceiling)


def test_bounds_do_not_depend_on_the_basis():
    diagonal, Theta = np.diag([2.0, 0.5, 0.3]), draw(3, 2)
    Theta /= np.sqrt(np.linalg.norm(Theta @ Theta.T))
    turn = np.linalg.qr(draw(3, 3, seed=1))[0]
    turned = turn @ diagonal @ turn.T
    turned = (turned + turned.T) / 2
    for bound in (
        lambda Lambda, Theta: pl_inequality.u_last_bound_any_sigma(Lambda, 4, Theta, 0.3, 0.7),
        lambda Lambda, Theta: pl_inequality.u_last_squared_bound(Lambda, 4, Theta, 0.3),
        lambda Lambda, Theta: pl_inequality.pl_constant(Lambda, 4, Theta, 0.3),
    ):
        assert bound(turned, turn @ Theta) == pytest.approx(bound(diagonal, Theta), rel=1e-12)
    plain = np.minimum(0.3 * np.diag(Theta @ Theta.T), 1 / pl_inequality.u_last_ceiling(diagonal, 4, 0.7) / GAMMA)
    assert pl_inequality.u_last_bound_any_sigma(diagonal, 4, Theta, 0.3, 0.7) == pytest.approx(np.linalg.norm(plain))


GAMMA = np.array([3.2, 1.325, 1.075])
"""Gamma of diag(2, 0.5, 0.3) at N = 4, by hand: 1.25 lambda + 0.7."""


@pytest.mark.parametrize(("d", "N", "kappa", "share"), [(1, 3, 1.0, 0.2), (3, 2, 10.0, 0.9), (4, 30, 8.0, 40.0)])
def test_bounds_hold_along_a_flow(d, N, kappa, share):
    Lambda, Theta = covariance(d, kappa), draw(d, 2, seed=d)
    Theta /= np.sqrt(np.linalg.norm(Theta @ Theta.T))
    sigma = (2 * share / (d**0.5 * np.linalg.norm(optimum.Gamma(Lambda, N), 2))) ** 0.5
    times = np.append(0, np.geomspace(1e-3, 25, 60) / reduced_flow.relaxation_rate(Lambda, N))
    flow = reduced_flow.reduced_flow(Lambda, N, reduced_flow.balanced_start(Theta, sigma), times)
    least = min(weights.u_last for weights in flow)
    gaps = np.array([dynamics.gap(Lambda, N, weights) for weights in flow])
    assert np.allclose(flow[-1].u_last * flow[-1].U_11, np.linalg.inv(optimum.Gamma(Lambda, N)), rtol=1e-6, atol=1e-7)
    assert least >= pl_inequality.u_last_bound_any_sigma(Lambda, N, Theta, sigma, gaps[0]) * (1 - 1e-9)
    assert max(weights.u_last for weights in flow) <= pl_inequality.u_last_ceiling(Lambda, N, gaps[0])
    if share < 1:
        assert least**2 >= pl_inequality.u_last_squared_bound(Lambda, N, Theta, sigma) > 0
        mu = pl_inequality.pl_constant(Lambda, N, Theta, sigma)
        assert (gaps <= gaps[0] * np.exp(-mu * times) + 1e-12).all()
    else:
        assert pl_inequality.headroom(Lambda, N, sigma) < 0


@pytest.mark.parametrize("kappa", [1.5, 4.0, 40.0])
@pytest.mark.parametrize(("d", "N"), [(2, 1), (2, 12), (3, 5), (4, 60)])
def test_rank_one_point(d, N, kappa):
    Lambda = covariance(d, kappa)
    U = rank_one_trap.rank_one_point(Lambda, N)
    eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
    assert abs(full_loss.full_gradient(Lambda, N, U)).max() < 1e-12 * eigenvalues[-1]
    assert full_loss.full_loss(Lambda, N, U) == pytest.approx(rank_one_trap.rank_one_loss(Lambda, N), rel=1e-11)
    margin = rank_one_trap.trap_margin(Lambda, N)
    assert (eigenvalues[0] > -1e-12 * eigenvalues[-1]) == (margin > 0)
    # The margin is what eliminating U_11 leaves of the curvature in u_-1, over that curvature.
    grid = np.arange((d + 1) ** 2).reshape(d + 1, d + 1)
    U_11, u_last = grid[:d, :d].ravel(), grid[d, d]
    curvature = full_loss.full_hessian(Lambda, N, U)
    coupling, own = curvature[u_last, U_11], curvature[u_last, u_last]
    eliminated = coupling @ np.linalg.solve(curvature[np.ix_(U_11, U_11)], coupling)
    assert margin == pytest.approx(1 - eliminated / own, rel=1e-8)


def test_rank_one_point_by_hand():
    assert rank_one_trap.rank_one_loss(SKEW, 2) == pytest.approx(19 / 18, rel=1e-14)
    # d = 1, N = 1, Lambda = 1: rho = 1/3, K = 3 (1 + 2) + 1 + (1 + 5 + 8) = 24, h = (1 + 3 + 2)/3 = 2, k rho^2 = 9/9.
    assert rank_one_trap.trap_margin(np.eye(1), 1) == pytest.approx(1 - 4 / 24, rel=1e-13)
    # Lambda = diag(2, 1), N = 2: 2 * 1 against 2 * 5.
    assert rank_one_trap.trap_margin_leading(SKEW, 2) == pytest.approx(1 - 2 / 10, rel=1e-14)


def test_criterion_to_leading_order_changes_sign_where_the_exact_one_does_at_long_prompts():
    Lambda, near = np.diag([1.0, 0.1]), np.diag([1.0, 0.6])
    found, short = edge(Lambda), edge(near)
    assert rank_one_trap.trap_margin(near, 0.999 * short) > 0 > rank_one_trap.trap_margin(near, 1.001 * short)
    assert np.isnan(edge(np.eye(1)))
    assert found == pytest.approx(brentq(lambda N: rank_one_trap.trap_margin_leading(Lambda, N), 1, 1e4), rel=1e-3)


def test_perturbed_trap_flows_back():
    Lambda = covariance(3, 40.0)
    U = rank_one_trap.rank_one_point(Lambda, 5)
    assert rank_one_trap.trap_margin(Lambda, 5) > 0
    start = (U + 0.01 * draw(4, 4)).ravel()
    end = gradient_flow(
        lambda theta: -full_loss.full_gradient(Lambda, 5, theta.reshape(4, 4)).ravel(),
        start,
        np.array([0.0, 30.0]),
        rtol=1e-7,
        atol=1e-9,
    )[-1].reshape(4, 4)
    assert full_loss.full_loss(Lambda, 5, end) == pytest.approx(rank_one_trap.rank_one_loss(Lambda, 5), rel=1e-3)


@pytest.mark.parametrize(("d", "N", "kappa"), [(2, 1, 1.5), (3, 5, 5.0), (5, 200, 10.0)])
def test_nothing_on_the_wall_is_below_its_height(d, N, kappa):
    Lambda = covariance(d, kappa)
    U = draw(500, d + 1, d + 1) * np.geomspace(0.1, 3, 500)[:, None, None]
    U[:, -1, -1] *= np.sqrt(wall.wall_ratio(Lambda, N, U))
    assert np.allclose(wall.wall_ratio(Lambda, N, U), 1)
    excess = full_loss.full_loss(Lambda, N, U) - optimum.loss_minimum(Lambda, N)
    assert excess.min() >= wall.wall_height(Lambda, N) > 0
    assert wall.wall_ratio(Lambda, N, dynamics.live(dynamics.limit(Lambda, N, 0.0))) == 0


def test_wall_by_hand():
    # Lambda = diag(2, 1), N = 2: gamma = (4.5, 3), g = (4/9, 1/3), h = 2/3 + 7/18 = 19/18, k = 2 + sqrt(1/2).
    k = 2 + 0.5**0.5
    assert wall.wall_height(SKEW, 2) == pytest.approx((19 / 18) ** 2 / (2 * (2.5 / 3 + k**2 / 3)), rel=1e-13)
    assert wall.wall_height(SKEW, 1e12) == pytest.approx(1 / (2 * (1 / 3 + 1)), rel=1e-9)
    # label_moment = 2 (9 + 10) = 38, stiffness = 1/2 + 3/4: L = 5 * 3/4 + sqrt(47.5).
    assert wall.far_point_loss(SKEW, 2) == pytest.approx(3.75 + 47.5**0.5, rel=1e-13)


def test_the_length_from_which_a_local_minimum_is_proved():
    """The last N at which far point, L* and wall do not prove it, written out for Lambda = diag(2, 1)."""
    N = np.arange(2, 10_000)
    gamma = np.stack([2 + 5 / N, 1 + 4 / N])
    g = np.array([2, 1])[:, None] / gamma
    far = 7.5 / N + np.sqrt((1 / N + 3 / N**2) * (1 + 2 / N) * 19)
    least = (3 - 2 * g[0] - g[1]) / 2
    pull = (1 + 2 / N) * g.min(0) + g.sum(0) / N
    height = pull**2 / (2 * ((1 + 3 / N) / 3 + (1 + (2 + 2**0.5) / N) ** 2 / gamma.min(0)))
    assert wall.sure_length(SKEW) == N[far >= least + height][-1] + 1
    assert wall.sure_length(covariance(2, 5.0)) > wall.sure_length(covariance(2, 1.5))


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize(("d", "N", "kappa"), [(2, 3, 1.5), (3, 40, 5.0), (4, 1000, 10.0)])
def test_far_points(d, N, kappa, place):
    Lambda = covariance(d, kappa)
    U = wall.far_point(Lambda, N, place)
    assert full_loss.full_loss(Lambda, N, U) == pytest.approx(wall.far_point_loss(Lambda, N), rel=1e-10)
    for factor in (0.9, 1.1):  # P is the best one
        other = U.copy()
        other[:-1, -1] *= factor
        other[-1, :-1] /= factor
        assert full_loss.full_loss(Lambda, N, other) > wall.far_point_loss(Lambda, N)
    assert wall.wall_ratio(Lambda, N, U) > 1


def test_a_local_minimum_behind_the_wall():
    """At N = 1000 its loss is below the wall, so no flow leads from there to the optimum."""
    Lambda, N = covariance(3, 5.0), 1000
    U = settle(Lambda, N, wall.far_point(Lambda, N, 0))
    eigenvalues = np.linalg.eigvalsh(full_loss.full_hessian(Lambda, N, U))
    assert abs(full_loss.full_gradient(Lambda, N, U)).max() < 1e-12 * eigenvalues[-1]
    assert abs(eigenvalues[0]) < 1e-10 * eigenvalues[-1] < eigenvalues[1]
    excess = full_loss.full_loss(Lambda, N, U) - optimum.loss_minimum(Lambda, N)
    assert 0.01 < excess < wall.wall_height(Lambda, N) and wall.wall_ratio(Lambda, N, U) > 1
    assert np.linalg.norm(U[:, -1]) == pytest.approx(np.linalg.norm(U[:, :-1]))
    assert np.allclose(balanced(np.column_stack([3 * U[:, :-1], U[:, -1] / 3])), U)


def test_the_alternative_text_says_that_a_trap_lies_below_the_wall_where_it_does(stored):
    """What lies below the height of the wall is the excess over the least loss, and not the least loss."""
    data = stored("zhang-long-prompts")
    assert "falls below the wall" in long_prompts.told(data)[0]
    higher = data.assign(loss=data.loss + data.height)
    assert "falls below the wall" not in long_prompts.told(higher)[0]


def near_optimum(data, over: float):
    """The data with every loss that is at the optimum so far over it."""
    return data.assign(loss=data.loss.where(data.loss > 1.01 * data.minimum, over * data.minimum))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("Z25b", lambda d: d.assign(miss=0 * d.miss + 0.9e-6), lambda d: d.assign(miss=0 * d.miss + 1.1e-6)),
        ("Z26b", lambda d: d.assign(gradient=0 * d.gradient + 0.9e-10), lambda d: d.assign(gradient=0 * d.gradient + 1.1e-10)),
        ("Z26c", lambda d: d.assign(gradient=0 * d.gradient + 0.9e-10), lambda d: d.assign(gradient=0 * d.gradient + 1.1e-10)),
        (
            "Z26c",
            lambda d: d.assign(loss=1.0011 * d.minimum + 0 * d.loss),
            lambda d: d.assign(loss=1.0009 * d.minimum + 0 * d.loss),
        ),
        (
            "Z26f",
            lambda d: d.assign(dense_loss=0 * d.dense_loss + 1.011),
            lambda d: d.assign(dense_loss=0 * d.dense_loss + 1.009),
        ),
        ("Z26g", lambda d: near_optimum(d, 1.0009), lambda d: near_optimum(d, 1.0011)),
    ],
)
def test_a_threshold_is_where_the_margin_says(name, good, bad, stored):
    claim = registry.CLAIMS[name]
    verdicts = [claim.check(change(stored(claim.experiment))).verdict(claim.margin) for change in (good, bad)]
    assert verdicts == ["holds", "fails"]
