"""Layers as polynomials: each formula by a second, unrelated route, and by numbers from outside."""

from fractions import Fraction
from math import factorial, prod

import numpy as np
import pytest
import torch
from numpy.polynomial import Polynomial

from papers.ahn import layers
from papers.ahn.depth.free_features import sampled_rule
from papers.ahn.theory import depth, free_features, wishart
from papers.ahn.theory import random_covariances as random
from papers.zhang.theory import optimum
from papers.zhang.theory import random_covariance as zhang


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def covariances(seed: int, B: int, N: int, d: int) -> torch.Tensor:
    return layers.covariance(draw(seed, B, N, d))


# --- moments ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "N"), [(1, 5), (3, 7), (6, 2)])
def test_moments_known_in_closed_form(d, N):
    """The third is E tr W^3 of a Wishart matrix, as tables have it: d N (N^2 + 3N(d + 1) + d^2 + 3d + 4)."""
    third = Fraction(N**2 + 3 * N * (d + 1) + d**2 + 3 * d + 4, N**2)
    assert wishart.moments(d, N, 3) == (1, 1, 1 + Fraction(d + 1, N), third)


@pytest.mark.parametrize(("d", "N"), [(2, 5), (4, 9)])
def test_the_two_gram_matrices_have_the_same_traces(d, N):
    one, other = wishart.moments(d, N, 9), wishart.moments(N, d, 9)
    assert all(a * d * N**k == b * N * d**k for k, (a, b) in enumerate(zip(one, other, strict=True)) if k)


def pairings(places):
    """All ways to put places in pairs."""
    if not places:
        yield ()
        return
    first, *rest = places
    for k, other in enumerate(rest):
        for others in pairings(rest[:k] + rest[k + 1 :]):
            yield ((first, other), *others)


def wick(d: int, M: int, n: int) -> float:
    """(1/d) E tr S^n, by counting the loops of every pairing of the 2n entries of X in x_s1a1 x_s1a2 x_s2a2 x_s2a3 .."""
    found = 0
    for pairs in pairings(list(range(2 * n))):
        rows, columns = list(range(n)), list(range(n))  # of entry 2j and 2j + 1: row j, columns j and j + 1
        for one, other in pairs:
            for labels, a, b in ((rows, one // 2, other // 2), (columns, (one + 1) // 2 % n, (other + 1) // 2 % n)):
                old, new = labels[a], labels[b]
                labels[:] = [new if label == old else label for label in labels]
        found += M ** len({*rows}) * d ** len({*columns})
    return found / (d * M**n)


@pytest.mark.parametrize(("d", "M"), [(1, 1), (2, 5), (5, 3)])
def test_moments_are_those_of_every_pairing(d, M):
    assert [float(each) for each in wishart.moments(d, M, 5)[1:]] == pytest.approx(
        [wick(d, M, n) for n in range(1, 6)], rel=1e-12
    )


def test_moments_by_simulation():
    S = covariances(0, 200_000, 9, 3)
    for k, expected in enumerate(wishart.moments(3, 9, 5)):
        trace = torch.linalg.matrix_power(S, k).diagonal(dim1=-2, dim2=-1).mean(-1)
        assert abs(trace.mean() - float(expected)) <= 4.5 * trace.std() / len(trace) ** 0.5 + 1e-12


@pytest.mark.parametrize("d", [1, 4])
def test_the_rule_of_gauss_has_the_moments(d):
    moments = wishart.moments(d, 6, 11)
    nodes, weights = wishart.gauss_rule(*wishart.recurrence(moments))
    assert [weights @ nodes**k for k in range(12)] == pytest.approx([float(each) for each in moments], rel=1e-9)


def test_the_rule_of_a_sample_has_its_means():
    values = abs(draw(1, 4000).numpy())
    nodes, weights = sampled_rule(values, 6)
    assert [weights @ nodes**k for k in range(12)] == pytest.approx([(values**k).mean() for k in range(12)], rel=1e-9)


# --- layers -------------------------------------------------------------------------------------------------------


def test_layers_token_by_token():
    """One context, all matrices free, slots changed one by one."""
    A, x, w, query = draw(2, 3, 2, 2), draw(3, 5, 2), draw(4, 2), draw(5, 2)
    found = layers.answers(A, x[None], (x @ w)[None, :, None], query[None, None])
    slots, y = 0.0, x @ w
    for layer in A:
        change = torch.stack([sum((token @ layer @ x[j]) * y[j] for j in range(5)) / 5 for token in (*x, query)])
        y, slots = y - change[:5], slots - change[5]
    assert found.item() == pytest.approx(-float(slots))
    assert found.item() == pytest.approx(float(query @ (w - layers.left(A, layers.covariance(x)) @ w)))


def test_each_layer_is_a_step_of_preconditioned_descent():
    A, x, w, query = draw(6, 2, 3, 3), draw(7, 8, 3), draw(8, 3), draw(9, 3)
    v = torch.zeros(3, dtype=torch.float64)
    for layer in A:
        v = v - layer @ (x.mT @ (x @ v - x @ w)) / len(x)
    found = layers.answers(A, x[None], (x @ w)[None, :, None], query[None, None])
    assert found.item() == pytest.approx(float(query @ v))


def test_a_covariance_is_taken_away_by_its_inverse():
    root = draw(10, 3, 3)
    Lambda, x, w, query = root @ root.mT, draw(11, 6, 3), draw(12, 3), draw(13, 3)
    steps = layers.steps([0.7, 0.3], 3)
    plain = layers.answers(steps, x[None], (x @ w)[None, :, None], query[None, None])
    turned, labels = x @ root.mT, (x @ w)[None, :, None]
    skewed = layers.answers(steps @ torch.linalg.inv(Lambda), turned[None], labels, (root @ query)[None, None])
    assert skewed.item() == pytest.approx(plain.item())


@pytest.mark.parametrize("L", [1, 3])
def test_features_change_as_the_polynomial_says(L):
    p, a = np.append(0.2 * draw(14, L - 1).numpy(), 0.0), draw(15, L).numpy()
    x, w, query = draw(16, 1, 7, 3), draw(17, 1, 3), draw(18, 1, 3)
    found = layers.answers_of_free_features(torch.tensor(p), torch.tensor(a), x, torch.einsum("bnd,bd->bn", x, w), query)
    values, basis = np.linalg.eigh(layers.covariance(x)[0].numpy())
    kept = (basis * free_features.left(p[:-1], a, values)) @ basis.T
    assert found.item() == pytest.approx(float(query[0].numpy() @ (np.eye(3) - kept) @ w[0].numpy()))


@pytest.mark.parametrize("L", [1, 2, 3])
def test_the_degree_of_layers_that_change_features(L):
    lam, R, P = Polynomial([0.0, 1.0]), Polynomial([1.0]), Polynomial([1.0])
    for step, change in zip((0.5, 2.0, 3.0)[:L], (0.3, -0.4, 0.1)[:L], strict=True):
        P, R = P * (1 - step * R**2 * lam), R * (1 + change * R**2 * lam)
    assert P.degree() == free_features.degree(L)
    values = np.array([0.1, 0.9, 2.0])
    assert free_features.left(np.array((0.3, -0.4)[: L - 1]), np.array((0.5, 2.0, 3.0)[:L]), values) == pytest.approx(P(values))


def test_the_mean_over_all_prompts_by_simulation():
    p, a = np.array([-0.2]), np.array([0.6, 1.1])
    values = torch.linalg.eigvalsh(covariances(19, 200_000, 12, 3)).numpy()
    errors = (free_features.left(p, a, values) ** 2).sum(-1)
    assert abs(errors.mean() - free_features.loss(p, a, 3, 12)) < 4.5 * errors.std() / len(errors) ** 0.5 < 0.02 * errors.mean()


def test_without_a_change_of_features_the_loss_is_that_of_the_steps():
    a = np.array([0.9, 0.5])
    assert free_features.loss(np.zeros(1), a, 4, 9) == pytest.approx(4 * depth.error(wishart.moments(4, 9, 4), a))


# --- the best steps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "N"), [(2, 7), (5, 20), (8, 4)])
@pytest.mark.parametrize("L", [1, 2, 4])
def test_the_steps_reach_the_least_error_and_no_other_steps_go_below(d, N, L):
    moments = wishart.moments(d, N, 2 * L)
    least, steps = depth.least_error(moments, L), depth.step_sizes(moments, L)
    assert depth.error(moments, steps) == pytest.approx(least)
    assert len({*steps.round(9)}) == L and (steps > 0).all()
    for k in range(20):
        assert depth.error(moments, steps * np.exp(0.1 * draw(30 + k, L).numpy())) > least


def test_one_layer_is_zhang_et_als():
    d, N = 4, 9
    Gamma, (least,) = optimum.Gamma(np.eye(d), N), depth.step_sizes(wishart.moments(d, N, 2), 1)
    assert np.linalg.inv(Gamma) == pytest.approx(least * np.eye(d))
    assert 2 * optimum.loss_minimum(np.eye(d), N) / d == pytest.approx(depth.least_error(wishart.moments(d, N, 2), 1))


def test_equal_steps_by_scanning():
    moments = wishart.moments(3, 8, 6)
    grid = np.linspace(0.01, 1.5, 3000)
    errors = [depth.error(moments, np.full(3, a)) for a in grid]
    assert depth.equal_step(moments, 3) == pytest.approx(grid[int(np.argmin(errors))], abs=1e-3)


# --- many dimensions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_moments_tend_to_marchenko_and_pasturs(rho):
    d = 4000 * rho.numerator
    finite, limit = wishart.moments(d, int(d / rho), 6), depth.limit_moments(rho, 6)
    assert [float(each) for each in finite] == pytest.approx([float(each) for each in limit], rel=0.01)


def test_moments_of_the_limit_by_hand():
    assert depth.limit_moments(Fraction(1), 4) == (1, 1, 2, 5, 14)  # Catalan's numbers
    assert depth.limit_moments(Fraction(1, 2), 3)[3] == 1 + Fraction(3, 2) + Fraction(1, 4)


@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("L", [1, 2, 5])
def test_the_limit_follows_from_its_moments(rho, L):
    moments, ratio = depth.limit_moments(rho, 2 * L), float(rho)
    assert depth.limit_error(ratio, L) == pytest.approx(depth.least_error(moments, L))
    assert depth.limit_steps(ratio, L) == pytest.approx(depth.step_sizes(moments, L))
    assert depth.equal_step(moments, L) == pytest.approx(1 / (1 + ratio), rel=1e-4)
    assert depth.limit_equal(ratio, L) == pytest.approx(depth.error(moments, np.full(L, 1 / (1 + ratio))))


@pytest.mark.parametrize("rho", [0.4, 0.6])
def test_rates_of_the_limit(rho):
    best, equal = depth.limit_rates(rho)
    assert depth.limit_error(rho, 31) / depth.limit_error(rho, 30) == pytest.approx(best)
    left = [depth.limit_equal(rho, L) for L in (60, 61)]
    assert left[1] / left[0] == pytest.approx(equal * (61 / 60) ** -1.5, rel=0.01)
    assert equal > best


def test_numbers_from_outside():
    """Of an independent program, for d/N = 1/2: best Krylov subspaces and equal steps."""
    assert [round(depth.limit_error(0.5, L), 4) for L in (1, 2, 3, 4)] == [0.3333, 0.1429, 0.0667, 0.0323]
    assert round(depth.limit_equal(0.5, 4), 4) == 0.0828
    moments = wishart.moments(5, 20, 6)
    assert [round(depth.least_error(moments, L), 6) for L in (1, 2, 3)] == [0.230769, 0.072248, 0.026722]


# --- random covariances -------------------------------------------------------------------------------------------


def test_weighted_moments_in_one_dimension():
    """E lambda^(k+1) times the moments of a chi square with N degrees of freedom, over N."""
    N = 7
    expected = [factorial(k + 1) * prod(Fraction(N + 2 * j, N) for j in range(k)) for k in range(7)]
    assert list(random.moments(1, N, 6)) == expected


@pytest.mark.parametrize(("d", "N"), [(2, 6), (5, 11)])
def test_one_layer_on_random_covariances_is_zhang_et_als(d, N):
    spectrum = zhang.exponential_moments(np.ones(d))
    xi, gamma = zhang.xi(spectrum), zhang.gamma(spectrum, N)
    moments = random.moments(d, N, 2)
    assert [float(each) for each in moments[1:]] == pytest.approx([xi[0], gamma[0]])
    assert depth.step_sizes(moments, 1)[0] == pytest.approx(xi[0] / gamma[0])


def test_weighted_moments_by_simulation():
    generator = torch.Generator().manual_seed(40)
    variances = torch.empty(400_000, 2, dtype=torch.float64).exponential_(generator=generator)
    S = layers.covariance(draw(41, 400_000, 15, 2) * variances[:, None].sqrt())
    for k, expected in enumerate(random.moments(2, 15, 3)):
        found = torch.einsum("bi,bii->b", variances, torch.linalg.matrix_power(S, k)) / 2
        assert abs(found.mean() - float(expected)) < 4.5 * found.std() / len(found) ** 0.5


@pytest.mark.parametrize("L", [1, 2, 3, 4])
def test_the_limit_of_random_covariances_follows_from_its_moments(L):
    assert random.limit_error(L) == pytest.approx(depth.least_error(random.limit_moments(2 * L), L))
    far = depth.least_error(random.moments(2, 10_000_000, 2 * L), L)
    assert far == pytest.approx(random.limit_error(L), rel=1e-3)


def test_steps_of_the_limit_are_roots_of_laguerres_polynomials():
    coefficients = [10.0, -10.0, 2.5, -1 / 6]  # L_3^(2) of a table: sum_i (-1)^i C(5, 3 - i) x^i/i!
    roots = np.sort(np.roots(coefficients[::-1]).real)
    assert 1 / depth.step_sizes(random.limit_moments(6), 3) == pytest.approx(roots)


@pytest.mark.parametrize("a", [0.5, 3.0, 700.0])
def test_the_rule_of_sizes_has_the_moments_of_the_gamma_distribution(a):
    nodes, weights = layers.sizes(a, 4)
    found = [weights @ nodes**k for k in range(8)]
    assert found == pytest.approx([float(np.prod(a + np.arange(k))) for k in range(8)], rel=1e-9)


def test_contexts_come_apart_into_size_and_shape():
    """By simulation: of normal inputs the size is a chi square, and no mean of a product knows of the shape."""
    x = draw(11, 40_000, 4, 2)
    shape, size = layers.of_size_1(x), x.square().sum((1, 2))
    largest = torch.linalg.eigvalsh(layers.covariance(shape))[:, -1]
    assert shape.square().sum((1, 2)).numpy() == pytest.approx(np.ones(len(x)))
    nodes, weights = layers.sizes(4.0, 3)
    assert float((size**2 * largest).mean()) == pytest.approx(float(weights @ (2 * nodes) ** 2 * largest.mean()), rel=0.03)
