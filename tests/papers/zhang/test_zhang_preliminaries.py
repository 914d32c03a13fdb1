"""Sections 1 and 3: one gradient step, long contexts, the population loss and the initialisation."""

import numpy as np
import pytest
import torch

from icl_lib.measure.risk import risk
from icl_lib.models.baselines import OneGradientStep
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import gaussian
from icl_lib.tasks.regression import LinearRegression
from papers.regression.spectra import geometric_covariance, standard_normal
from papers.zhang.s3_preliminaries.population_loss import second_moment, weights
from papers.zhang.theory import loss, one_step, optimum
from papers.zhang.wishart import empirical_covariances, risk_over_contexts

SHAPES = [(1, 1.0, 3), (2, 30.0, 1), (4, 1000.0, 2), (4, 5.0, 10)]
"""(d, condition number, prompt length), with d = 1, prompts shorter than d, and an ill-conditioned covariance."""


def numbers(*shape: int, name: str) -> np.ndarray:
    return standard_normal(shape, 0, name)


def sampled_loss(Lambda: np.ndarray, N: int, A: np.ndarray, prompts: int) -> tuple[np.ndarray, np.ndarray]:
    """(1/2) E(y_hat - y)^2 given contexts drawn example by example: independent of every formula but the prediction."""
    x = gaussian(stream(0, "sampled"), (prompts, N), torch.tensor(Lambda)).numpy()
    miss = np.einsum("bni,bnj->bij", x, x) / N @ A - np.eye(len(Lambda))
    samples = 0.5 * np.einsum("bij,jk,bik->b", miss, Lambda, miss)
    return samples.mean(), samples.std() / prompts**0.5


# --- one gradient step --------------------------------------------------------------------------------------------


def test_one_step_by_hand():
    """Lambda = diag(1, 2), M = 5: Gamma = diag(1.8, 3), tr(Gamma Lambda^2) = 13.8; floor 1 - 25/27."""
    Lambda = np.diag([1.0, 2.0])
    assert one_step.best_step_size(Lambda, 5) == pytest.approx(5 / 13.8, rel=1e-14)
    assert one_step.risk(Lambda, 5, 0.1) == pytest.approx(3 - 1 + 0.138, rel=1e-14)
    assert one_step.relative_floor(Lambda) == pytest.approx(2 / 27, rel=1e-14)


@pytest.mark.parametrize(("kappa", "printed"), [(1, 0.0), (3, 0.0828), (10, 0.1884), (100, 0.2405)])
def test_floor_of_geometric_spectra(kappa, printed):
    """Numbers computed before this library was written, d = 20."""
    assert one_step.relative_floor(geometric_covariance(20, kappa, 5)) == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize(("d", "kappa", "M"), SHAPES)
def test_one_step_is_the_loss_at_a_multiple_of_the_identity(d, kappa, M):
    """Second route: A = step_size I in the population loss, and its numerical minimum."""
    Lambda = geometric_covariance(d, kappa, 1)
    steps = np.linspace(0, 2, 2001) * one_step.best_step_size(Lambda, M)
    risks = [2 * loss.population_loss(Lambda, M, step * np.eye(d)) for step in steps]
    assert np.allclose(risks, [one_step.risk(Lambda, M, step) for step in steps], rtol=1e-12)
    assert np.argmin(risks) == 1000


@pytest.mark.parametrize(("d", "kappa", "M"), SHAPES)
def test_one_step_against_the_baseline(d, kappa, M):
    Lambda = geometric_covariance(d, kappa, 2)
    for factor in (0.5, 1.0, 1.7):
        step = factor * one_step.best_step_size(Lambda, M)
        law, model = LinearRegression(torch.tensor(Lambda)), OneGradientStep(step)
        value, se = risk(model, law, prompts=40_000, length=M, seed=0, name="test")
        assert abs(value - one_step.risk(Lambda, M, step)) < 5 * se


@pytest.mark.parametrize(("d", "kappa"), [(1, 1), (3, 1), (3, 2), (20, 100)])
def test_floor_is_the_limit_of_the_best_step(d, kappa):
    Lambda = 7 * geometric_covariance(d, kappa, 3)
    for M in (1e9, np.inf):
        least = one_step.risk(Lambda, M, one_step.best_step_size(Lambda, M)) / np.trace(Lambda)
        assert one_step.relative_floor(Lambda) == pytest.approx(least, abs=1e-7)


# --- long contexts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "kappa", "M"), [(1, 1.0, 1), (1, 1.0, 5), (3, 20.0, 3), (3, 20.0, 4), (3, 20.0, 50)])
def test_empirical_covariances_have_the_moments_of_drawn_examples(d, kappa, M):
    """Means, second moments E[Lambda_hat^2] = Gamma_M Lambda, and third moments of traces against examples."""
    Lambda = geometric_covariance(d, kappa, 4)
    drawn = empirical_covariances(Lambda, M, 60_000, 0, "wishart").numpy()
    x = gaussian(stream(0, "examples"), (60_000, M), torch.tensor(Lambda)).numpy()
    counted = np.einsum("bmi,bmj->bij", x, x) / M

    def z(samples, other):
        spread = np.sqrt((samples.var(0) + other.var(0)) / len(samples))
        return np.abs(samples.mean(0) - other.mean(0)) / spread

    assert np.allclose(drawn, np.swapaxes(drawn, 1, 2))
    assert (z(drawn, counted) < 5).all() and (z(drawn @ drawn, counted @ counted) < 5).all()
    cubes = [np.einsum("bij,bjk,bki->b", c, c, c) for c in (drawn, counted)]
    determinants = np.linalg.det(drawn), np.linalg.det(counted)
    assert z(*cubes) < 5 and z(*determinants) < 5
    theory = optimum.second_moment(Lambda, M)
    assert (np.abs((drawn @ drawn).mean(0) - theory) < 5 * (drawn @ drawn).std(0) / 60_000**0.5).all()


def test_a_long_context_is_the_covariance():
    """At M = 10^6 entries deviate by about sqrt(2/M) = 1.4e-3 times the variance."""
    drawn = empirical_covariances(2 * np.eye(2), 1_000_000, 400, 0, "long").numpy()
    assert drawn.var(axis=0) == pytest.approx(np.array([[8e-6, 4e-6], [4e-6, 8e-6]]), rel=0.4)
    assert drawn.mean(axis=0) == pytest.approx(2 * np.eye(2), abs=1e-3)


def test_bartlett_needs_enough_examples():
    with pytest.raises(ValueError, match="M=2 and d=3"):
        empirical_covariances(np.eye(3), 2, 1, 0, "short")


def test_risk_over_contexts_by_hand():
    """d = 1, Lambda = 2, P = 1/4, contexts 2 and 4: errors 2 (1/2 - 1)^2 = 0.5 and 0; mean 0.25, s.e. 0.25."""
    contexts = torch.tensor([[[2.0]], [[4.0]]], dtype=torch.float64)
    value, se = risk_over_contexts(np.array([[2.0]]), np.array([[0.25]]), contexts)
    assert value == pytest.approx(0.25) and se == pytest.approx(0.25)


@pytest.mark.parametrize(("d", "kappa", "N"), [(1, 1.0, 3), (4, 1000.0, 4), (4, 5.0, 10)])
def test_risk_over_contexts_against_examples_and_tasks(d, kappa, N):
    """An asymmetric preconditioner, so that a transpose shows."""
    Lambda, P = geometric_covariance(d, kappa, 5), numbers(d, d, name="P")
    contexts = empirical_covariances(Lambda, N, 40_000, 0, "contexts")
    value, se = risk_over_contexts(Lambda, P, contexts)
    W_PV, W_KQ = loss.W_PV_start(d, 1.0), np.pad(P.T, (0, 1))
    model = LinearSelfAttention(torch.tensor(W_PV), torch.tensor(W_KQ))
    law = LinearRegression(torch.tensor(Lambda))
    other, other_se = risk(model, law, prompts=40_000, length=N, seed=0, name="examples")
    assert abs(value - other) < 5 * np.hypot(se, other_se)


# --- the population loss ------------------------------------------------------------------------------------------


def test_population_loss_by_hand():
    """d = 1, Lambda = 1, N = 2: Gamma = 2 and L = (1 - 2A + 2A^2)/2."""
    for A, expected in [(0, 0.5), (0.5, 0.25), (1, 0.5), (-1, 2.5)]:
        assert loss.population_loss(np.eye(1), 2, np.array([[float(A)]])) == pytest.approx(expected, rel=1e-14)


def test_population_loss_of_an_asymmetric_matrix_by_hand():
    """Lambda = diag(1, 2), N = 1: Gamma Lambda = diag(5, 14). A = [[0, 1], [0, 0]]: A Lambda A^T = diag(2, 0), so
    L = (3 - 0 + 10)/2; its transpose: diag(0, 1), so L = (3 + 14)/2."""
    Lambda, A = np.diag([1.0, 2.0]), np.array([[0.0, 1.0], [0.0, 0.0]])
    assert loss.population_loss(Lambda, 1, A) == pytest.approx(6.5, rel=1e-14)
    assert loss.population_loss(Lambda, 1, A.T) == pytest.approx(8.5, rel=1e-14)


@pytest.mark.parametrize(("d", "kappa", "N"), SHAPES)
def test_population_loss_against_drawn_contexts(d, kappa, N):
    """A rough A and one near the minimiser; both asymmetric and not commuting with Lambda."""
    Lambda = geometric_covariance(d, kappa, 6)
    best = np.linalg.inv(optimum.Gamma(Lambda, N))
    for A in (numbers(d, d, name="A"), best @ (np.eye(d) + 0.3 * numbers(d, d, name="A"))):
        value, se = sampled_loss(Lambda, N, A, 60_000)
        assert abs(value - loss.population_loss(Lambda, N, A)) < 5 * se


@pytest.mark.parametrize(("d", "kappa", "N"), SHAPES)
def test_the_minimum(d, kappa, N):
    """At Gamma^-1 the loss has both closed values, its numerical gradient vanishes, and nothing nearby is lower."""
    Lambda = geometric_covariance(d, kappa, 7)
    best = np.linalg.inv(optimum.Gamma(Lambda, N))
    minimum = loss.population_loss(Lambda, N, best)
    assert loss.loss_minimum_by_length(Lambda, N) == pytest.approx(minimum, rel=1e-12)
    assert optimum.loss_minimum(Lambda, N) == pytest.approx(minimum, rel=1e-10)
    for k in range(20):
        direction = numbers(d, d, name=f"direction/{k}") * np.linalg.norm(best)
        ahead, behind = (loss.population_loss(Lambda, N, best + s * direction) for s in (0.01, -0.01))
        assert ahead == pytest.approx(behind, rel=1e-9) and ahead > minimum


def test_the_minimum_against_a_number_from_outside():
    """d = 1, Lambda = 1, N = 10: Gamma = 1.2 and L* = (1/20)(1/1.2)(2) = 1/12."""
    assert loss.loss_minimum_by_length(np.eye(1), 10) == pytest.approx(1 / 12, rel=1e-14)


def test_second_moment_estimate():
    """N = 1, d = 2: E[(x x^T)^2] = 2 Lambda^2 + tr(Lambda) Lambda, by hand for [[2, 1], [1, 1]]: [[16, 9], [9, 7]]."""
    Lambda = np.array([[2.0, 1.0], [1.0, 1.0]])
    expected = np.array([[16.0, 9.0], [9.0, 7.0]])
    assert np.allclose(optimum.second_moment(Lambda, 1), expected)
    value, se = second_moment(Lambda, 1, 100_001, 0)
    assert (np.abs(value - expected) < 5 * se).all()
    repeated = [second_moment(Lambda, 1, 2_000, seed) for seed in range(100)]
    spread = np.std([r.value for r in repeated], axis=0)
    assert np.mean([r.standard_error for r in repeated], axis=0) == pytest.approx(spread, rel=0.35)


# --- the initialisation -------------------------------------------------------------------------------------------


def test_start_by_hand():
    """M = (1, 2)^T: M M^T has norm 5, so Theta Theta^T = [[0.2, 0.4], [0.4, 0.8]]."""
    gram = loss.unit_gram(np.array([[1.0], [2.0]]))
    assert gram == pytest.approx(np.array([[0.2, 0.4], [0.4, 0.8]]))
    assert loss.W_KQ_start(gram, 0.5) == pytest.approx(np.array([[0.1, 0.2, 0], [0.2, 0.4, 0], [0, 0, 0]]))
    assert loss.W_PV_start(2, 0.5) == pytest.approx(np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0.5]]))


def test_start_is_balanced_and_normed():
    gram = loss.unit_gram(numbers(5, 5, name="M"))
    assert np.linalg.norm(loss.W_KQ_start(gram, 0.3)) == pytest.approx(np.linalg.norm(loss.W_PV_start(5, 0.3)))
    with pytest.raises(ValueError, match="not 2"):
        loss.W_KQ_start(2 * gram, 0.3)


def test_largest_sigma_by_hand():
    """Lambda = diag(1, 2, 2, 3), N = 4: ||Gamma|| = 1.25 * 3 + 2 = 5.75, sqrt(d) = 2, sigma = sqrt(1/5.75)."""
    assert loss.largest_sigma(np.diag([1.0, 2.0, 2.0, 3.0]), 4) == pytest.approx(5.75**-0.5, rel=1e-14)


def test_measured_points_are_what_they_are_called():
    Lambda = geometric_covariance(4, 5.0, 0)
    W_PV, W_KQ = weights(Lambda, 10, 0)
    A = W_PV[:, -1, -1, None, None] * W_KQ[:, :-1, :-1]
    best = np.linalg.inv(optimum.Gamma(Lambda, 10))
    assert np.allclose(A[2:], np.stack([0.5 * best, best, 1.5 * best, np.linalg.inv(Lambda)]))
    assert not np.allclose(A[1], A[1].T) and np.linalg.norm(W_PV[0]) == pytest.approx(np.linalg.norm(W_KQ[0]))
