"""Formulas of the theory at the ends of what they admit: queries far from 0, gains of any size, many dimensions."""

import numpy as np
import pytest
import torch

from papers.dherin import static_rules
from papers.dherin.theory import contextual_blocks, convergence, finetuning, modern_blocks, static


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [1.0, 4.0], [1.0, 1e-6], [1e3] * 100, [1e-8, 4e-8], [1e12, 3e12]])
def test_the_mean_direction_of_a_quadratic_form_has_trace_one_in_it(values):
    """tr(K E x x^T/<x, K x>) = 1, and no entry is negative, whatever the size of K and however many its dimensions."""
    direction = finetuning.mean_direction(np.diag(values))
    assert np.trace(np.diag(values) @ direction) == pytest.approx(1, rel=1e-9)
    assert np.diag(direction).min() > 0


def test_two_variances_have_a_mean_direction_by_hand():
    """For K = diag(k, 1): E x_1^2/(k x_1^2 + x_2^2) = 1/(sqrt(k) (sqrt(k) + 1)), by the angle."""
    for k in (4.0, 1e-6, 1e10):
        assert finetuning.mean_direction(np.diag([k, 1.0]))[0, 0] == pytest.approx(1 / (k**0.5 * (k**0.5 + 1)), rel=1e-9)


def test_the_mean_cosine_falls_like_a_root_however_many_dimensions():
    assert finetuning.mean_cosine(2) == pytest.approx(2 / np.pi) and finetuning.mean_cosine(3) == pytest.approx(0.5)
    for d in (343, 344, 10**6):
        assert finetuning.mean_cosine(d) == pytest.approx((2 / (np.pi * d)) ** 0.5 * (1 + 1 / (4 * d)), rel=1e-5)


@pytest.mark.parametrize("mean", [0.0, 10.0, 1000.0])
def test_an_affine_patch_of_few_queries_is_exact_wherever_they_lie(mean):
    rng = np.random.default_rng(3)
    for _ in range(10):
        H, T = mean + rng.standard_normal((5, 10)), rng.standard_normal((5, 3))
        D, c = static.affine(H, T)
        assert abs(T - H @ D.T - c).max() < 1e-9
        torch_D, torch_c = static_rules.affine(torch.as_tensor(H), torch.as_tensor(T))
        assert np.allclose(torch_D, D, atol=1e-9) and np.allclose(torch_c, c, atol=1e-6)


def test_repeated_queries_in_single_precision_have_a_least_patch():
    rng = np.random.default_rng(4)
    H, T = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 10)), rng.standard_normal((20, 2))
    found = static.least_squares(H.astype(np.float32), T.astype(np.float32))
    assert np.allclose(found, static.least_squares(H, T), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e-12])
def test_the_nearest_output_does_not_depend_on_the_size_of_the_gain(scale):
    m, t = np.array([1.0, 2.0, 0.5]), np.array([2.0, -1.0, 3.0])
    assert np.allclose(modern_blocks.nearest(scale * m, t), modern_blocks.nearest(m, t), rtol=1e-9)
    assert modern_blocks.rms(modern_blocks.nearest(scale * m, t)) == pytest.approx(1, rel=1e-9)


def test_scores_that_rise_far_leave_the_first_averages_alone():
    scores, values = np.array([-1000.0, -1001.0, 0.0]), np.array([[1.0], [2.0], [3.0]])
    share = 1 / (1 + np.e)
    assert np.allclose(convergence.running_average(scores, values)[:, 0], [1, 1 + share, 3], rtol=1e-12)
    assert np.allclose(convergence.newest_share(scores), [share, 1], rtol=1e-12)


def test_heads_that_cancel_have_no_speed():
    rng = np.random.default_rng(5)
    for _ in range(50):
        G, b = rng.standard_normal((2, 3, 4)), rng.standard_normal(4)
        cancelling, adding = (convergence.kappa(np.stack([*G, sign * G.sum(0)]), np.stack([b] * 3)) for sign in (-1, 1))
        assert 0 <= cancelling < 1e-6 * adding


def test_an_update_is_as_exact_as_the_context_is_small():
    W, a = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0])
    whole = contextual_blocks.update(W, np.array([1.0, -1.0]), a)
    assert np.allclose(contextual_blocks.update(W, np.array([1e-17, -1e-17]), a), 1e-17 * whole, rtol=1e-12, atol=0)


def test_shares_near_one_keep_their_digits():
    """P(cos^2 > 0.9) = I_{0.1}((d - 1)/2, 1/2), which for d = 3 is 1 - sqrt(0.9)."""
    assert contextual_blocks.aligned_share(0.9, 1.0, 3) == pytest.approx(1 - 0.9**0.5, rel=1e-12)
    assert contextual_blocks.aligned_share(0.9, 1.0, 100) == pytest.approx(2.7e-51, rel=0.02, abs=0)


def test_no_change_is_carried_by_a_joint_patch():
    assert contextual_blocks.joint_miss(np.zeros((2, 3)), np.ones((4, 3)), 1e-9) == 0
