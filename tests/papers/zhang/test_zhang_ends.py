"""Formulas of the theory at the ends of what they admit: singular covariances, endless prompts, starts out of balance."""

import numpy as np
import pytest

from papers.zhang.theory import dynamics, error, full_loss, loss, one_step, shifts, wall
from papers.zhang.theory.optimum import Gamma, second_moment

LINE = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
"""A covariance of inputs on a line."""
SPREAD = np.diag([1.0, 2.0, 3.0, 0.5, 0.1])


def test_inputs_on_a_line_have_a_loss_by_every_formula():
    weights = dynamics.Weights(np.eye(3), 0.5)
    whole = loss.population_loss(LINE, 2, 0.5 * np.eye(3))
    assert full_loss.full_loss(LINE, 2, dynamics.live(weights)) == pytest.approx(whole, rel=1e-10)
    assert dynamics.gap(LINE, 2, weights) == pytest.approx(
        dynamics.reduced_loss(LINE, 2, weights) - dynamics.reduced_minimum(LINE, 2), rel=1e-10
    )


def test_whole_numbers_lose_nothing_in_the_live_parameters():
    assert dynamics.live(dynamics.Weights(np.eye(2, dtype=int), 0.7))[-1, -1] == 0.7


@pytest.mark.parametrize("N", [1, 40, 1e9])
@pytest.mark.parametrize("M", [7, np.inf])
def test_averaged_errors_keep_their_digits_at_long_prompts(N, M):
    """As the mean over tasks of the three terms of Theorem 4.2, of which none is a difference."""
    tasks = (error.noiseless_labels(SPREAD, w) for w in np.eye(5))
    expected = pytest.approx(sum(sum(error.error_terms(SPREAD, N, M, law)) for law in tasks), rel=1e-11, abs=0)
    assert error.averaged_error(SPREAD, N, M) == expected
    if N < 1e9:
        assert shifts.averaged_shift_error(SPREAD, N, M, SPREAD, SPREAD) == expected


@pytest.mark.parametrize("delta", [-1e8, -3.0, 0.0, 3.0, 1e8])
def test_the_flow_ends_in_balance(delta):
    end = dynamics.limit(np.diag([2.0, 4.0]), 2, delta)
    assert dynamics.balance(end) == pytest.approx(delta, rel=1e-12, abs=1e-15)
    assert np.allclose(end.u_last * end.U_11, np.linalg.inv(Gamma(np.diag([2.0, 4.0]), 2)), rtol=1e-12)


def test_equal_variances_leave_no_error_below_zero():
    assert [one_step.relative_floor(c * np.eye(d)) for c in (0.1, 0.3, 0.7) for d in (2, 3, 7)] == pytest.approx(
        [0] * 9, abs=1e-15
    )
    assert min(one_step.relative_floor(c * np.eye(d)) for c in np.geomspace(0.1, 9, 30) for d in (2, 3, 7)) >= 0


def test_a_start_drawn_in_single_precision_is_a_start():
    rng = np.random.default_rng(0)
    for _ in range(30):
        gram = loss.unit_gram(rng.standard_normal((4, 4)).astype(np.float32))
        assert loss.W_KQ_start(gram, 0.3).shape == (5, 5)


def test_the_wall_has_no_side_at_a_point_of_no_weights():
    assert np.isnan(wall.wall_ratio(SPREAD, 2, np.zeros((6, 6))))
    assert wall.wall_height_without_trace(np.eye(2), np.inf) == pytest.approx(0.5)  # h = k = gamma_min = 1


def test_rescaling_turns_each_block_its_own_way():
    """(c W_PV, W_KQ/c) changes no prediction, so the loss is level along it, at any weights."""
    U = np.random.default_rng(1).standard_normal((4, 4))
    gradient, turn = full_loss.full_gradient(SPREAD[:3, :3], 5, U), full_loss.rescaling_direction(U)
    assert abs(np.sum(gradient * turn)) < 1e-9 * np.linalg.norm(gradient) * np.linalg.norm(turn)
    other = turn * np.where(np.eye(4)[-1], -1, 1)[:, None]
    assert abs(np.sum(gradient * other)) > 1e-3 * np.linalg.norm(gradient) * np.linalg.norm(other)


def test_errors_of_weights_that_are_not_symmetric():
    """Against E y_hat^2 - 2 E y_hat y + E y^2, with E[u u^T] of the estimate u = (1/M) sum y_i x_i."""
    rng = np.random.default_rng(2)
    P, Q, w, M = rng.standard_normal((3, 3)), np.diag([1.0, 3.0, 2.0]), rng.standard_normal(3), 4
    context = Q + np.ones((3, 3))
    law = error.noiseless_labels(context, w)
    mean = context @ w
    by_hand = sum(
        Q[i, j] * ((P @ (law.Sigma / M + np.outer(mean, mean)) @ P.T)[i, j] - 2 * (P @ mean)[i] * w[j] + w[i] * w[j])
        for i in range(3)
        for j in range(3)
    )
    assert shifts.error_of_weights(P, M, Q, context, law) == pytest.approx(by_hand, rel=1e-12)
    laws = (error.noiseless_labels(context, each) for each in np.eye(3))
    averaged = sum(shifts.error_of_weights(P, M, Q, context, each) for each in laws)
    assert shifts.averaged_error_of_weights(P, Q, context, second_moment(context, M)) == pytest.approx(averaged, rel=1e-12)
