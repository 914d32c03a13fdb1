"""Formulas with a dimension or a length in them, at sizes that nothing else uses, where d + 5 is not 2d + 2.

Means over prompts are Gauss quadrature of the lowest order that is exact; no formula of the theory enters them.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq
from zhang_instances import covariance, draw

from papers.regression.theory.least_squares import least_squares_error
from papers.zhang.exact_prompts import hermite
from papers.zhang.theory import dynamics, error, full_loss, loss, one_step, optimum, pl_inequality, rank_one_trap, shifts, wall
from papers.zhang.theory import random_covariance as spectra
from papers.zhang.theory import random_covariance_flow as flow

SIZES = [(5, 3, 11), (7, 13, 2)]
"""(d, N, M)."""


def normals(nodes: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of k standard normals and their weights, exact below degree 2 nodes in each."""
    points, weights = hermite(nodes)
    grids = (np.array(list(itertools.product(part, repeat=k))) for part in (points, weights))
    return next(grids), next(grids).prod(axis=1)


def mean_square(Lambda: np.ndarray, N: float, A: np.ndarray | None = None) -> np.ndarray:
    """E[Λ̂ A Λ̂], A = I if not given, Λ̂ of N inputs: the terms of one input with itself by quadrature."""
    A = np.eye(len(Lambda)) if A is None else A
    z, weights = normals(3, len(Lambda))
    x = z @ np.linalg.cholesky(Lambda).T
    fourth = np.einsum("b,bi,bj->ij", weights * np.einsum("bi,ij,bj->b", x, A, x), x, x)
    return fourth / N + (1 - 1 / N) * Lambda @ A @ Lambda


@pytest.fixture(params=SIZES, ids=lambda sizes: "d={} N={} M={}".format(*sizes))
def case(request) -> SimpleNamespace:
    """Two covariances, weights that minimise the loss at N, E[Λ̂²] at N and at M, a task."""
    d, N, M = request.param
    Lambda, other = 1.3 * covariance(d, 6.0, seed=1), covariance(d, 3.0, seed=2)
    second = mean_square(Lambda, N)
    best = Lambda @ np.linalg.inv(second)
    return SimpleNamespace(d=d, N=N, M=M, Lambda=Lambda, other=other, second=second, best=best, w=draw(d))


def test_weights_and_least_loss(case):
    d, N, Lambda = case.d, case.N, case.Lambda
    assert optimum.second_moment(Lambda, N) == pytest.approx(case.second, rel=1e-10)
    assert optimum.Gamma(Lambda, N) == pytest.approx(np.linalg.inv(case.best), rel=1e-9, abs=1e-10)
    W_PV, W_KQ = optimum.W_PV_limit(Lambda, N), optimum.W_KQ_limit(Lambda, N)
    assert W_PV[-1, -1] * W_KQ[:d, :d] == pytest.approx(case.best, rel=1e-9, abs=1e-10)
    assert W_PV[-1, -1] == pytest.approx(np.linalg.norm(case.best) ** 0.5, rel=1e-10)
    least = 0.5 * np.trace(Lambda - Lambda @ Lambda @ case.best)
    assert optimum.loss_minimum(Lambda, N) == pytest.approx(least, rel=1e-10)
    assert loss.loss_minimum_by_length(Lambda, N) == pytest.approx(least, rel=1e-9)
    assert dynamics.reduced_minimum(Lambda, N) == pytest.approx(least - np.trace(Lambda) / 2, rel=1e-10)
    A = draw(d, d, seed=3)
    value = 0.5 * np.trace(Lambda - 2 * Lambda @ Lambda @ A + case.second @ A @ Lambda @ A.T)
    assert loss.population_loss(Lambda, N, A) == pytest.approx(value, rel=1e-10)
    assert dynamics.gap(Lambda, N, dynamics.Weights(A / 0.7, 0.7)) == pytest.approx(value - least, rel=1e-10)


def test_one_step(case):
    """The risk is a parabola in the step size, by E[Λ̂²] alone."""
    Lambda, M = case.Lambda, case.M
    slope, curvature = np.trace(Lambda @ Lambda), np.trace(Lambda @ mean_square(Lambda, M))
    assert one_step.best_step_size(Lambda, M) == pytest.approx(slope / curvature, rel=1e-10)
    risk = np.trace(Lambda) - 0.6 * slope + 0.09 * curvature
    assert one_step.risk(Lambda, M, 0.3) == pytest.approx(risk, rel=1e-10)


def test_errors_of_a_task_and_their_means(case):
    Lambda, other, P, w = case.Lambda, case.other, case.best, case.w

    def measured(context: np.ndarray, query: np.ndarray) -> float:
        seen = P @ mean_square(context, case.M, np.outer(w, w)) @ P.T
        miss = np.outer(P @ context @ w, w)
        return np.trace(query @ (seen - miss - miss.T + np.outer(w, w)))

    terms = error.error_terms(Lambda, case.N, case.M, error.noiseless_labels(Lambda, w))
    assert sum(terms) == pytest.approx(measured(Lambda, Lambda), rel=1e-9)
    off = P @ Lambda @ w - w
    assert terms.bias == pytest.approx(off @ Lambda @ off, rel=1e-9)
    assert shifts.query_shift_error(Lambda, case.N, case.M, other, w) == pytest.approx(measured(Lambda, other), rel=1e-9)
    assert shifts.covariate_shift_error(Lambda, case.N, case.M, other, w) == pytest.approx(measured(other, other), rel=1e-9)

    def averaged(context: np.ndarray, query: np.ndarray) -> float:
        square = P @ mean_square(context, case.M) @ P.T
        return np.trace(query - 2 * query @ P @ context + query @ square)

    assert error.averaged_error(Lambda, case.N, case.M) == pytest.approx(averaged(Lambda, Lambda), rel=1e-9)
    found = shifts.averaged_shift_error(Lambda, case.N, case.M, other, Lambda)
    assert found == pytest.approx(averaged(other, Lambda), rel=1e-9)
    noise = 0.49 / case.M * np.trace(Lambda @ P @ Lambda @ P)
    assert shifts.noisy_context_error(Lambda, case.N, case.M, 0.7) == pytest.approx(noise, rel=1e-9)


def test_one_variance_for_all_directions(case):
    d, N, M = case.d, case.N, case.M
    I = np.eye(d)
    a = 1 / mean_square(I, N)[0, 0]
    assert error.isotropic_shrinkage(d, N) == pytest.approx(a, rel=1e-10)
    e = 1 - 2 * a + a**2 * mean_square(I, M)[0, 0]
    assert error.isotropic_error(d, N, M) == pytest.approx(e, rel=1e-10)
    cell = dynamics.Isotropic(d, N, 1.7, 1e-4)
    assert cell.g == pytest.approx(mean_square(1.7 * I, N)[0, 0] / 1.7, rel=1e-10)
    assert cell.v_limit == pytest.approx(1 / (d**0.5 * cell.g), rel=1e-12)
    half = brentq(lambda t: cell.v(np.array([t]))[0] - cell.v_limit / 2, 0, 50)
    assert cell.drop_time == pytest.approx(half, rel=1e-6)


def test_moments_of_labels(case):
    """E[(wᵀΛ̂w)²] and E[tr(Λ̂) S], from one input with itself and from pairs of inputs."""
    Lambda, N = case.Lambda, case.N
    eigenvalues = np.linalg.eigvalsh(Lambda)
    z, weights = normals(3, case.d)
    one = weights @ (z**2 @ eigenvalues) ** 2
    fourth = hermite(3)[1] @ hermite(3)[0] ** 4  # of w·x given w, over the square of its variance
    assert full_loss.label_moment(Lambda, N) == pytest.approx((fourth / N + 1 - 1 / N) * one, rel=1e-10)
    x = z @ np.linalg.cholesky(Lambda).T
    whitened = x @ np.linalg.inv(dynamics.symmetric_root(Lambda))
    itself = np.einsum("b,b,bi,bj->ij", weights, (x**2).sum(1), whitened, whitened)
    expected = itself / N + (1 - 1 / N) * np.trace(Lambda) * np.eye(case.d)
    tau = np.trace(Lambda)
    assert full_loss.context_label_covariance(Lambda, N) + tau * np.eye(case.d) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert full_loss.label_variance(Lambda, N) == pytest.approx(full_loss.label_moment(Lambda, N) - tau**2, rel=1e-10)


@pytest.mark.parametrize(("d", "M"), [(2, 3), (4, 2)])
def test_a_copied_query(d, M):
    z, weights = normals(4, d * M)
    x, N = z.reshape(-1, M, d), 9
    a = 1 / mean_square(np.eye(d), N)[0, 0]
    seen = a * np.einsum("pmi,pm->pi", x, np.einsum("pmj,pj->pm", x, x[:, 0])) / M
    expected = weights @ ((seen - x[:, 0]) ** 2).sum(1) / d
    assert shifts.repeated_query_error(d, N, M) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("d", "N", "M"), [(2, 7, 3), (6, 5, 9)])
def test_inputs_of_one_orthant(d, N, M):
    rng = np.random.default_rng(d)
    x = abs(rng.standard_normal((200_000, M, d)))
    off = np.einsum("pmi,pmj->pij", x, x) / M / mean_square(np.eye(d), N)[0, 0] - np.eye(d)
    squares = (off**2).sum((1, 2)) / d  # averaged over the task and over the query's orthant
    expected = shifts.orthant_error(d, N, M)
    assert abs(squares.mean() - expected) < 4 * squares.std() / len(x) ** 0.5 < 0.02 * expected


@pytest.mark.parametrize(("d", "M"), [(5, 12), (12, 5), (7, 7)])
def test_least_squares(d, M):
    rng = np.random.default_rng(M)
    pinv = np.linalg.pinv(rng.standard_normal((20_000, M, d)))
    noise = 0.25 if d != M else 0.0
    rank = min(d, M)
    squares = 1 - rank / d + noise * (pinv**2).sum((1, 2)) / d
    expected = least_squares_error(d, M, noise**0.5)
    assert abs(squares.mean() - expected) <= 4 * squares.std() / len(pinv) ** 0.5 + 1e-12
    assert least_squares_error(d, d + 2, 1.0) == 1.0


@pytest.mark.parametrize(("d", "N", "M"), SIZES)
def test_exponential_variances(d, N, M):
    """Two Gauss-Laguerre nodes average the cubes that occur, so that 2^d spectra are exact."""
    points, weights = np.polynomial.laguerre.laggauss(2)
    nodes = np.array(list(itertools.product(points, repeat=d)))
    chance = np.array(list(itertools.product(weights, repeat=d))).prod(axis=1)

    def trace_of(square_at: float) -> np.ndarray:
        """tr E[Λ̂² Λ] given the spectrum."""
        return ((1 + 1 / square_at) * nodes**3 + nodes**2 * nodes.sum(1)[:, None] / square_at).sum(1)

    second, third = chance @ (nodes**2).sum(1), chance @ trace_of(N)
    assert spectra.exponential_A(d, N) == pytest.approx(second / third, rel=1e-10)
    moments = spectra.exponential_moments(np.ones(d))
    assert spectra.gamma(moments, N) == pytest.approx(third / d, rel=1e-10)
    for c in (1.0, 3.0):
        e = (chance @ nodes.sum(1)) * c - 2 * 0.2 * c**2 * second + 0.04 * c**3 * chance @ trace_of(M)
        assert spectra.exponential_error(d, 0.2, c, M) == pytest.approx(e / d, rel=1e-10)
        assert spectra.error(0.2 * np.eye(d), spectra.scaled_moments(moments, c), M) == pytest.approx(e, rel=1e-10)
    xi, gamma = np.full(d, second / d), np.full(d, third / d)
    assert flow.u_limit(xi, gamma) == pytest.approx((d * (second / third) ** 2) ** 0.25, rel=1e-10)


@pytest.mark.parametrize("d", [3, 5])
def test_bounds_by_their_terms(d):
    """Diagonal covariances, so that each norm is a largest entry and each trace a sum."""
    eigenvalues, N, sigma = np.linspace(2.5, 0.5, d), 7, 0.2
    Lambda, total, root = np.diag(eigenvalues), 1.5 * d, d**0.5
    gamma = [8 / 7 * value + total / 7 for value in eigenvalues]
    Theta = draw(d, d, seed=4)
    Theta /= sum(float(Theta[i] @ Theta[j]) ** 2 for i in range(d) for j in range(d)) ** 0.25
    moved = sum((eigenvalues[i] * Theta[i, j]) ** 2 for i in range(d) for j in range(d))
    bracket = 2 - root * 0.04 * gamma[0]
    assert pl_inequality.headroom(Lambda, N, sigma) == pytest.approx(bracket, rel=1e-12)
    assert loss.largest_sigma(Lambda, N) == pytest.approx((2 / (root * gamma[0])) ** 0.5, rel=1e-12)
    bound = 0.04 / (2 * root * 2.5**2) * moved * bracket
    assert pl_inequality.u_last_squared_bound(Lambda, N, Theta, sigma) == pytest.approx(bound, rel=1e-12)
    inverses = sum(1 / eigenvalues), sum(1 / (value * g) for value, g in zip(eigenvalues, gamma, strict=True))
    mu = 0.04 * moved * bracket / (root * 2.5**2 * inverses[0] * inverses[1])
    assert pl_inequality.pl_constant(Lambda, N, Theta, sigma) == pytest.approx(mu, rel=1e-12)
    ceiling = (sum(g**-2 for g in gamma) ** 0.5 + (2 * 0.3 / (0.25 * gamma[-1])) ** 0.5) ** 0.5
    assert pl_inequality.u_last_ceiling(Lambda, N, 0.3) == pytest.approx(ceiling, rel=1e-12)
    constant = eigenvalues[None]
    drag = gamma[0] * sum(eigenvalues**2)
    assert flow.sigma_squared_bound(Theta, constant, N) == pytest.approx(2 * moved / (root * drag), rel=1e-12)
    lowest = (0.04 / (2 * root * 2.5**2) * (2 * moved - root * 0.04 * drag)) ** 0.5
    assert flow.u_lower_bound(Theta, sigma, constant, N) == pytest.approx(lowest, rel=1e-12)
    floor = (1 + 2 * d + 5 * d**2) * total / 49
    assert error.eta(Lambda, N) == pytest.approx(floor, rel=1e-12)
    assert error.averaged_bound(Lambda, N, 4) == pytest.approx((d + 1) * total / 4 + floor, rel=1e-12)
    assert error.sufficient_test_length(Lambda, 0.1) == pytest.approx(10 * (d + 1) * total, rel=1e-12)
    g = eigenvalues / gamma
    h, k = (1 + 2 / N) * g[-1] + g.sum() / N, 1 + (2 + root) / N
    assert wall.wall_height(Lambda, N) == pytest.approx(h**2 / (2 * ((1 + 3 / N) / total + k**2 / gamma[-1])), rel=1e-12)
    assert wall.far_point_loss(Lambda, N) == pytest.approx(
        full_loss.full_loss(Lambda, N, wall.far_point(Lambda, N, 1)), rel=1e-10
    )


@pytest.mark.parametrize("d", [5, 7])
def test_growth_and_trap(d):
    Lambda = covariance(d, 8.0)
    hessian = -full_loss.full_hessian(Lambda, 3, np.zeros((d + 1, d + 1)))
    assert np.linalg.eigvalsh(hessian)[-1] == pytest.approx(dynamics.origin_growth_rate(Lambda), rel=1e-9)
    edges = [
        brentq(lambda N, of=of: of(np.diag(np.append(np.linspace(0.01, 0.05, d - 1), 1.0)), N), 1, 1e5)
        for of in (rank_one_trap.trap_margin, rank_one_trap.trap_margin_leading)
    ]
    assert edges[0] == pytest.approx(edges[1], rel=0.02)
