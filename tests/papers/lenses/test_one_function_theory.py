"""One convex function of the context: each formula by a second route, and by hand or from outside."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats

from icl_lib.models.contextual.layers import SoftmaxAttention
from papers.lenses.theory import one_function
from papers.regression.spectra import geometric_covariance
from papers.zhang.theory import optimum


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_two_tokens_by_hand():
    z, k = np.array([[1.0], [-1.0]]), np.array([0.5])
    assert one_function.log_partition(k, z) == pytest.approx(np.log(np.cosh(0.5)))
    assert one_function.slope(k, z) == pytest.approx(np.tanh(0.5))
    assert one_function.curvature(k, z).item() == pytest.approx(np.cosh(0.5) ** -2)
    assert one_function.cumulants(z, z[:, 0], 6)[:, 0] == pytest.approx([0, 1, 0, -2, 0, 16])  # tanh x = x - x^3/3 + 2 x^5/15
    assert one_function.raw_moments(z, z[:, 0], 4)[:, 0].tolist() == [0, 1, 0, 1]


def test_slope_and_curvature_are_the_derivatives():
    """By automatic differentiation of torch's logsumexp; and convex."""
    z, k = torch.tensor(drawn(0, 7, 3)), torch.tensor(drawn(1, 3))
    phi = lambda each: (z @ each).logsumexp(0) - np.log(7)  # noqa: E731
    assert one_function.log_partition(k.numpy(), z.numpy()) == pytest.approx(phi(k).item(), rel=1e-13)
    slope = torch.autograd.functional.jacobian(phi, k)
    assert one_function.slope(k.numpy(), z.numpy()) == pytest.approx(slope.numpy(), rel=1e-12)
    hessian = torch.autograd.functional.hessian(phi, k).numpy()
    assert one_function.curvature(k.numpy(), z.numpy()) == pytest.approx(hessian, rel=1e-10)
    assert np.linalg.eigvalsh(hessian).min() > 0


def test_the_slope_is_the_librarys_softmax_attention():
    layer = SoftmaxAttention(1, 3, 3, 3)
    weights = {name: torch.tensor(drawn(k, 3, 3)) for k, name in enumerate(layer.shapes)}
    tokens = torch.tensor(drawn(9, 6, 3))
    K = (weights["W_K"].mT @ weights["W_Q"]).numpy() / 3**0.5
    found = one_function.slope(K @ tokens[-1].numpy(), tokens.numpy())  # the query is one of the tokens there
    expected = layer(weights, tokens)
    values = found @ weights["W_V"].numpy().T
    out = weights["W_O"].numpy() @ values if "W_O" in weights else values
    assert out == pytest.approx(expected.numpy(), rel=1e-12)


def partitions(items: list) -> list:
    """All partitions of a list into blocks."""
    if not items:
        return [[]]
    first, rest = items[0], items[1:]
    return [
        [[first, *block], *others]
        for size in range(len(rest) + 1)
        for block in combinations(rest, size)
        for others in partitions([each for each in rest if each not in block])
    ]


def test_cumulants_by_partitions():
    """sum over partitions of (-1)^(b-1) (b-1)! times the product of the moments of the blocks."""
    v, s = drawn(2, 9), drawn(3, 9) + 0.3
    columns = [v, s, s, s, s]
    for n, found in enumerate(one_function.cumulants(v[:, None], s, 5)):
        expected = sum(
            (-1) ** (len(blocks) - 1)
            * factorial(len(blocks) - 1)
            * np.prod([np.prod([columns[i] for i in block], axis=0).mean() for block in blocks])
            for blocks in partitions(list(range(n + 1)))
        )
        assert found.item() == pytest.approx(expected, rel=1e-10)
    central = one_function.central_moments(v[:, None], s, 4)[:, 0]
    assert central[:3] == pytest.approx(one_function.cumulants(v[:, None], s, 3)[:, 0])
    assert abs(central[3] - one_function.cumulants(v[:, None], s, 4)[3, 0]) > 0.1


def test_the_series_converges_to_attention():
    z, k = drawn(4, 8, 2), drawn(5, 2)
    series = one_function.cumulants(z, z @ k, 12)
    assert one_function.partial_sum(series, 0.1) == pytest.approx(one_function.slope(0.1 * k, z), abs=1e-9)


def test_mean_curvature_by_integration():
    """Two tokens: E sech^2(q) over a standard normal; and the slope of the best line, E[q tanh q]."""
    z, K = np.array([[1.0], [-1.0]]), np.eye(1)
    expected = integrate.quad(lambda q: stats.norm.pdf(q) * np.cosh(q) ** -2, -30, 30)[0]
    line = integrate.quad(lambda q: stats.norm.pdf(q) * q * np.tanh(q), -30, 30)[0]
    assert one_function.mean_curvature(K, z).item() == pytest.approx(expected, rel=1e-5)
    assert expected == pytest.approx(line) and expected == pytest.approx(0.6057, abs=1e-4)
    assert one_function.averaged_first(K, z).item() == pytest.approx(1)


def test_mean_curvature_is_the_least_squares_map():
    z, K = drawn(6, 5, 3), drawn(7, 3, 2)
    q = np.random.default_rng(8).normal(size=(200_000, 2))
    fitted = np.linalg.lstsq(np.c_[np.ones(len(q)), q], one_function.slope(q @ K.T, z), rcond=None)[0][1:].T
    assert one_function.mean_curvature(K, z) @ K == pytest.approx(fitted, abs=0.01)
    assert abs(one_function.averaged_first(K, z) @ K - fitted).max() > 0.05


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_the_sphere_has_its_moments(d):
    q, weights = one_function.sphere(d, d**0.5, 8)
    assert weights.sum() == pytest.approx(1) and (q**2).sum(1) == pytest.approx(d)
    assert weights @ q == pytest.approx(0, abs=1e-12)
    assert np.einsum("n,nj,nk->jk", weights, q, q) == pytest.approx(np.eye(d), abs=1e-12)
    assert weights @ q[:, 0] ** 4 == pytest.approx(3 * d / (d + 2))
    assert weights @ (q[:, 0] ** 2 * q[:, -1] ** 2) == pytest.approx(d / (d + 2))


def test_the_kernel_from_normal_integrals():
    """E (z - k).(z - k') e^((k + k').z), over e^((|k|^2 + |k'|^2)/2), in two dimensions."""
    k, other = np.array([0.7, 0.2]), np.array([-0.3, 0.5])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    z = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / (2 * np.pi)
    found = mass @ (((z - k) * (z - other)).sum(1) * np.exp(z @ (k + other)))
    found /= np.exp((k @ k + other @ other) / 2)
    assert one_function.gaussian_kernel(np.array(k @ other), 2) == pytest.approx(found)


def test_gaussian_left_in_three_dimensions():
    """There a coordinate is uniform, so that two integrals over a cosine do."""
    x = 0.8
    kernel = lambda c: np.exp(x * c) * (3 + x * c)  # noqa: E731
    constant = integrate.quad(lambda c: kernel(c) / 2, -1, 1)[0]
    linear = integrate.quad(lambda c: 3 * c * kernel(c) / 2, -1, 1)[0]
    assert one_function.gaussian_left(3, x) == pytest.approx(np.exp(x) * (3 + x) - constant - linear, rel=1e-10)


def test_small_logits_leave_the_third_cumulant():
    """To leading order R has u^2 (d/2 + 1): less its mean that is (d + 2)/2 x^2 (1 - 1/d)."""
    for d in (2, 3, 5):
        assert one_function.gaussian_left(d, 1e-3) == pytest.approx((d + 2) / 2 * 1e-6 * (1 - 1 / d), rel=2e-3)


def test_patterns_on_the_circle():
    x = 1.3
    A = lambda t: np.sinh(np.sqrt(2 * x) * np.array([np.cos(t), np.sin(t)]))  # noqa: E731
    output = lambda t: 2**0.5 * A(t) / np.cosh(np.sqrt(2 * x) * np.array([np.cos(t), np.sin(t)])).sum(0)  # noqa: E731
    t = 2 * np.pi * np.arange(400) / 400
    q, values = 2**0.5 * np.c_[np.cos(t), np.sin(t)], output(t).T
    fitted = np.c_[np.ones(400), q] @ np.linalg.lstsq(np.c_[np.ones(400), q], values, rcond=None)[0]
    assert one_function.pattern_left(2, x) == pytest.approx(((values - fitted) ** 2).sum(1).mean(), rel=1e-10)
    at_zero = ((values - (x / 2) ** 0.5 * q) ** 2).sum(1).mean()
    assert one_function.pattern_left_at_zero(2, x) == pytest.approx(at_zero, rel=1e-10)


def test_pattern_attention_is_that_of_all_axes():
    q, z = drawn(10, 4, 3), 3**0.5 * np.concatenate([np.eye(3), -np.eye(3)])
    assert one_function.pattern_attention(q, 0.9) == pytest.approx(one_function.slope((0.9 / 3) ** 0.5 * q, z))
    points, weights = one_function.sphere(3, 3**0.5, 20)
    mean = sum(w * np.trace(one_function.curvature(0.3**0.5 * each, z)) for w, each in zip(weights, points, strict=True))
    rest = weights @ ((one_function.pattern_attention(points, 0.9) - mean / 3 * 0.3**0.5 * points) ** 2).sum(1)
    assert one_function.pattern_left_mean_curvature(3, 0.9) == pytest.approx(rest, rel=1e-6)


def test_the_pair_by_centred_covariances():
    """The least risk by moments of drawn centred covariances, and Zhang et al.'s Gamma."""
    Lambda, N = geometric_covariance(3, 4.0, 0), 6
    x = np.random.default_rng(11).multivariate_normal(np.zeros(3), Lambda, (100_000, N))
    x = x - x.mean(1, keepdims=True)
    S = np.einsum("bni,bnj->bij", x, x) / N
    first, second = S.mean(0), (S @ S).mean(0)
    best = Lambda @ Lambda  # risk of A = M^-1 at the optimum: tr Lambda - tr(Lambda E[S] E[S^2]^-1 E[S])
    assert np.linalg.inv(second) @ first == pytest.approx(
        np.linalg.inv(one_function.pair_weights(Lambda, N)), rel=0.05, abs=0.01
    )
    risk = np.trace(Lambda) - np.trace(Lambda @ first @ np.linalg.solve(second, first))
    assert one_function.one_step_risk(Lambda, N - 1) == pytest.approx(risk, rel=0.01)
    assert abs(one_function.one_step_risk(Lambda, N) / risk - 1) > 0.05
    expected = np.trace(Lambda) - np.trace(best @ np.linalg.inv(optimum.Gamma(Lambda, N)))
    assert one_function.one_step_risk(Lambda, N) == pytest.approx(expected)
    assert one_function.pair_weights(Lambda, N) == pytest.approx((N - 1) / N * optimum.Gamma(Lambda, N - 1))


def test_isotropic_risk_by_hand():
    assert [one_function.one_step_risk(np.eye(8), N) for N in (9, 8)] == pytest.approx([4, 72 / 17])


def test_one_head_by_normal_integrals():
    """N E|A - k|^2 = E|z - k|^2 e^(2 k.z - |k|^2): along k and across it."""
    d, x = 3, 0.7
    k = x**0.5
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    mass = weights / weights.sum() * np.exp(2 * k * nodes - x)
    expected = mass @ ((nodes - k) ** 2 + (d - 1))
    assert one_function.single_head_noise(d, x) * x * d == pytest.approx(expected)
    assert one_function.single_head_noise(10**9, 1.0) == pytest.approx(np.e)
    for d in (1, 2, 6):
        best = optimize.minimize_scalar(lambda x: one_function.single_head_noise(d, x), bounds=(0.1, 3)).x  # noqa: B023
        assert best == pytest.approx(((d * d + 4 * d) ** 0.5 - d) / 2, abs=1e-5)


def test_the_next_term_of_one_head():
    """Drawn: contexts of 60 tokens, in which it is 3%; at d = 6 and x = 1.5 it is a share of 46/N."""
    d, x, N = 4, 0.4, 60
    z = np.random.default_rng(12).normal(size=(150_000, N, d))
    k = x**0.5 * np.eye(d)[0]
    weights = np.exp(z[..., 0] * x**0.5)
    A = np.einsum("bn,bnd->bd", weights / weights.sum(1, keepdims=True), z)
    measured = N * ((A - k) ** 2).sum(1)
    first = float(one_function.gaussian_kernel(np.array(x), d))
    expected = first * (1 + one_function.single_head_next(d, x) / N)
    assert measured.mean() == pytest.approx(expected, abs=4 * measured.std() / len(z) ** 0.5)
    assert abs(measured.mean() - first) > 8 * measured.std() / len(z) ** 0.5
    assert one_function.single_head_next(6, 1.5) == pytest.approx(-46.4, abs=0.1)


def test_a_removed_example_by_hand():
    """Attention 1/2, 1/4, 1/4 and votes 3, 1, -1: the output falls from 3/2 to 0, the gradient is 3/4."""
    assert one_function.removal(np.array(0.75), np.array(0.5)) == 1.5
    assert one_function.patch_odds(np.array(0.75), np.array(2.0)) == 6.0
