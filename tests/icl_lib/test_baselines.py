"""Baselines are tested like theory: a wrong baseline flatters the model."""

import pytest
import torch

from icl_lib.models.baselines import Averaging, MinimumNormOLS, OneGradientStep, Ridge, Zero
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearLabels, LinearRegression

LAMBDA = torch.tensor([[1.0, 0.5, -0.4], [0.5, 0.61, -0.02], [-0.4, -0.02, 0.29]], dtype=torch.float64)
NOISY = LinearLabels(LAMBDA, torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64), 0.3)
USING = {"ols": MinimumNormOLS(), "ridge": Ridge(0.3), "step": OneGradientStep(0.7), "averaging": Averaging()}


def noisy(M: int, shape: tuple[int, ...] = (4,)) -> Prompts:
    return NOISY.sample(stream(0, f"noisy/{M}"), shape, M)


def by_hand() -> Prompts:
    """Two examples in the plane: x = (1, 0) with y = 1 and x = (1, 1) with y = 3; query (1, 2)."""
    x, y = torch.tensor([[[1.0, 0.0], [1.0, 1.0]]]), torch.tensor([[1.0, 3.0]])
    return Prompts(x.double(), y.double(), torch.tensor([[1.0, 2.0]]).double(), torch.tensor([0.0]).double())


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        (MinimumNormOLS(), 5.0),  # w = (1, 2)
        (Averaging(), 5.0),  # w = (4, 3)/2
        (OneGradientStep(0.2), 1.0),
        (Ridge(1.0), 3.0),  # (X^T X + I) w = [[3, 1], [1, 2]] w = (4, 3), so w = (1, 1)
        (Zero(), 0.0),
    ],
)
def test_by_hand(baseline, expected):
    assert torch.allclose(baseline(by_hand()), torch.tensor([expected], dtype=torch.float64), rtol=1e-12)


@pytest.mark.parametrize("M", [3, 4, 20])
def test_ols_recovers_the_task(M):
    prompts = LinearRegression(LAMBDA).sample(stream(0, "clean"), (50,), M)
    assert torch.allclose(MinimumNormOLS()(prompts), prompts.y_query, rtol=1e-6, atol=1e-6)


def test_ols_solves_the_normal_equations():
    prompts = noisy(9)
    x, y = prompts.x, prompts.y
    w = torch.linalg.solve(torch.einsum("bmi,bmj->bij", x, x), torch.einsum("bmi,bm->bi", x, y)[..., None])[..., 0]
    assert torch.allclose(MinimumNormOLS()(prompts), torch.einsum("bd,bd->b", w, prompts.x_query), rtol=1e-9)


@pytest.mark.parametrize("M", [1, 2])
def test_ols_below_d_examples_is_the_projection_of_the_task(M):
    """For M < d the least-norm fit is P w, P the projection on the span of the inputs, by QR."""
    law = LinearRegression(LAMBDA)
    prompts = law.sample(stream(0, "short"), (30,), M)
    w = torch.randn((30, 3), generator=stream(0, "short"), dtype=torch.float64)  # what the distribution drew first
    assert torch.allclose(torch.einsum("bmd,bd->bm", prompts.x, w), prompts.y)
    Q = torch.linalg.qr(prompts.x.mT).Q
    expected = torch.einsum("bd,bdk,bek,be->b", prompts.x_query, Q, Q, w)
    assert torch.allclose(MinimumNormOLS()(prompts), expected, rtol=1e-9, atol=1e-9)


def test_ridge_limits():
    """A small penalty gives least squares, a large one averaging times M/penalty."""
    prompts = noisy(9)
    assert torch.allclose(Ridge(1e-10)(prompts), MinimumNormOLS()(prompts), rtol=1e-6)
    assert torch.allclose(Ridge(1e9)(prompts) * 1e9 / 9, Averaging()(prompts), rtol=1e-6)


def test_ridge_below_d_examples_by_the_dual_form():
    """w = X^T (X X^T + penalty I)^-1 y."""
    prompts = noisy(2)
    x = prompts.x
    kernel = torch.einsum("bmd,bnd->bmn", x, x) + 0.3 * torch.eye(2, dtype=torch.float64)
    w = torch.einsum("bmd,bm->bd", x, torch.linalg.solve(kernel, prompts.y[..., None])[..., 0])
    assert torch.allclose(Ridge(0.3)(prompts), torch.einsum("bd,bd->b", w, prompts.x_query), rtol=1e-10)


def test_ridge_with_the_noise_variance_is_the_best_ridge():
    """Bayes under w ~ N(0, I): no other penalty does better on average, paired over the same prompts."""
    clean = LinearRegression(LAMBDA).sample(stream(0, "bayes"), (40_000,), 4)
    noise = torch.randn(clean.y.shape, generator=stream(0, "noise"), dtype=torch.float64)
    prompts = clean._replace(y=clean.y + 0.5 * noise)
    errors = {p: (Ridge(p)(prompts) - clean.y_query) ** 2 for p in (0.05, 0.25, 1.0)}
    for penalty in (0.05, 1.0):
        loss = errors[penalty] - errors[0.25]
        assert loss.mean() > 3 * loss.std() / len(loss) ** 0.5


@pytest.mark.parametrize("penalty", [0.0, -1.0, float("nan")])
def test_ridge_needs_a_positive_penalty(penalty):
    with pytest.raises(ValueError, match="penalty above 0"):
        Ridge(penalty)(noisy(4))


def test_one_gradient_step_is_a_gradient_step():
    """By automatic differentiation of (1/2M) sum (<w, x_i> - y_i)^2 at w = 0."""
    prompts = noisy(6)
    w = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    loss = ((torch.einsum("bmd,bd->bm", prompts.x, w) - prompts.y) ** 2).sum() / 12
    (gradient,) = torch.autograd.grad(loss, w)
    expected = torch.einsum("bd,bd->b", -0.7 * gradient, prompts.x_query)
    assert torch.allclose(OneGradientStep(0.7)(prompts), expected, rtol=1e-12)
    assert torch.allclose(OneGradientStep(1.0)(prompts), Averaging()(prompts), rtol=1e-12)


@pytest.mark.parametrize("baseline", USING.values(), ids=USING.keys())
@pytest.mark.parametrize("M", [2, 5])
def test_every_example_is_used(baseline, M):
    prompts = noisy(M)
    whole = baseline(prompts)
    for m in range(M):
        kept = [k for k in range(M) if k != m]
        dropped = prompts._replace(x=prompts.x[:, kept], y=prompts.y[:, kept])
        assert ((baseline(dropped) - whole).abs() > 1e-6).all()


@pytest.mark.parametrize("baseline", [*USING.values(), Zero()])
def test_order_of_examples_leading_dimensions_and_target_do_not_matter(baseline):
    prompts = noisy(5, (2, 3))
    whole = baseline(prompts)
    assert whole.shape == (2, 3) and whole.dtype == torch.float64
    turned = prompts._replace(x=prompts.x.flip(-2), y=prompts.y.flip(-1), y_query=prompts.y_query + 1)
    assert torch.allclose(baseline(turned), whole, rtol=1e-8, atol=1e-10)
    one = baseline(Prompts(*(part[1, 2][None] for part in prompts)))
    assert torch.allclose(one, whole[1, 2][None], rtol=1e-9)
