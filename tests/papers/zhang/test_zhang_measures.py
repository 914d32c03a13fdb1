"""What the rooms of Zhang et al. measure beside the formulas, by hand on small numbers or by a second route."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import gaussian
from icl_lib.tasks.regression import LinearRegression
from papers.regression.shifted_prompts import Shifts
from papers.zhang.appendices.fourth_moment import FOURTH_MOMENT
from papers.zhang.appendices.off_diagonal import pl_ratio
from papers.zhang.near_misses import WRONG_GAMMAS
from papers.zhang.s3_preliminaries.attention import own_token
from papers.zhang.s4_1_convergence import flow
from papers.zhang.s4_1_convergence.averaged_error import AVERAGED_ERROR
from papers.zhang.s4_1_convergence.stationarity import STATIONARITY
from papers.zhang.s4_2_shifts.covariate_shift import COVARIATE_SHIFT
from papers.zhang.s4_3_gpt2.cells import over_jump
from papers.zhang.s4_3_random_covariances import random_covariance
from papers.zhang.s4_3_random_covariances.random_covariance import RANDOM_COVARIANCE
from papers.zhang.s5_2_dynamics.time_course import TIME_COURSE
from papers.zhang.s5_3_pl_inequality import long_prompts
from papers.zhang.s5_3_pl_inequality.long_prompts import LONG_PROMPTS
from papers.zhang.theory import dynamics, full_loss, optimum, wall
from papers.zhang.theory import random_covariance_flow as flow_theory

LAMBDA = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_standard_error_of_a_moment_is_that_of_the_same_draws():
    tiny = replace(FOURTH_MOMENT.quick, d=(2,), draws=5000)
    Lambda, A = tiny._matrices(2, 3)
    x = gaussian(stream(3, "fourth-moment/2"), (5000,), torch.tensor(Lambda)).numpy()
    each = np.einsum("bi,ij,bj,bk,bl->bkl", x, A, x, x, x)
    dataset = tiny.run(3, "cpu")
    assert np.allclose(dataset.moment, each.mean(0).ravel())
    assert np.allclose(dataset.moment_se, each.std(0, ddof=1).ravel() / 5000**0.5)


def test_ratio_of_the_pl_inequality_by_finite_differences():
    """The squared gradient of the reduced loss, in all entries of U_11 and in u, over the gap."""
    xi, gamma = np.array([1.0, 2.0]), np.array([3.0, 2.0])
    zeta = np.array([[3.0, 2.5], [2.5, 2.0]])
    U, u, h = np.array([[[0.3, 0.2], [0.2, 0.1]]]), np.array([0.4]), 1e-6
    theta = np.append(U, u)

    def loss(point: np.ndarray) -> float:
        return flow_theory.reduced_loss(point[:4].reshape(2, 2), point[4], xi, zeta)

    gradient = [(loss(theta + h * e) - loss(theta - h * e)) / (2 * h) for e in np.eye(5)]
    expected = np.sum(np.square(gradient)) / (loss(theta) - flow_theory.reduced_minimum(xi, gamma))
    assert pl_ratio(U, u, xi, gamma, zeta) == pytest.approx([expected])


def test_own_token_is_what_the_layer_loses_without_it():
    """The sum over all tokens less that over the context, both over M; one pair of weights, three prompts, M = 5, d = 2."""
    W_PV, W_KQ = torch.randn((2, 1, 3, 3), generator=stream(0, "own"), dtype=torch.float64)
    prompts = LinearRegression(torch.tensor(LAMBDA)).sample(stream(1, "own"), (1, 3), 5)
    context = torch.cat([prompts.x, prompts.y[..., None]], -1)[0]
    query = torch.cat([prompts.x_query, torch.zeros(1, 3, 1)], -1)[0]
    scores = torch.einsum("bti,ij,bj->bt", context, W_KQ[0], query)
    y_hat = torch.einsum("bt,btj,j->b", scores, context, W_PV[0, -1]) / 5
    whole = LinearSelfAttention(W_PV, W_KQ)(prompts)[0]
    assert torch.allclose(whole - own_token(W_PV, W_KQ, prompts)[0], y_hat)


def test_cost_of_a_long_training_is_a_paired_difference():
    """The model of the long N against that of N = M, on one set of prompts."""
    tiny = replace(AVERAGED_ERROR.quick, d=(2,), kappa=(4.0,), N=(3, 6, 12), M=(6, 12), long_N=50, searched_N=20, prompts=300)
    dataset = tiny.run(0, "cpu")
    cost = dataset.error.sel(N=50) - xr.concat(
        [dataset.error.sel(N=M, M=M) for M in (6, 12)], "M", coords="minimal", compat="override"
    )
    assert np.allclose(dataset.cost_of_long_N, cost, rtol=1e-9)


def test_distances_along_a_flow_by_hand():
    """Lambda = I in two dimensions, N = 5: Gamma = 1.6 I; the naive limit has u_-1^2 = |Lambda^-1|_F."""
    Lambda, N = np.eye(2), 5
    limit = dynamics.limit(Lambda, N, 0.0)
    least = optimum.loss_minimum(Lambda, N)
    tiny = replace(flow.FLOW.quick, settings=((2, 5, 1.0),), starts=1, time=300.0, points=4)
    last = tiny.run(0, "cpu").isel(time=-1, setting=0, start=0)
    start = tiny.run(0, "cpu").isel(time=0, setting=0, start=0)
    assert float(last.distance_U_11) < 1e-6 and float(last.u_last) == pytest.approx(limit.u_last, rel=1e-6)
    naive = 2**-0.25 / (1.6**-0.5 * 2**-0.25) - 1  # U_11 = I/(1.6 u) against I/u', u' = 2^(1/4), u = u'/sqrt(1.6)
    assert float(last.distance_W_KQ_naive) == pytest.approx(abs(1 / (naive + 1) - 1), rel=1e-5)
    U, u = np.zeros((2, 2)), float(start.u_last)
    assert least == pytest.approx(0.5 * (2 - 2 / 1.6))  # (1/2)(tr Lambda - tr Lambda^2 Gamma^-1)
    found = flow._distances(dynamics.Weights(U, u), limit.U_11, np.eye(2), Lambda, N, least)
    assert found[3] == pytest.approx((1 - least) / least) and found[0] == pytest.approx(1)


def test_wrong_gammas_are_what_their_labels_say():
    """Gamma = (1 + 1/N) Lambda + tr(Lambda)/N I at N = 4, each with one number replaced."""
    expected = {
        "1 + 2/N in Γ": 1.5 * LAMBDA + 0.75 * np.eye(2),
        "1 for 1 + 1/N in Γ": LAMBDA + 0.75 * np.eye(2),
        "N + 1 for N in Γ": 1.2 * LAMBDA + 0.6 * np.eye(2),
        "d for tr Λ in Γ": 1.25 * LAMBDA + 0.5 * np.eye(2),
    }
    assert WRONG_GAMMAS.keys() == expected.keys()
    for label, wrong in WRONG_GAMMAS.items():
        assert np.allclose(wrong(LAMBDA, 4), expected[label]), label


def test_antithetic_pairs_have_the_smaller_standard_error():
    """What is odd in w is no noise for pairs: u_12 and u_21 have gradient 0 then, in every block and at every point."""
    dataset = replace(STATIONARITY.quick, d=2, N=5, blocks=4, pairs=20).run(0, "cpu")
    odd = [name for name in dataset.entry.values if name.startswith(("u_12", "u_21"))]
    assert abs(dataset.gradient.sel(entry=odd)).max() < 1e-12 < 1e-3 < dataset.gradient_unpaired_se.sel(entry=odd).max()


def test_scaled_and_long_prompts_by_hand():
    """Predicting 0 has the error c^2 at inputs c x; least squares is exact from M = d on; twice the inputs: c^2 (c^2 - 1)^2."""
    rows = Shifts(4, (1,), 1.0, ("2",), 2).known()
    assert rows["inputs × 2"].zero == rows["weights × 2"].zero == 4 and rows["orthants"].zero == 1
    assert rows["skewed covariance"].ols(4) == 0 and np.isnan(rows["skewed covariance"].ols(3))
    tiny = replace(COVARIATE_SHIFT.quick, d=(2,), trace=2.0, M=(4,), prompts=2, ols_prompts=2)
    dataset = tiny.expect(tiny.run(0, "cpu"), 0)
    assert dataset.scaling_limit.sel(d=2, c=[2.0, 3.0, 0.5]).values.tolist() == pytest.approx([36, 576, 0.140625])
    assert np.allclose(dataset.long_theory.isel(length=-1), dataset.scaling_limit, rtol=1e-4)


def test_a_factor_over_the_jump_by_hand():
    """2/4 = 1/2, and twice its standard error is 2 * (1/2) * 0.4/4."""
    found = over_jump(xr.Dataset({"jump": 4.0, "jump_se": 0.4}), 2.0)
    assert float(found.value) == 0.5 and float(found.two_se) == pytest.approx(0.1)


def test_zero_estimator_under_random_covariances():
    """E y^2 / d = c E lambda: 1 for exponential variances, the mean of the prompts' own y^2 for uniform ones."""
    tiny = replace(RANDOM_COVARIANCE.quick, d=(3,), N=4, M=(4,), c=(1.0, 9.0), prompts=4)
    dataset = tiny.expect(tiny.run(0, "cpu"), 0)
    assert np.allclose(dataset.zero.sel(law="exponential"), [1, 9])
    _, moments = random_covariance._laws(3, 0)["uniform"]
    assert np.allclose(dataset.zero.sel(law="uniform"), [moments.first.mean(), 9 * moments.first.mean()])


def test_growth_rate_across_is_read_where_both_parts_add():
    """The sum of u_12 and u_21 along the top eigenvector grows; their difference does not."""
    tiny = replace(TIME_COURSE.quick, d=(2,), N=(10,), kappa=(2.0,), speck=1e-6, times=5)
    Lambda = tiny._covariances(2, 4)[0]
    assert tiny._transverse_rate(Lambda, 10, 4) == pytest.approx(dynamics.transverse_growth_rate(Lambda), rel=0.02)


def test_least_loss_on_the_wall_is_found_on_the_wall(monkeypatch):
    """Every point that the descents meet has wall ratio 1."""
    met, loss = [], full_loss.full_loss

    def watched(Lambda, N, U):
        met.append(float(wall.wall_ratio(Lambda, N, U)))
        return loss(Lambda, N, U)

    monkeypatch.setattr(full_loss, "full_loss", watched)
    tiny = replace(LONG_PROMPTS.quick, drops=1)
    least = tiny._least_on_wall(LAMBDA, 10, 0)
    assert np.allclose(met, 1) and least >= optimum.loss_minimum(LAMBDA, 10) + wall.wall_height(LAMBDA, 10)


def test_starts_are_below_the_end_of_the_flow():
    """d = 3, N = 2, lambda = 1: g = 3, and u_-1 ends at (d/(sqrt(d) g))^1/2 = 3^(-1/4) = 0.76."""
    three = replace(TIME_COURSE.quick, d=(3,), N=(2,), lam=1.0, sigma=(0.75,))
    with pytest.raises(ValueError, match="below 0.76"):
        replace(three, sigma=(0.77,))


def test_descents_on_the_wall_follow_its_slope(monkeypatch):
    def checked(loss, start, jac, **_):
        found = [(loss(start + step) - loss(start - step)) / 2e-6 for step in 1e-6 * np.eye(len(start))]
        assert np.allclose(jac(start), found, rtol=1e-5, atol=1e-6)
        return SimpleNamespace(fun=loss(start))

    monkeypatch.setattr(long_prompts, "minimize", checked)
    replace(LONG_PROMPTS.quick, drops=1)._least_on_wall(LAMBDA, 10, 0)


def test_locked_is_beyond_the_wall_and_below_its_height():
    """The optimum, a far point at N = 100,000, and one from which the loss is high."""
    tiny = replace(LONG_PROMPTS.quick, settings=((3, 5.0),), N=(100_000,), dense_N=(100_000,))
    Lambda = tiny._dense(0)
    far = wall.far_point(Lambda, 100_000, 0)
    ends = np.stack([dynamics.live(dynamics.limit(Lambda, 100_000, 0.0)), far, 3 * far])[None]
    columns = {name: (["dense_N", "start", "row", "column"], ends) for name in ("ends", "ends_zero_blocks")}
    dataset = tiny.expect(xr.Dataset(columns, coords={"setting": ["d=3"]}), 0)
    assert dataset.locked.values.tolist() == [[False, True, False]]
    assert float(dataset.dense_loss[0, 0]) == pytest.approx(1)


def test_end_of_a_descent_is_read_in_units_of_the_curvature(monkeypatch):
    monkeypatch.setattr(long_prompts, "settle", lambda Lambda, N, U: U)
    U = wall.far_point(LAMBDA, 10, 0)
    loss, gradient, *_, side = LONG_PROMPTS.quick._end(LAMBDA, 10, long_prompts.PLACES["least"])
    greatest = np.linalg.eigvalsh(full_loss.full_hessian(LAMBDA, 10, U))[-1]
    assert loss == pytest.approx(wall.far_point_loss(LAMBDA, 10))
    assert gradient * greatest == pytest.approx(abs(full_loss.full_gradient(LAMBDA, 10, U)).max())
    assert side == pytest.approx(wall.wall_ratio(LAMBDA, 10, U)) and 2 < side < long_prompts.FAR
    assert list(np.linalg.eigvalsh(LAMBDA)[list(long_prompts.PLACES.values())]) == sorted(np.linalg.eigvalsh(LAMBDA))[::-1]
