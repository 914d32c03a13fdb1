"""Section 3.4 of Li et al., theory: by second routes and by hand."""

from itertools import combinations

import numpy as np
import pytest

from papers.li.theory import pruning


def test_start_size_by_hand_and_by_draws():
    assert pruning.start_size(0.01, 40) == pytest.approx(0.0632, abs=1e-4)
    rows = 0.3 * np.random.default_rng(0).standard_normal((50_000, 7))
    assert np.sqrt((rows**2).sum(-1).mean()) == pytest.approx(pruning.start_size(0.3, 7), rel=0.01)


@pytest.mark.parametrize("beta, q, M1", [(2.0, 1.0, 6), (1.0, 3.0, 4), (4.0, 0.5, 1)])
def test_silent_shares_by_counting(beta, q, M1):
    rows = np.random.default_rng(1).standard_normal((200_000, M1 + 1))
    inputs = np.concatenate([np.c_[beta * np.eye(M1), np.full(M1, sign * q)] for sign in (1, -1)])
    means = np.stack([np.r_[np.full(M1, beta / M1), sign * q] for sign in (1, -1)])
    assert pruning.silent_share_inputs(beta, q, M1) == pytest.approx((rows @ inputs.T <= 0).all(-1).mean(), abs=0.004)
    assert pruning.silent_share_means(beta, q, M1) == pytest.approx((rows @ means.T <= 0).all(-1).mean(), abs=0.004)


def test_silent_shares_by_hand():
    assert pruning.silent_share_means(beta=2.0, q=1.0, M1=4) == pytest.approx(0.25)  # |mu_bar| = q: a right angle
    assert pruning.silent_share_inputs(2.0, 1.0, 1) == pytest.approx(pruning.silent_share_means(2.0, 1.0, 1))
    assert pruning.pushed_share_means(2.0, 1.0, 4) == pytest.approx(0.5)
    assert pruning.silent_share_inputs(1.0, 1e-9, 3) == pytest.approx(1 / 8)  # without labels: three signs
    one, million = (q * pruning.silent_share_inputs(1.0, q, 6) for q in (1e3, 1e6))  # phi(v) is phi(0) where it counts
    assert one == pytest.approx(million, rel=1e-6) and million > 0.002


@pytest.mark.parametrize("beta, q", [(0.8, 1.0), (2.0, 0.7)])
def test_push_on_one_mean_is_the_closed_form(beta, q):
    start = np.random.default_rng(2).standard_normal((4000, 2))
    silent = pruning.push(start[:, :1], start[:, 1], beta, q, time=15.0)
    assert silent.mean() == pytest.approx(pruning.pushed_share_means(beta, q, 1), abs=0.025)


def test_push_by_hand():
    u = np.array([[-1.0], [1.0], [0.2], [-0.5]])  # silent; active under both; turned in time; pushed silent
    v = np.array([0.4, 0.0, -0.3, -1.0])
    assert pruning.push(u, v, 1.0, 2.0).tolist() == [True, False, False, True]
    assert pruning.push(np.zeros((1, 2)), np.zeros(1), 1.0, 2.0).all()  # a row that is nothing is active under nothing


def test_shares_and_output_by_hand():
    contribution, kept = np.array([1.0, 3.0, 4.0]), np.array([True, False, True])
    assert pruning.surviving_share(contribution, kept) == pytest.approx(5 / 8)
    assert pruning.pruned_output(2.0, 1.0, 0.5, 0.25) == 0.75
    assert pruning.pruned_hinge(np.array([2.0, 1.0, -1.0]), 0.25) == pytest.approx((0.5 + 0.75 + 1.25) / 3)
    assert pruning.pruned_hinge(np.array([[2.0, 8.0], [4.0, 1.0], [0.0, 0.0]]), 0.25) == pytest.approx([0.25, 0.375, 1.0])
    assert pruning.plateau(1.8) == pytest.approx(4 / 9)


def test_exact_copies_are_predicted_exactly():
    generator = np.random.default_rng(3)
    size, inputs = generator.uniform(0.5, 2, 8), generator.standard_normal((500, 2))
    sign = np.array([1, -1] * 4)
    rows = size[:, None] * np.c_[np.full(8, 0.4), sign]  # (feature, +-label), parallel within a label
    value = sign * np.maximum(inputs @ rows.T, 0)
    kept = np.array([True, True, False, True, True, False, False, True])
    plus, minus = value[:, sign > 0].sum(-1), -value[:, sign < 0].sum(-1)
    shares = (pruning.surviving_share(size * (sign == label), kept) for label in (1, -1))
    assert np.allclose((value * kept).sum(-1), pruning.pruned_output(plus, minus, *shares))


def test_hinge_bounds_enclose_and_the_plateau_is_flat():
    margin = np.random.default_rng(4).normal(1.7, 0.4, 2000)
    for R in (0.0, 0.2, 0.5, 0.9, 1.0):
        low, high = pruning.hinge_bounds(margin, R)
        assert low - 1e-12 <= pruning.pruned_hinge(margin, 1 - R) <= high + 1e-12
    margin = margin.clip(1.5)
    assert pruning.pruned_hinge(margin, 1 - pruning.plateau(1.5)) == pytest.approx(0, abs=1e-12)
    assert pruning.pruned_hinge(margin, 0.9 - pruning.plateau(1.5)) > 0.01


@pytest.mark.parametrize("n_plus, n_minus, deleted", [(2, 3, 3), (2, 3, 2), (4, 4, 4), (3, 1, 1), (3, 3, 6), (4, 3, 2)])
def test_lost_labels_by_enumeration(n_plus, n_minus, deleted):
    plus = set(range(n_plus))
    minus = set(range(n_plus, n_plus + n_minus))
    choices = [set(choice) for choice in combinations(range(n_plus + n_minus), deleted)]
    for label in (plus, minus):
        gone = np.mean([label <= choice for choice in choices])
        assert pruning.label_lost(len(label), n_plus + n_minus, deleted) == pytest.approx(gone)


def test_random_error_by_hand():
    assert pruning.random_error(0.02, 0.0, 0.0) == pytest.approx(0.02)
    assert pruning.random_error(0.0, 0.4, 0.0) == pytest.approx(0.1)
    assert pruning.random_error(0.3, 0.0, 1.0) == pytest.approx(0.5)
