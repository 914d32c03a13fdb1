"""Section 5.1: the quadratic form and the full loss, by a second route and by hand."""

import numpy as np
import pytest
import torch
from torch.func import grad, hessian
from zhang_instances import SETTINGS, SKEW, SMALL, covariance, draw

from icl_lib.measure.estimate import mean
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.seeds import stream
from icl_lib.tasks.regression import LinearRegression
from papers.zhang import exact_prompts
from papers.zhang.theory import dynamics, full_loss, optimum, quadratic


@pytest.mark.parametrize(("d", "N"), [(1, 2), (3, 2), (4, 4), (3, 9)])
def test_lemma_5_1_is_the_layer(d, N):
    law = LinearRegression(torch.tensor(covariance(d, 20.0)))
    E = embed(law.sample(stream(3, "prompts"), (5,), N))
    W_PV, W_KQ = draw(2, d + 1, d + 1)
    layer = LinearSelfAttention(torch.tensor(W_PV), torch.tensor(W_KQ)).tokens(E)[:, -1, -1].numpy()
    forms = [quadratic.quadratic_prediction(tokens, quadratic.U(W_PV, W_KQ)) for tokens in E.numpy()]
    assert np.allclose(forms, layer, rtol=1e-11, atol=1e-12)
    for tokens in E.numpy():
        eigenvalues = np.linalg.eigvalsh(quadratic.H(tokens))
        floor = 1e-11 * eigenvalues[-1]
        assert (eigenvalues < -floor).sum() == (eigenvalues > floor).sum() == quadratic.negative_eigenvalues(N, d)


def test_quadratic_form_by_hand():
    E = np.array([[2.0, 3.0], [4.0, 0.0]])
    assert quadratic.quadratic_prediction(E, np.array([[1.0, 1.0], [-1.0, 2.0]])) == -33.0
    assert quadratic.vec(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [1.0, 3.0, 2.0, 4.0]
    assert [quadratic.negative_eigenvalues(N, 4) for N in (1, 2, 3, 4, 10)] == [2, 3, 4, 5, 5]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_characteristic_polynomial_of_X(d):
    x = draw(d)
    for mu in (0.7, -1.3):
        determinant = np.linalg.det(mu * np.eye(d + 1) - quadratic.X(x))
        assert quadratic.X_characteristic(x, mu) == pytest.approx(determinant, rel=1e-10)
    assert quadratic.X_characteristic(np.array([3.0, 4.0]), 2.0) == 2 * (4 - 25)


@pytest.mark.parametrize(("d", "N"), SMALL)
def test_full_loss_gradient_and_hessian_are_those_of_the_layer(d, N):
    Lambda, U = covariance(d, 6.0, seed=d), draw(d + 1, d + 1, seed=N)
    loss = exact_prompts.exact_loss(Lambda, N)
    assert full_loss.full_loss(Lambda, N, U) == pytest.approx(float(loss(torch.tensor(U))), rel=1e-11)
    slope = grad(loss)(torch.tensor(U)).numpy()
    assert abs(full_loss.full_gradient(Lambda, N, U) - slope).max() < 1e-11 * abs(slope).max()
    if d * N <= 4:
        curvature = hessian(loss)(torch.tensor(U)).reshape(U.size, U.size).numpy()
        assert abs(full_loss.full_hessian(Lambda, N, U) - curvature).max() < 1e-11 * abs(curvature).max()


def test_full_loss_by_hand():
    everywhere = np.ones((2, 2))
    assert full_loss.odd_loss(np.eye(1), 1, everywhere) == pytest.approx(4.5, rel=1e-14)
    assert full_loss.even_loss(np.eye(1), 1, everywhere) == pytest.approx(22.5, rel=1e-14)
    assert full_loss.label_moment(np.eye(1), 1) == 9.0
    assert full_loss.full_loss(SKEW, 2, np.zeros((3, 3))) == 1.5


def test_full_loss_against_monte_carlo_at_a_size_without_exact_prompts():
    d, N = 4, 12
    Lambda, U = covariance(d, 5.0), 0.5 * draw(d + 1, d + 1, seed=8)
    prompts = LinearRegression(torch.tensor(Lambda)).sample(stream(5, "prompts"), (60_000,), N)
    model = exact_prompts.attention(torch.tensor(U))
    y, mirrored = model(prompts), model(prompts._replace(y=-prompts.y))
    for part, theory in (
        ((y - mirrored) / 2 - prompts.y_query, full_loss.odd_loss(Lambda, N, U)),
        ((y + mirrored) / 2, full_loss.even_loss(Lambda, N, U)),
    ):
        value, se = mean(part**2 / 2)
        assert abs(value - theory) < 4 * se
        assert se < 0.05 * theory


def test_exact_prompts_average_gaussian_moments():
    Lambda = covariance(2, 5.0)
    prompts, weights = exact_prompts.gauss_hermite_prompts(Lambda, 2)
    hat = torch.einsum("bni,bnj->bij", prompts.x, prompts.x) / 2
    second = torch.einsum("b,bij,bjk->ik", weights, hat, hat).numpy()
    assert np.allclose(second, optimum.second_moment(Lambda, 2), rtol=1e-12)
    assert float(torch.einsum("b,b->", weights, prompts.y_query**2)) == pytest.approx(np.trace(Lambda), rel=1e-12)
    assert exact_prompts.hermite(3)[1].sum() == pytest.approx(1)


@pytest.mark.parametrize(("d", "N", "kappa"), SETTINGS)
def test_the_limit_minimises_the_full_loss(d, N, kappa):
    Lambda = covariance(d, kappa)
    U = dynamics.live(dynamics.limit(Lambda, N, 0.0))
    assert full_loss.full_loss(Lambda, N, U) == pytest.approx(optimum.loss_minimum(Lambda, N), rel=1e-10)
    eigenvalues, modes = np.linalg.eigh(full_loss.full_hessian(Lambda, N, U))
    assert abs(full_loss.full_gradient(Lambda, N, U)).max() < 1e-10 * eigenvalues[-1]
    assert abs(eigenvalues[0]) < 1e-12 * eigenvalues[-1] < eigenvalues[1] * 1e-3
    turn = full_loss.rescaling_direction(U).ravel()
    assert abs(modes[:, 0] @ turn) == pytest.approx(np.linalg.norm(turn), rel=1e-6)
