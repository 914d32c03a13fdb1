"""Section 4.3: moments, limit, prediction and error under random diagonal covariances."""

import itertools

import numpy as np
import pytest
import torch
from scipy import integrate
from zhang_instances import RANDOM, diagonal_matrices, two_point

from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.zhang.random_covariance import ExponentialSpectrum, RandomDiagonalRegression
from papers.zhang.random_spectra import uniform
from papers.zhang.reduced_flow import random_Theta
from papers.zhang.s4_3_random_covariances.random_covariance import scaled
from papers.zhang.s4_3_random_covariances.random_covariance_limit import bin_means, unit_probes
from papers.zhang.theory import optimum
from papers.zhang.theory import random_covariance as theory
from papers.zhang.theory import random_covariance_flow as flow

# --- moments and coefficients -------------------------------------------------------------------------------------


def test_moments_by_integration():
    low, high, scale = np.array([0.2, 1.0]), np.array([0.9, 5.0]), np.array([0.5, 2.0])
    for k, i in itertools.product(range(3), range(2)):
        flat = integrate.quad(lambda v, k=k: v ** (k + 1), low[i], high[i])[0] / (high[i] - low[i])
        assert np.isclose(theory.uniform_moments(low, high)[k][i], flat, rtol=1e-12)
        exponential = integrate.quad(lambda v, k=k, s=scale[i]: (s * v) ** (k + 1) * np.exp(-v), 0, np.inf)[0]
        assert np.isclose(theory.exponential_moments(scale)[k][i], exponential, rtol=1e-9)


def test_moments_by_hand():
    assert np.allclose(theory.uniform_moments(np.zeros(1), np.ones(1)), [[1 / 2], [1 / 3], [1 / 4]], rtol=1e-15)
    assert np.allclose(theory.exponential_moments(np.array([2.0])), [[2], [8], [48]])
    assert np.allclose(theory.scaled_moments(theory.exponential_moments(np.ones(1)), 2.0), [[2], [8], [48]])
    assert np.allclose(theory.fixed_moments(np.array([3.0])), [[3], [9], [27]])


@pytest.mark.parametrize("d, N", RANDOM)
def test_coefficients_are_expectations_over_all_spectra(d, N):
    spectra, moments = two_point(d, 10 * d + N)
    Gammas = np.array([np.diag(optimum.Gamma(np.diag(spectrum), N)) for spectrum in spectra])
    zeta = np.einsum("si,si,sj->ij", Gammas, spectra, spectra) / len(spectra)
    assert np.allclose(theory.zeta(moments, N), zeta, rtol=1e-12)
    assert np.allclose(theory.gamma(moments, N), np.diag(zeta), rtol=1e-12)
    assert np.allclose(theory.xi(moments), (spectra**2).mean(axis=0), rtol=1e-12)


def test_coefficients_by_hand():
    moments = theory.exponential_moments(np.ones(2))
    assert np.allclose(theory.gamma(moments, 2), 13)
    assert np.isclose(theory.zeta(moments, 2)[0, 1], 5)
    uneven = theory.exponential_moments(np.array([1.0, 2.0]))
    # zeta_12 = 3/2 * 2 * 2 + 1/2 (2 * 2 + 1 * 8) = 12;  zeta_21 = 3/2 * 8 * 1 + 1/2 (8 + 4) = 18
    assert np.allclose(theory.zeta(uneven, 2)[[0, 1], [1, 0]], [12, 18])


def test_exponential_coefficients_known_beforehand():
    d, N = 20, 40
    assert np.allclose(theory.gamma(theory.exponential_moments(np.ones(d)), N), 6 + (2 * d + 10) / N, rtol=1e-14)


# --- limit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", [1, 5, 50])
def test_constant_spectrum_gives_theorem_4_1(N):
    diagonal = np.array([3.0, 0.5, 1e-3])
    A = theory.A_limit(theory.fixed_moments(diagonal), N)
    Lambda = np.diag(diagonal)
    assert np.allclose(A, np.linalg.inv(optimum.Gamma(Lambda, N)), rtol=1e-12)
    assert np.allclose(theory.W_KQ_limit(A), optimum.W_KQ_limit(Lambda, N), rtol=1e-12)
    assert np.allclose(theory.W_PV_limit(A), optimum.W_PV_limit(Lambda, N), rtol=1e-12)


def test_limit_weights_by_hand():
    A = np.diag([3.0, 4.0])  # Frobenius norm 5
    assert np.allclose(theory.W_KQ_limit(A), np.diag([3, 4, 0]) / 5**0.5)
    assert np.allclose(theory.W_PV_limit(A), np.diag([0, 0, 5**0.5]))


def test_prediction_matches_the_model():
    law = RandomDiagonalRegression(ExponentialSpectrum(torch.ones(3, dtype=torch.float64)))
    prompts = law.sample(stream(0, "prediction"), (7,), 5)
    A = np.diag([0.5, 0.2, 0.9])
    model = LinearSelfAttention(torch.tensor(theory.W_PV_limit(A)), torch.tensor(theory.W_KQ_limit(A)))
    by_theory = theory.prediction(A, prompts.x.numpy(), prompts.y.numpy(), prompts.x_query.numpy())
    assert np.allclose(model(prompts).numpy(), by_theory, rtol=1e-12)


def test_prediction_by_hand():
    x, y, x_query = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 1.0]), np.array([1.0, 1.0])
    A = np.array([[1.0, 10.0], [0.0, 2.0]])  # moment (1.5, 1): A^T moment = (1.5, 17)
    assert theory.prediction(A, x, y, x_query) == 18.5
    prompts = Prompts(*(torch.tensor(each)[None] for each in (x, y, x_query)), torch.zeros(1))
    layer = LinearSelfAttention(*(torch.tensor(each) for each in (theory.W_PV_limit(A), theory.W_KQ_limit(A))))
    assert float(layer(prompts)) == pytest.approx(18.5, rel=1e-14)


def test_failure_example_by_hand():
    moments = theory.exponential_moments(np.ones(3))
    w, x_query, Lambda_new = np.array([1.0, 2.0, 0.0]), np.array([3.0, 1.0, 1.0]), np.diag([2.0, 1.0, 5.0])
    assert np.isclose(theory.prediction_limit(moments, Lambda_new, w, x_query), 8 / 3, rtol=1e-14)
    assert np.isclose(theory.exponential_A(3, np.inf), 1 / 3, rtol=1e-15)
    assert np.allclose(theory.A_limit(moments, 6), theory.exponential_A(3, 6) * np.eye(3), rtol=1e-14)


@pytest.mark.parametrize("x", [0.05, 0.7, 3.0])
def test_posterior_mean_by_integration(x):
    def weight(v):
        return v**-0.5 * np.exp(-v - x**2 / (2 * v))

    numerator, denominator = (integrate.quad(lambda v, k=k: v**k * weight(v), 0, np.inf, limit=200)[0] for k in (1, 0))
    assert np.isclose(theory.exponential_posterior_mean(np.array(-x)), numerator / denominator, rtol=1e-6)


# --- error --------------------------------------------------------------------------------------------------------


def test_error_values_known_beforehand():
    d, N = 20, 40
    moments = theory.exponential_moments(np.ones(d))
    A = theory.A_limit(moments, N)
    for c, value in ((1.0, 0.4483), (4.0, 21.7), (9.0, 321.8)):
        assert np.isclose(theory.error(A, theory.scaled_moments(moments, c), N) / d, value, rtol=3e-3)
        assert np.isclose(theory.exponential_error(d, A[0, 0], c, N), value, rtol=3e-3)
    limits = theory.exponential_error(d, 1 / 3, np.array([1.0, 4.0, 9.0]), np.inf)
    assert np.allclose(limits, [1 / 3, 76 / 3, 387], rtol=1e-13)
    assert np.allclose(theory.exponential_error(d, 1.0, np.array([1.0, 4.0, 9.0]), np.inf), [3, 324, 4059], rtol=1e-13)
    assert np.isclose(theory.error(np.eye(d) / 3, theory.fixed_moments(np.ones(d)), np.inf) / d, 4 / 9, rtol=1e-14)


@pytest.mark.parametrize("d, M", RANDOM)
def test_error_is_the_mean_over_spectra_of_the_fixed_covariance_error(d, M):
    spectra, moments = two_point(d, 5 * d + M)
    A = np.random.default_rng(d).normal(size=(d, d))
    by_spectrum = [  # of w^T Lambda_hat A x_query, as the layer with u_{-1} U_11 = A has it
        np.trace(L) - 2 * np.trace(L @ A @ L) + np.trace(L @ A.T @ optimum.second_moment(L, M) @ A)
        for L in diagonal_matrices(spectra)
    ]
    assert np.isclose(theory.error(A, moments, M), np.mean(by_spectrum), rtol=1e-11)


def test_error_in_one_dimension_symbolically():
    import sympy  # slow, and only here

    a, M, l = sympy.symbols("a M l", positive=True)
    # E (a (1/M) sum x_i^2 - 1)^2 l with x_i^2 = l chi^2_1: mean l, second moment l^2 (1 + 2/M); l ~ Exp(1)
    expected = sympy.integrate((l - 2 * a * l**2 + a**2 * l**3 * (1 + 2 / M)) * sympy.exp(-l), (l, 0, sympy.oo))
    value = expected.subs({a: sympy.Rational(2, 7), M: 3})
    A = np.array([[2 / 7]])
    assert np.isclose(theory.error(A, theory.exponential_moments(np.ones(1)), 3), float(value), rtol=1e-13)


def test_minimum_error_is_reached_at_the_limit():
    _, moments = two_point(4, 1)
    A, M = theory.A_limit(moments, 6), 6
    least = moments.first.sum() + 2 * flow.reduced_minimum(theory.xi(moments), theory.gamma(moments, 6))
    assert np.isclose(theory.error(A, moments, M), least, rtol=1e-12)
    for step in np.eye(16).reshape(16, 4, 4):
        assert theory.error(A + 0.05 * step, moments, M) > least


# --- what the experiments add -------------------------------------------------------------------------------------


def test_bin_means_of_a_laplace_entry():
    assert np.isclose(bin_means(np.array([0.0, 50.0]))[0], 2**-0.5)
    inside = integrate.quad(lambda v: v * np.exp(-(2**0.5) * v), 0.3, 1.1)[0]
    assert np.isclose(bin_means(np.array([0.3, 1.1]))[0], inside / integrate.quad(lambda v: np.exp(-(2**0.5) * v), 0.3, 1.1)[0])


def test_unit_probes_are_the_entries_of_A_Lambda_hat():
    law = RandomDiagonalRegression(ExponentialSpectrum(torch.ones(3, dtype=torch.float64)))
    batch, A = law.sample(stream(1, "probes"), (4,), 6), np.diag([1.0, 2.0, 3.0])
    model = LinearSelfAttention(torch.tensor(theory.W_PV_limit(A)), torch.tensor(theory.W_KQ_limit(A)))
    probes, queries = unit_probes(model, batch)
    Lambda_hat = np.einsum("bmi,bmj->bij", batch.x.numpy(), batch.x.numpy()) / 6
    assert np.allclose(probes.numpy(), np.einsum("ik,bkj->ijb", A, Lambda_hat), rtol=1e-10)
    assert np.array_equal(queries.numpy(), batch.x_query.numpy().swapaxes(0, 1))


def test_scaled_prompts_keep_the_task():
    law = RandomDiagonalRegression(uniform(3, 0)[0])
    batch = law.sample(stream(2, "scaled"), (4,), 6)
    half = scaled(batch, 2.0, 3)
    assert half.x.shape == (4, 3, 3)
    assert torch.equal(half.x, 2 * batch.x[:, :3])
    assert torch.equal(half.y_query, 2 * batch.y_query)


def test_start_is_dense_and_of_unit_norm():
    Theta = random_Theta(4, 7, "start")
    assert np.isclose(np.linalg.norm(Theta @ Theta.T), 1)
    assert np.abs(Theta @ Theta.T).min() > 0
