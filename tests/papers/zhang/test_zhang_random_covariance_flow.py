"""Appendix C: the flow under random covariances, its limit, its minima and its bounds."""

import numpy as np
import pytest
from zhang_instances import RANDOM, diagonal_matrices, two_point

from papers.zhang.flow import gradient_flow
from papers.zhang.reduced_flow import random_Theta
from papers.zhang.theory import optimum, pl_inequality
from papers.zhang.theory import random_covariance as theory
from papers.zhang.theory import random_covariance_flow as flow

# --- limit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d, N", RANDOM)
def test_limit_solves_the_general_stationarity_equation(d, N):
    spectra, moments = two_point(d, d + N)
    general = flow.product_limit(diagonal_matrices(spectra), N)
    assert np.allclose(theory.A_limit(moments, N), general, rtol=1e-9, atol=1e-12)


def test_general_limit_with_one_rotated_covariance_is_inverse_Gamma():
    root = np.random.default_rng(3).normal(size=(3, 3))
    Lambda = root @ root.T
    assert np.allclose(flow.product_limit(Lambda[None], 4), np.linalg.inv(optimum.Gamma(Lambda, 4)), rtol=1e-9)


def test_general_limit_stops_the_lemma_for_covariances_that_do_not_commute():
    roots = np.random.default_rng(7).normal(size=(3, 3, 3))
    covariances = np.einsum("sik,sjk->sij", roots, roots)
    A = flow.product_limit(covariances, 4)
    assert not np.allclose(A, A.T, rtol=1e-3)
    assert np.allclose(flow.lemma_C1(A, 1.0, covariances, 4).U, 0, atol=1e-8)


def test_u_limit_with_and_without_squares():
    moments = theory.exponential_moments(np.ones(4))
    xi, gamma = theory.xi(moments), theory.gamma(moments, 10)
    assert np.isclose(flow.u_limit(xi, gamma), (4 * (2 / 7.8) ** 2) ** 0.25, rtol=1e-14)
    assert np.isclose(flow.u_limit(xi, gamma), np.linalg.norm(theory.A_limit(moments, 10)) ** 0.5, rtol=1e-14)
    assert np.isclose(flow.u_limit(xi, gamma), 0.7156, atol=1e-3)
    assert np.isclose(flow.u_limit_as_printed(xi, gamma), 1.006, atol=1e-3)


# --- flow ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d, N", RANDOM)
def test_corollary_is_the_lemma_on_diagonal_spectra(d, N):
    spectra, moments = two_point(d, 3 * d + N)
    U, u = np.random.default_rng(N).normal(size=(d, d)), 0.7
    general = flow.lemma_C1(U, u, diagonal_matrices(spectra), N)
    diagonal = flow.corollary_C2(U, u, theory.xi(moments), theory.zeta(moments, N))
    assert np.allclose(general.U, diagonal.U, rtol=1e-11)
    assert np.isclose(general.u, diagonal.u, rtol=1e-11)


def test_lemma_is_minus_the_gradient_of_the_loss_for_rotated_covariances():
    rng, N = np.random.default_rng(0), 5
    roots = rng.normal(size=(6, 3, 3))
    covariances = np.einsum("sij,skj->sik", roots, roots)

    def loss(U, u):
        values = [
            0.5 * u**2 * np.trace(optimum.second_moment(L, N) @ U @ L @ U.T) - u * np.trace(L @ L @ U.T) for L in covariances
        ]
        return np.mean(values)

    U, u, h = rng.normal(size=(3, 3)), 0.4, 1e-5
    velocity = flow.lemma_C1(U, u, covariances, N)
    for i, j in np.ndindex(3, 3):
        step = h * np.eye(3)[[i]].T @ np.eye(3)[[j]]
        assert np.isclose(velocity.U[i, j], -(loss(U + step, u) - loss(U - step, u)) / (2 * h), rtol=1e-6)
    assert np.isclose(velocity.u, -(loss(U, u + h) - loss(U, u - h)) / (2 * h), rtol=1e-6)


def test_flow_and_loss_by_hand():
    moments = theory.exponential_moments(np.ones(2))
    xi, gamma, zeta = theory.xi(moments), theory.gamma(moments, 2), theory.zeta(moments, 2)
    U = np.array([[1.0, 1.0], [0.0, 1.0]])
    velocity = flow.corollary_C2(U, 1.0, xi, zeta)
    assert np.allclose(velocity.U, [[-11, -5], [0, -11]])
    assert velocity.u == -27
    assert flow.reduced_loss(U, 1.0, xi, zeta) == 11.5
    assert flow.corollary_C2(2 * U, 2.0, xi, zeta).u == -2 * 31 * 4 + 8
    assert np.isclose(flow.reduced_minimum(xi, gamma), -4 / 13)


# --- hypotheses and bounds ----------------------------------------------------------------------------------------


def test_sigma_bound_by_hand():
    assert np.isclose(flow.sigma_squared_bound(np.eye(1), np.ones((1, 1)), 1), 2 / 3)  # Gamma = 3
    spectra = np.array([[1.0, 2.0], [3.0, 2.0]])  # E Lambda = 2 I; N = 1: Gamma norms 7, 11; squares 5, 13
    assert np.isclose(flow.initial_drag(spectra, 1), (7 * 5 + 11 * 13) / 2)
    assert np.isclose(flow.initial_drag(spectra, 2), (4.5 * 5 + 7 * 13) / 2)
    Theta = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert np.isclose(flow.initial_pull(Theta, spectra), 12)
    unit = Theta / 7**0.25  # |Theta Theta^T|^2 = 1 + 1 + 1 + 4
    assert np.isclose(flow.sigma_squared_bound(unit, spectra, 1), 24 / (7**0.5 * 2**0.5 * 89))


def test_pull_multiplies_rows_by_the_mean_spectrum():
    Theta = np.array([[0.0, 5.0], [1.0, 0.0]])
    assert np.isclose(flow.initial_pull(Theta, np.array([[1.0, 10.0]])), 25 + 100)


def test_lower_bound_by_hand():
    # d = 1, Lambda = 1, N = 1: sqrt(s^2/2 (2 - 3 s^2)) at s^2 = 1/2 is sqrt(1/8)
    assert np.isclose(flow.u_lower_bound(np.eye(1), 0.5**0.5, np.ones((1, 1)), 1), 8**-0.5)
    with pytest.raises(ValueError, match="too large"):
        flow.u_lower_bound(np.eye(1), 0.9, np.ones((1, 1)), 1)


def test_pl_constant_is_the_paper_expression():
    spectra, moments = two_point(4, 2)
    N, Theta = 6, random_Theta(4, 0, "test")
    sigma = 0.7 * flow.sigma_squared_bound(Theta, spectra, N) ** 0.5
    zeta = theory.zeta(moments, N)
    K = 2 * flow.initial_pull(Theta, spectra) - 4**0.5 * sigma**2 * flow.initial_drag(spectra, N)
    printed = zeta.min() * sigma**2 * K / (4**0.5 * theory.xi(moments).max())
    bound = flow.u_lower_bound(Theta, sigma, spectra, N)
    assert np.isclose(flow.pl_constant(bound, zeta), printed, rtol=1e-12)
    assert flow.pl_constant(1.0, np.array([[3.0, 2.0], [5.0, 4.0]])) == 4


# --- every sigma -----------------------------------------------------------------------------------------------------


def test_bounds_for_every_sigma_by_hand():
    # Two coordinates, xi = (2, 3), gamma = (4, 5), least zeta 1, gap 2: c^2 = sqrt(1/4 + 9/25) + 2.
    zeta, Theta = np.array([[4.0, 1.0], [2.0, 5.0]]), np.diag([1.0, 0.0])
    c = (0.61**0.5 + 2) ** 0.5
    assert flow.u_ceiling(np.array([2.0, 3.0]), zeta, 2.0) == pytest.approx(c)
    assert flow.u_lower_bound_any_sigma(Theta, 9.0, np.array([2.0, 3.0]), zeta, 2.0) == pytest.approx(0.5 / c)
    assert flow.u_lower_bound_any_sigma(Theta, 0.1, np.array([2.0, 3.0]), zeta, 2.0) == pytest.approx(0.1)


def test_a_constant_spectrum_gives_the_bounds_of_section_5_3():
    diagonal, Theta, N = np.array([2.0, 0.5, 0.3]), random_Theta(3, 0, "test"), 4
    moments = theory.fixed_moments(diagonal)
    xi, zeta = theory.xi(moments), theory.zeta(moments, N)
    assert flow.u_ceiling(xi, zeta, 0.7) == pytest.approx(pl_inequality.u_last_ceiling(np.diag(diagonal), N, 0.7))
    found = flow.u_lower_bound_any_sigma(Theta, 0.3, xi, zeta, 0.7)
    assert found == pytest.approx(pl_inequality.u_last_bound_any_sigma(np.diag(diagonal), N, Theta, 0.3, 0.7))


@pytest.mark.parametrize("sigma", [1e-2, 1.0, 30.0])
def test_bounds_hold_along_a_flow_with_dependent_entries(sigma):
    """Diagonal spectra whose entries depend on each other: the lemmas need no independence."""
    spectra = np.random.default_rng(5).exponential(size=(40, 1)) * np.random.default_rng(6).uniform(0.5, 2, (40, 3))
    covariances, N = diagonal_matrices(spectra), 6
    Gamma = np.array([optimum.Gamma(Lambda, N) for Lambda in covariances])
    zeta = np.einsum("sii,si,sj->ij", Gamma, spectra, spectra) / 40
    xi, Theta = (spectra**2).mean(axis=0), random_Theta(3, 0, "test")

    def velocity(state):
        moving = flow.lemma_C1(state[:-1].reshape(3, 3), state[-1], covariances, N)
        return np.append(moving.U, moving.u)

    start = sigma * np.append(Theta @ Theta.T, 1.0)
    path = gradient_flow(velocity, start, np.append(0, np.geomspace(1e-6, 200, 100)))
    gap = flow.reduced_loss(sigma * Theta @ Theta.T, sigma, xi, zeta) - flow.reduced_minimum(xi, np.diag(zeta))
    assert np.allclose(path[-1, -1] * path[-1, :-1].reshape(3, 3), np.diag(xi / np.diag(zeta)), rtol=1e-6, atol=1e-7)
    assert path[:, -1].min() >= flow.u_lower_bound_any_sigma(Theta, sigma, xi, zeta, gap) * (1 - 1e-9)
    assert path[:, -1].max() <= flow.u_ceiling(xi, zeta, gap)
