"""Section 3.3: sums, margins, votes and escape times, by a second route and by hand."""

import numpy as np
import pytest
import torch
from scipy.integrate import quad, solve_ivp

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.li.patterns import combined_patterns, orthogonal_patterns, rescaled_patterns
from papers.li.softmax_attention import SoftmaxAttentionMLP, output_weights
from papers.li.task_sets import task_set
from papers.li.theory import coefficient_sum, escape_time, floor, prompt_length
from papers.li.theory.coverage import pair_laplacian

SQUARE = np.array([[2.0, 0.0, 1.0], [0.0, 4.0, -1.0], [1.0, 3.0, 0.0]])
"""Trace 6, sum of all entries 10: gamma = (6 - 10/3)/2 = 4/3."""


def frames(M1, count, S_1, draws, seed=0):
    return combined_patterns(stream(seed, "frames"), torch.eye(M1, dtype=torch.float64), count, S_1, draws).numpy()


# --- sums and their geometry --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("M1", "count", "S_1"), [(6, 3, 1.1), (6, 3, -0.4), (5, 2, 1.5), (8, 8, 1.0), (6, 3, 2**0.5)])
def test_drawn_patterns_have_the_sum_and_the_remainders_the_gram_matrix(M1, count, S_1):
    k = frames(M1, count, S_1, 5)
    assert np.allclose(coefficient_sum.coefficient_sum(k), S_1)
    remainder = k - k.mean(-1, keepdims=True)
    gram = np.einsum("dci,dei->dce", remainder, remainder)
    assert np.allclose(gram, coefficient_sum.remainder_gram(S_1, M1, count), atol=1e-12)
    assert abs(S_1) <= coefficient_sum.largest_sum(M1, count) * (1 + 1e-12)


@pytest.mark.parametrize(("M1", "count"), [(6, 3), (6, 2), (9, 4)])
def test_the_largest_sum_is_where_the_gram_matrix_degenerates(M1, count):
    edge = coefficient_sum.largest_sum(M1, count)
    assert np.linalg.eigvalsh(coefficient_sum.remainder_gram(edge, M1, count))[0] == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="coefficient sum"):
        frames(M1, count, edge * 1.01, 1)


def test_sums_by_hand():
    """Pairs (e_1 + e_2)/sqrt 2, (e_3 + e_4)/sqrt 2 of M1 = 4 have S_1 = sqrt 2, the largest for two patterns."""
    k = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]) / 2**0.5
    assert coefficient_sum.coefficient_sum(k) == pytest.approx([2**0.5] * 2)
    assert coefficient_sum.largest_sum(4, 2) == pytest.approx(2**0.5)
    assert np.allclose(coefficient_sum.remainder_gram(2**0.5, 4, 2), [[0.5, -0.5], [-0.5, 0.5]])
    assert coefficient_sum.feature_to_label(3.0, 2.0, 6) == pytest.approx(3 / 8)
    for M1 in (2, 9):  # a row along (mu_bar, q), read on every pattern and on the label
        relevant, q = 1.7 * np.eye(M1), np.array([0.6, 0.3])
        read = relevant @ relevant.mean(0) / (q @ q)
        assert read == pytest.approx(np.full(M1, coefficient_sum.feature_to_label(1.7, (q @ q) ** 0.5, M1)))
    assert coefficient_sum.mean_label(0.9, 0.8) == pytest.approx(0.9 - 0.1 * 2 / 3)
    assert coefficient_sum.mean_label(1.0, 0.3) == 1


@pytest.mark.parametrize("count", [0, 7])
def test_impossible_numbers_of_patterns_are_named(count):
    with pytest.raises(ValueError, match="orthonormal patterns"):
        coefficient_sum.largest_sum(6, count)


@pytest.mark.parametrize("alpha", [0.0, 1.2])
def test_impossible_shares_are_named(alpha):
    for law in (
        lambda: coefficient_sum.mean_label(0.5, alpha),
        lambda: prompt_length.needed_length(0.1, alpha),
        lambda: prompt_length.vote_error(1.0, alpha, 3),
        lambda: prompt_length.attention_mass(1.0, alpha, 3),
    ):
        with pytest.raises(ValueError, match="alpha"):
            law()


# --- the margin ---------------------------------------------------------------------------------------------------


def aligned_model(beta, q, count, c, d):
    """Rows of W_O along (mu_bar, +-q) with factors c and d, attention as sharp as it gets."""
    M1, m = 6, 10
    patterns = orthogonal_patterns(M1, 1, 7, beta)
    a = output_weights(m)
    mean = patterns.relevant.mean(0) * c
    W_O = torch.stack([torch.cat([mean, torch.tensor([d * sign * q])]) for sign in a.sign()])
    W_Q = torch.zeros(8, 8, dtype=torch.float64)
    W_Q[:7, :7] = 40 * torch.eye(7)
    eye = torch.eye(8, dtype=torch.float64)
    return SoftmaxAttentionMLP(W_Q=W_Q, W_K=eye, W_V=eye, W_O=W_O, a=a, q=torch.tensor([q], dtype=torch.float64)), patterns


@pytest.mark.parametrize("S_1", [-1.3, -0.5, 0.0, 0.7, 1.0, 1.3])
@pytest.mark.parametrize(("c", "d"), [(1.0, 1.0), (1.0, 0.1), (0.2, 1.0)])
def test_margin_is_that_of_a_layer_with_aligned_rows(S_1, c, d):
    model, patterns = aligned_model(2.0, 1.0, 3, c, d)
    odr = combined_patterns(stream(1, "odr"), patterns.relevant, 3, S_1, 1)[0]
    margins = []
    for z in (1.0, -1.0):
        x = torch.stack([odr[0], odr[1], odr[2]])
        prompts = Prompts(x[None], torch.tensor([[z, -z, 1.0]], dtype=torch.float64), odr[:1], torch.tensor([z]))
        margins.append(z * float(model(prompts)))
    phi, lam = np.full((1, 10), c * 4 / 6), d * np.sign(model.a.numpy())[None]
    assert coefficient_sum.margin(S_1, model.a.numpy(), phi, lam, 1.0) == pytest.approx(np.mean(margins), abs=1e-9)
    assert np.mean(margins) >= -1e-12


def test_margin_by_hand():
    """Two neurons, a = +-1, phi = 2, lambda = +-3: zF = 3 + 2 S_1 for |S_1| < 1.5, then 6; 0 below -1.5."""
    neurons = (np.array([1.0, -1.0]), np.array([[2.0, 2.0]]), np.array([[3.0, -3.0]]), 1.0)
    margins = [coefficient_sum.margin(S_1, *neurons).item() for S_1 in (-2.0, -1.5, -1.0, 0.0, 1.0, 1.5, 2.0)]
    assert margins == [0, 0, 1, 3, 5, 6, 6]


@pytest.mark.parametrize("S_1", [-0.9, 0.2, 1.1])
def test_slope_is_the_derivative(S_1):
    generator = np.random.default_rng(3)
    a, phi, lam = np.array([1.0, -1.0] * 4), generator.uniform(0.2, 1, (2, 8)), generator.normal(size=(2, 8))
    h = 1e-6
    difference = coefficient_sum.margin(S_1 + h, a, phi, lam, 0.8) - coefficient_sum.margin(S_1 - h, a, phi, lam, 0.8)
    assert coefficient_sum.slope(S_1, a, phi, lam, 0.8) == pytest.approx(difference / (2 * h), rel=1e-6)


# --- score gaps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("S_1", "count"), [(0.0, 2), (1.2, 2), (-1.0, 2), (1.0, 3)])
def test_mean_gap_does_not_depend_on_the_sum(S_1, count):
    gaps = coefficient_sum.off_diagonal_mean(coefficient_sum.pair_gaps(SQUARE, frames(3, count, S_1, 40_000)))
    assert abs(gaps.mean() - coefficient_sum.mean_gap(SQUARE[None]).item()) < 5 * gaps.std() / 200 + 1e-12


def test_gaps_by_hand():
    own = coefficient_sum.pair_gaps(SQUARE, np.eye(3))
    assert own.tolist() == [[0, 4, -1], [2, 0, 1], [1, 1, 0]]
    assert coefficient_sum.off_diagonal_mean(own[None]) == pytest.approx(8 / 6)
    assert coefficient_sum.mean_gap(SQUARE[None]) == pytest.approx(4 / 3)
    assert coefficient_sum.rescaled_gap(4.0, -0.5) == 1.0


def test_the_spread_of_gaps_is_that_over_draws_and_pairs():
    W, k = np.stack([SQUARE, SQUARE.T @ SQUARE]), frames(3, 2, 0.7, 50)
    apart = [coefficient_sum.pair_gaps(one, k)[:, ~np.eye(2, dtype=bool)] for one in W]
    assert coefficient_sum.gap_spread(W, k) == pytest.approx([one.std() for one in apart], rel=1e-12)


def test_rescaled_patterns_have_the_rescaled_gap():
    k = rescaled_patterns(torch.eye(3, dtype=torch.float64), 0.6).numpy()
    gap = coefficient_sum.off_diagonal_mean(coefficient_sum.pair_gaps(SQUARE, k)[None])
    assert gap == pytest.approx(coefficient_sum.rescaled_gap(4 / 3, 0.6))


# --- votes and lengths --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("l", "alpha"), [(1, 0.5), (4, 0.8), (7, 1.0), (20, 0.6), (9, 0.2)])
def test_votes_with_a_sharp_and_with_a_finite_gap_are_those_of_section_3_2(l, alpha):
    assert prompt_length.vote_error(np.inf, alpha, l) == pytest.approx(floor.vote_error(l, alpha), rel=1e-12)
    for gap in (0.0, 0.7, 2.3):
        assert prompt_length.vote_error(gap, alpha, l) == pytest.approx(floor.start_vote_error(l, alpha, gap), rel=1e-10)


@pytest.mark.parametrize(("weight", "exact"), [(3, 851 / 4096), (5, 515 / 4096)])
def test_votes_that_are_even_are_counted_so_although_their_weight_is_rounded(weight, exact):
    assert floor.start_vote_error(8, 0.5, np.log(weight)) == pytest.approx(exact, rel=1e-12)
    assert prompt_length.vote_error(np.log(weight), 0.5, 8) == pytest.approx(exact, rel=1e-12)


def test_at_an_infinite_gap_the_label_is_the_query_s_where_a_context_has_its_pattern():
    chance, value = prompt_length.label_law(np.inf, 0.5, 5)
    assert ((value < 0) + 0.5 * (value == 0)) @ chance == pytest.approx(prompt_length.vote_error(np.inf, 0.5, 5), rel=1e-12)
    assert np.isfinite(value).all() and set(value[value > 0.7]) == {1.0}


def test_vote_error_and_mass_of_many_gaps_are_those_of_each():
    gaps = np.array([[0.0, 0.3], [2.0, np.inf]])
    for law in (prompt_length.vote_error, prompt_length.attention_mass):
        assert law(gaps, 0.6, 5).tolist() == [[pytest.approx(law(gap, 0.6, 5), rel=1e-14) for gap in row] for row in gaps]


def test_vote_error_and_mass_by_drawing_contexts():
    generator = np.random.default_rng(0)
    gap, alpha, l = 1.3, 0.7, 6
    u, coin = generator.random((400_000, l)), generator.random((400_000, l))
    own, opposite = u < alpha / 2, (u >= alpha / 2) & (u < alpha)
    label = np.where(own, 1, np.where(opposite | (coin < 0.5), -1, 1))
    weight = np.where(own, np.exp(gap), 1.0)
    lost = (weight * label).sum(-1)
    assert ((lost < 0) + 0.5 * (lost == 0)).mean() == pytest.approx(prompt_length.vote_error(gap, alpha, l), abs=0.003)
    mass = ((weight * own).sum(-1) / weight.sum(-1))[own.any(-1)]
    assert mass.mean() == pytest.approx(prompt_length.attention_mass(gap, alpha, l), abs=0.002)
    vote = (weight * label).sum(-1)[own.any(-1)] / weight.sum(-1)[own.any(-1)]
    assert vote.mean() == pytest.approx(coefficient_sum.mean_label(mass.mean(), alpha), abs=0.004)


def test_lengths_by_hand():
    """alpha = 1: absent with probability 2^-l, so eps = 1/8 takes 3; the bracket is ln 8 to 2 ln 8."""
    assert prompt_length.needed_length(1 / 8, 1.0) == pytest.approx(3)
    assert prompt_length.length_bracket(1 / 8, 1.0) == pytest.approx((np.log(8), 2 * np.log(8)))
    assert prompt_length.vote_error(np.inf, 1.0, 3) == pytest.approx(1 / 8)
    assert prompt_length.vote_error(0.0, 1.0, 1) == pytest.approx(1 / 2)
    assert prompt_length.crossing(np.array([2.0, 4.0]), np.array([0.1, 0.001]), 0.01) == pytest.approx(3)
    assert np.isnan(prompt_length.crossing(np.array([2.0, 4.0]), np.array([0.5, 0.4]), 0.01))
    with pytest.raises(ValueError, match="eps"):
        prompt_length.needed_length(1.0, 0.5)


@pytest.mark.parametrize("alpha", [0.05, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("eps", [0.3, 0.01, 1e-6])
def test_the_bracket_encloses_the_length_that_the_floor_reaches(alpha, eps):
    lower, upper = prompt_length.length_bracket(eps, alpha)
    needed = prompt_length.needed_length(eps, alpha)
    assert lower <= needed <= upper
    assert (1 - alpha / 2) ** needed == pytest.approx(eps)


# --- escape -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("M1", [2, 6, 24])
def test_phase_is_the_blow_up_of_the_reduced_model_and_an_integral(M1):
    def far(t, state):
        return state[2] - 1e7

    far.terminal = True
    path = solve_ivp(lambda t, state: escape_time.velocity(state, M1), (0, 30), [1, 0, 1], events=far, rtol=1e-9, atol=1e-9)
    assert path.t[-1] == pytest.approx(escape_time.phase(M1), abs=1e-5)
    area = quad(lambda theta: 2 / (1 + np.sinh(theta) ** 2 / M1), 0, 20)[0]
    assert area == pytest.approx(escape_time.phase(M1), rel=1e-6)


@pytest.mark.parametrize(("tasks", "M1"), [("cyclic 1", 6), ("cyclic 2", 5)])
def test_phase_of_scores_is_the_blow_up_with_all_scores_moving(tasks, M1):
    """V' = tr(L A) H/2, H' = tr(L A) V/2, A' = V H L A on the whole matrix of scores; all tasks by hand."""
    L = pair_laplacian(task_set(tasks, M1).numpy(), M1)

    def velocity(t, state):
        V, H, A = state[0], state[1], state[2:].reshape(M1, M1)
        signal = np.trace(L @ A)
        return np.concatenate([[signal * H / 2, signal * V / 2], (V * H * L @ A).ravel()])

    def far(t, state):
        return state[0] - 1e7

    far.terminal = True
    path = solve_ivp(velocity, (0, 30), np.append([1.0, 0.0], np.eye(M1)), events=far, rtol=1e-9, atol=1e-9)
    assert path.t[-1] == pytest.approx(escape_time.phase_of_scores(L), abs=1e-5)
    all_pairs = pair_laplacian(task_set("all", M1).numpy(), M1)
    assert escape_time.phase_of_scores(all_pairs) == pytest.approx(escape_time.phase(M1 - 1), rel=1e-8)


def test_escape_by_hand():
    """M1 = 4/3: r = 1/2, Psi = 2 ln 3. Large M1: ln(4 M1). Overlap 1/2 gives rho^2 = 1/4 + 1/12 = 1/3."""
    assert escape_time.phase(4 / 3) == pytest.approx(2 * np.log(3))
    assert escape_time.phase(1e6) == pytest.approx(np.log(4e6), rel=1e-4)
    assert escape_time.both_active(0.5) == pytest.approx(1 / 3)
    assert escape_time.velocity(np.array([2.0, 3.0, 4.0]), 6.0).tolist() == [6.0, 4.0, 4.0]
    assert escape_time.stated_steps(eta=0.5, alpha=1.0, beta=8.0, M1=1) == 0
    assert escape_time.stated_steps(eta=0.5, alpha=1.0, beta=8.0, M1=3) == pytest.approx(1.5 * np.log(3) ** 0.5)
    assert escape_time.stated_steps(eta=0.5, alpha=1 / 8, beta=8.0, M1=3) == pytest.approx(6 * np.log(3) ** 0.5)
    with pytest.raises(ValueError, match="M1"):
        escape_time.phase(1.0)


def test_both_active_by_drawing_rows():
    rows = np.random.default_rng(1).normal(size=(200_000, 2))
    both = (rows[:, 0] > 0) & (0.3 * rows[:, 0] + (1 - 0.09) ** 0.5 * rows[:, 1] > 0)
    assert both.mean() == pytest.approx(escape_time.both_active(0.3), abs=0.004)


@pytest.mark.parametrize(
    ("alpha", "M1", "l", "beta", "q", "K"),
    [(0.6, 5, 7, 1.3, 0.7, 0.9), (0.9, 7, 3, 0.8, 1.5, 0.4), (0.3, 9, 31, 2.0, 3.0, 1.5)],
)
def test_overlap_by_drawing_prompts(alpha, M1, l, beta, q, K):
    """Shares, labels and lengths of mean tokens, counted; the irrelevant patterns of a prompt are orthogonal."""
    draws, rng = 100_000, np.random.default_rng(2)
    place = rng.choice(4, p=[alpha / 2, alpha / 2, 0, 1 - alpha], size=(draws, l))
    place[place == 3] = rng.integers(2, M1, size=(place == 3).sum())
    sign = np.where(place == 0, 1, np.where(place == 1, -1, rng.choice([-1, 1], size=place.shape)))
    names = rng.permuted(np.tile(np.arange(M1), (draws, 1)), axis=1)
    share = (np.take_along_axis(names, place, axis=1)[:, :, None] == np.arange(M1)).mean(1)
    noise = (rng.uniform(-K, K, size=place.shape) ** 2).sum(1) / l**2
    square = (beta**2 * ((share**2).sum(1) + noise) + q**2 * sign.mean(1) ** 2).mean()
    shared = beta**2 * (share.mean(0) ** 2).sum()
    assert shared / square == pytest.approx(escape_time.overlap(alpha, M1, l, beta, q, K), rel=0.008)


def test_escape_time_has_the_exponents_of_its_formula():
    base = dict(eta=1.0, alpha=0.8, beta=1.0, q=1.0, delta=0.2, M1=6, l=20, K=0.5)
    times = [escape_time.escape_time(**{**base, **changed}) for changed in ({}, {"eta": 2.0}, {"delta": 0.1})]
    assert times[1:] == pytest.approx([times[0] / 2, times[0] * 4])
    p = 0.8**2 / 2 + 0.2**2 / 4
    assert escape_time.overlap(0.8, 6, 20, 1.0, 1.0, 0.5) == pytest.approx(1 / 6 / (p + (1 - p) / 20 + 0.25 / 60 + 1 / 20))
