"""Section 5.2: the reduced loss and its flow, by a second route and by hand."""

import numpy as np
import pytest
import torch
from torch.func import grad
from zhang_instances import SETTINGS, SKEW, SMALL, covariance, draw

from papers.zhang import exact_prompts, reduced_flow
from papers.zhang.theory import dynamics, full_loss
from papers.zhang.theory.dynamics import Isotropic, Weights


@pytest.mark.parametrize(("d", "N"), SMALL)
def test_lemma_5_2_is_the_gradient_of_the_layer(d, N):
    Lambda = covariance(d, 6.0, seed=d)
    weights = Weights(draw(d, d, seed=N), 0.8)
    U = np.zeros((d + 1, d + 1))
    U[:d, :d], U[d, d] = weights
    loss = exact_prompts.exact_loss(Lambda, N)
    slope = grad(loss)(torch.tensor(U)).numpy()
    moving = dynamics.velocity(Lambda, N, weights)
    assert np.allclose(-slope[:d, :d], moving.U_11, rtol=1e-10, atol=1e-11)
    assert -slope[d, d] == pytest.approx(moving.u_last, rel=1e-9)
    assert max(abs(slope[:d, d]).max(), abs(slope[d, :d]).max()) < 1e-12 * abs(slope).max()
    value = dynamics.reduced_loss(Lambda, N, weights) + np.trace(Lambda) / 2
    assert value == pytest.approx(float(loss(torch.tensor(U))), rel=1e-11)


@pytest.mark.parametrize(("d", "N", "kappa"), SETTINGS)
def test_corollary_A_2(d, N, kappa):
    Lambda, weights = covariance(d, kappa), Weights(draw(d, d, seed=4), -0.6)
    gap = dynamics.reduced_loss(Lambda, N, weights) - dynamics.reduced_minimum(Lambda, N)
    assert dynamics.gap(Lambda, N, weights) == pytest.approx(gap, rel=1e-11)
    end = dynamics.limit(Lambda, N, 0.3)
    assert dynamics.reduced_loss(Lambda, N, end) == pytest.approx(dynamics.reduced_minimum(Lambda, N), rel=1e-9)
    assert dynamics.balance(end) == pytest.approx(0.3, rel=1e-6)


def test_dynamics_by_hand():
    at = Weights(np.eye(2), 1.0)
    moving = dynamics.velocity(SKEW, 2, at)
    assert moving.U_11.tolist() == [[-14.0, 0.0], [0.0, -2.0]] and moving.u_last == -16.0
    assert dynamics.reduced_loss(SKEW, 2, at) == 5.5
    assert dynamics.reduced_minimum(SKEW, 2) == pytest.approx(-11 / 18, rel=1e-14)
    assert dynamics.gap(SKEW, 2, at) == pytest.approx(55 / 9, rel=1e-13)
    assert dynamics.balance(at) == -1.0
    assert dynamics.origin_growth_rate(SKEW) == pytest.approx(17**0.5)
    assert dynamics.transverse_growth_rate(SKEW) == pytest.approx(4)
    assert dynamics.limit(np.eye(1), 2, 0.75).u_last == pytest.approx(1, rel=1e-14)
    assert dynamics.unpack(dynamics.pack(at)).U_11.tolist() == at.U_11.tolist()


@pytest.mark.parametrize(("d", "kappa"), [(1, 1.0), (3, 9.0)])
def test_growth_rates_are_eigenvalues_of_the_linearised_flow(d, kappa):
    Lambda = covariance(d, kappa)
    operator = -full_loss.full_hessian(Lambda, 7, np.zeros((d + 1, d + 1)))
    grid = np.arange((d + 1) ** 2).reshape(d + 1, d + 1)
    inside = np.append(grid[:d, :d], grid[d, d])
    across = np.append(grid[:d, d], grid[d, :d])
    rates = [np.linalg.eigvalsh(operator[np.ix_(part, part)])[-1] for part in (inside, across)]
    assert rates[0] == pytest.approx(dynamics.origin_growth_rate(Lambda), rel=1e-10)
    assert rates[1] == pytest.approx(dynamics.transverse_growth_rate(Lambda), rel=1e-10)
    assert rates[0] >= rates[1] * (1 - 1e-12)


@pytest.mark.parametrize("cell", [Isotropic(4, 5, 1.0, 0.01), Isotropic(1, 3, 0.6, 0.2), Isotropic(3, 2, 2.0, 0.05)])
def test_isotropic_time_course_solves_the_equations(cell):
    times = np.linspace(0, 2 * cell.drop_time, 9)
    Lambda = cell.lam * np.eye(cell.d)
    start = reduced_flow.balanced_start(np.eye(cell.d) / cell.d**0.25, cell.sigma)
    flow = reduced_flow.reduced_flow(Lambda, cell.N, start, times)
    assert np.allclose(cell.v(times), [weights.U_11[0, 0] ** 2 for weights in flow], rtol=1e-6)
    losses = [dynamics.reduced_loss(Lambda, cell.N, weights) + np.trace(Lambda) / 2 for weights in flow]
    assert np.allclose(cell.loss(times), losses, rtol=1e-7)
    assert cell.v(np.array([0.0]))[0] == pytest.approx(cell.sigma**2 / cell.d)


def test_isotropic_time_course_by_hand():
    cell = Isotropic(d=4, N=5, lam=1.0, sigma=1e-4)
    assert (cell.g, cell.v_limit) == (2.0, 0.25)
    assert cell.drop_time == pytest.approx(np.log(1e8) / 4)
    assert cell.loss(np.array([cell.drop_time, 50.0])) == pytest.approx([1.25, 1.0], rel=1e-6)
