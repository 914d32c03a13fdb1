"""Section 4.2: every formula by a second route and against a number from outside; the experiments and claims on it."""

import numpy as np
import pytest

from papers.regression.shifted_prompts import Shifts
from papers.regression.theory.least_squares import least_squares_error
from papers.zhang.theory import error, shifts

I2, S = np.eye(2), np.array([[2.0, 1.0], [1.0, 2.0]])
CASES = [(1, 2, 3, 1.0), (3, 2, 5, 7.0), (4, 9, 2, 1e4), (6, 4, 3, 50.0)]
"""(d, N, M, condition number): d = 1, N < d, M < d, ill-conditioned."""


def covariance(rng: np.random.Generator, d: int, kappa: float) -> np.ndarray:
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
    matrix = (basis * np.geomspace(3.0, 3.0 / kappa, d)) @ basis.T
    return (matrix + matrix.T) / 2


def draw(case) -> tuple:
    d, N, M, kappa = case
    rng = np.random.default_rng(d)
    Lambda, Lambda_test, Q = (covariance(rng, d, kappa) for _ in range(3))
    return N, M, Lambda, Lambda_test, Q, rng.standard_normal(d)


def by_fourth_moments(Lambda, N, M, Lambda_test, Q, w) -> float:
    """The error from the tensor E[x_a x_b x_k x_l], with Gamma inverted in the eigenbasis of Lambda."""
    values, basis = np.linalg.eigh(Lambda)
    inverse = basis @ np.diag(N / ((N + 1) * values + values.sum())) @ basis.T
    pairs = ("ab,kl->abkl", "ak,bl->abkl", "al,bk->abkl")
    fourth = sum(np.einsum(pair, Lambda_test, Lambda_test) for pair in pairs)
    mean = np.einsum("ab,b->a", Lambda_test, w)
    second = np.einsum("abkl,a,b->kl", fourth, w, w) / M + (1 - 1 / M) * np.outer(mean, mean)
    estimate = np.einsum("ij,jk,lk->il", inverse, second, inverse)
    centre = np.einsum("ij,j->i", inverse, mean)
    return float(np.sum(Q * (estimate - np.outer(centre, w) - np.outer(w, centre) + np.outer(w, w))))


# --- the formulas for a fixed task ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_errors_agree_with_the_fourth_moment_tensor(case):
    N, M, Lambda, Lambda_test, Q, w = draw(case)
    found = [
        shifts.query_shift_error(Lambda, N, M, Q, w),
        shifts.covariate_shift_error(Lambda, N, M, Lambda_test, w),
        shifts.shift_error(Lambda, N, M, Lambda_test, Q, w),
    ]
    routes = [(Lambda, Q), (Lambda_test, Lambda_test), (Lambda_test, Q)]
    expected = [by_fourth_moments(Lambda, N, M, context, query, w) for context, query in routes]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_errors_by_hand():
    w = np.array([1.0, 0.0])
    assert shifts.query_shift_error(I2, 3, 1, S, w) == pytest.approx(2.0, rel=1e-14)
    assert shifts.covariate_shift_error(I2, 3, 1, S, w) == pytest.approx(9.0, rel=1e-14)
    one = np.eye(1)
    # d = 1, N = 2, M = 4: Gamma = 2, so q (1/4)(2/4) + q/4 and (1/4) 4 (32/4) + 4 (4/2 - 1)^2
    assert shifts.query_shift_error(one, 2, 4, 5 * one, np.ones(1)) == pytest.approx(15 / 8, rel=1e-14)
    assert shifts.covariate_shift_error(one, 2, 4, 4 * one, np.ones(1)) == pytest.approx(12.0, rel=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_without_a_shift_it_is_theorem_4_2(case):
    N, M, Lambda, _, _, w = draw(case)
    theorem = sum(error.error_terms(Lambda, N, M, error.noiseless_labels(Lambda, w)))
    assert shifts.query_shift_error(Lambda, N, M, Lambda, w) == pytest.approx(theorem, rel=1e-10)


def test_error_is_that_of_simulated_prompts():
    rng = np.random.default_rng(11)
    d, N, M, prompts = 3, 2, 4, 400_000
    Lambda, Lambda_test, Q = (covariance(rng, d, 6.0) for _ in range(3))
    w = rng.standard_normal(d)
    x = rng.standard_normal((prompts, M, d)) @ np.linalg.cholesky(Lambda_test).T
    x_query = rng.standard_normal((prompts, d)) @ np.linalg.cholesky(Q).T
    Gamma = Lambda + Lambda / N + np.eye(d) * np.trace(Lambda) / N
    moment = np.einsum("pmd,pm->pd", x, x @ w) / M
    squares = (np.einsum("pd,pd->p", x_query, np.linalg.solve(Gamma, moment.T).T) - x_query @ w) ** 2
    found = shifts.shift_error(Lambda, N, M, Lambda_test, Q, w)
    assert abs(squares.mean() - found) < 4 * squares.std() / prompts**0.5
    assert squares.std() / prompts**0.5 < 0.01 * found


# --- limits and averages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_limits(case):
    _, _, Lambda, Lambda_test, _, w = draw(case)
    limit = shifts.covariate_shift_limit(Lambda, Lambda_test, w)
    far = shifts.covariate_shift_error(Lambda, np.inf, np.inf, Lambda_test, w)
    assert limit == pytest.approx(far, rel=1e-7)
    for c in (0.5, 2.0, 3.0):
        scaled = shifts.covariate_shift_limit(Lambda, c**2 * Lambda, w)
        assert shifts.scaling_limit(Lambda, c, w) == pytest.approx(scaled, rel=1e-7)


def test_limits_by_hand():
    w = np.array([1.0, 0.0])
    assert shifts.covariate_shift_limit(I2, S, w) == pytest.approx(6.0, rel=1e-14)  # (1, 1) in the norm of S
    assert shifts.scaling_limit(S, 3.0, w) == pytest.approx(9 * 64 * 2, rel=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_average_over_tasks_is_the_sum_over_unit_tasks(case):
    """The error is quadratic in w, so its mean over N(0, I) is its sum over an orthonormal basis."""
    N, M, Lambda, Lambda_test, Q, _ = draw(case)
    total = sum(shifts.shift_error(Lambda, N, M, Lambda_test, Q, e) for e in np.eye(len(Lambda)))
    assert shifts.averaged_shift_error(Lambda, N, M, Lambda_test, Q) == pytest.approx(total, rel=1e-10)


def test_average_by_hand_and_without_a_shift():
    one = np.eye(1)
    assert shifts.averaged_shift_error(one, 2, 4, 4 * one, 4 * one) == pytest.approx(4 - 16 + 24, rel=1e-14)
    Lambda = covariance(np.random.default_rng(2), 4, 30.0)
    expected = error.averaged_error(Lambda, 3, 7)
    assert shifts.averaged_shift_error(Lambda, 3, 7, Lambda, Lambda) == pytest.approx(expected, rel=1e-10)


# --- closed forms on Garg's prompts -----------------------------------------------------------------------------------


def test_noise_in_the_context():
    assert shifts.noisy_context_error(np.eye(1), 2, 4, 2.0) == pytest.approx(0.25, rel=1e-14)  # 4/4 (1/2)^2
    Lambda = covariance(np.random.default_rng(4), 3, 20.0)
    w = np.array([0.3, -1.0, 2.0])
    noisy, clean = (error.error_terms(Lambda, 5, 7, error.noisy_labels(Lambda, w, s)) for s in (0.7, 0.0))
    gained = noisy.variance - clean.variance
    assert shifts.noisy_context_error(Lambda, 5, 7, 0.7) == pytest.approx(gained, rel=1e-10)


def test_repeated_query():
    # d = 1, N = 2, M = 1: a = 1/2, E x^2 (x^2/2 - 1)^2 = 15/4 - 3 + 1
    assert shifts.repeated_query_error(1, 2, 1) == pytest.approx(1.75, rel=1e-14)
    assert shifts.repeated_query_error(3, 5, np.inf) == pytest.approx((1 - 5 / 9) ** 2)
    rng = np.random.default_rng(5)
    d, N, M, prompts = 3, 4, 5, 200_000
    x = rng.standard_normal((prompts, M, d))
    seen = np.einsum("pmi,pmj,pj->pi", x, x, x[:, 0]) / M / (1 + (d + 1) / N)
    squares = ((seen - x[:, 0]) ** 2).sum(1) / d  # averaged over w exactly
    assert abs(squares.mean() - shifts.repeated_query_error(d, N, M)) < 4 * squares.std() / prompts**0.5
    assert squares.std() / prompts**0.5 < 0.01 * squares.mean()


def test_orthants():
    assert shifts.orthant_error(1, 3, 2) == pytest.approx(error.isotropic_error(1, 3, 2), rel=1e-12)
    rng = np.random.default_rng(6)
    d, N, M, prompts = 3, 4, 5, 100_000
    x = abs(rng.standard_normal((prompts, M, d))) * np.sign(rng.standard_normal((prompts, 1, d)))
    off = np.einsum("pmi,pmj->pij", x, x) / M / (1 + (d + 1) / N) - np.eye(d)
    squares = (off**2).sum((1, 2)) / d  # averaged over w and over the query's signs exactly
    assert abs(squares.mean() - shifts.orthant_error(d, N, M)) < 4 * squares.std() / prompts**0.5


def test_least_squares_error():
    assert least_squares_error(20, 40, 1.0) == pytest.approx(1 / 19, rel=1e-14)
    assert least_squares_error(20, 10, 0.0) == 0.5
    assert [least_squares_error(20, M, 1.0) for M in (19, 20, 21)] == [np.inf] * 3
    rng = np.random.default_rng(7)
    for d, M in ((3, 9), (9, 3)):
        x = rng.standard_normal((40_000, M, d))
        pinv = np.linalg.pinv(x)
        missed = ((np.eye(d) - pinv @ x) ** 2).sum((1, 2)) / d
        squares = missed + 0.25 * (pinv**2).sum((1, 2)) / d  # averaged over w, noise and query exactly
        expected = least_squares_error(d, M, 0.5)
        assert abs(squares.mean() - expected) < 4 * squares.std() / 200


def test_table_measured_before():
    """Errors/d measured independently before this code was written, s.e. 1 to 3%."""
    rows = Shifts(20, (1,), 1.0, ("1/3", "1/2", "2", "3"), 10).known()
    expected = {
        "no shift": (1.035, 0.573, 0.342),
        "label noise": (1.066, 0.592, 0.353),
        "copied query": (2.07, 0.59, 0.232),
        "skewed covariance": (46.0, 37.3, 35.4),
        "half subspace": (1.96, 1.07, 0.580),
        "orthants": (3.98, 3.59, 3.53),
    }
    found = [[rows[name].lsa(40, k) for k in (10, 20, 40)] for name in expected]
    np.testing.assert_allclose(found, list(expected.values()), rtol=0.06)
    scaled = {"inputs": (0.096, 0.177, 25.0, 382.0), "weights": (0.038, 0.087, 1.37, 3.08)}
    for kind, errors in scaled.items():
        found = [rows[f"{kind} × {c}"].lsa(40, 40) for c in ("1/3", "1/2", "2", "3")]
        np.testing.assert_allclose(found, errors, rtol=0.03)
