"""What the formulas of these pages can see of a wrong Γ, and Γ by another route."""

from dataclasses import replace

import numpy as np
import pytest

from icl_lib.companion import FAILS
from papers import registry
from papers.zhang.exact_prompts import hermite
from papers.zhang.s3_preliminaries.population_loss import POPULATION_LOSS
from papers.zhang.s4_1_convergence.averaged_error import AVERAGED_ERROR
from papers.zhang.s4_1_convergence.isotropic import ISOTROPIC
from papers.zhang.s4_1_convergence.risk import RISK
from papers.zhang.s4_1_convergence.stationarity import STATIONARITY
from papers.zhang.s4_2_shifts.covariate_shift import COVARIATE_SHIFT
from papers.zhang.s4_2_shifts.query_shift import QUERY_SHIFT
from papers.zhang.s4_2_shifts.task_shift import TASK_SHIFT
from papers.zhang.theory import error, full_loss, optimum, shifts


def exact_second_moment(Lambda: np.ndarray, N: int) -> np.ndarray:
    """E[Λ̂²] = (1/N) E[x xᵀ x xᵀ] + (1 − 1/N) Λ², the fourth moment of two coordinates by quadrature."""
    points, weights = hermite(5)
    z = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1).reshape(-1, 2)
    x = z @ np.linalg.cholesky(Lambda).T
    fourth = np.einsum("b,bi,bj,bk,bk->ij", np.outer(weights, weights).ravel(), x, x, x, x)
    return fourth / N + (1 - 1 / N) * Lambda @ Lambda


@pytest.mark.parametrize("N", [1, 2, 7])
def test_gamma_inverts_the_second_moment_of_a_context(N):
    """Averaged without Γ, and without a formula for Gaussian moments."""
    Lambda = np.array([[2.0, 0.6], [0.6, 0.5]])
    assert np.allclose(optimum.Gamma(Lambda, N), exact_second_moment(Lambda, N) @ np.linalg.inv(Lambda), rtol=1e-12)


def three_traces(Lambda: np.ndarray, N: float) -> np.ndarray:
    return Lambda + 3 * np.trace(Lambda) / N * np.eye(len(Lambda))


SMALL = {
    "Z7a": replace(STATIONARITY.quick, d=2, N=5, blocks=60, pairs=600),
    "Z10": replace(RISK.quick, d=(3, 2), M=(8, 30), prompts=30_000),
    "Z11b": replace(AVERAGED_ERROR.quick, d=(4, 2), N=(3, 6, 12), M=(6, 12), searched_N=60, prompts=30_000),
    "Z14b": replace(ISOTROPIC.quick, N=(10, 40)),
    "Z15a": replace(TASK_SHIFT.quick, prompts=6_000, M=(10, 40), scaled_prompts=100),
    "Z16a": replace(QUERY_SHIFT.quick, prompts=6_000, M=(5, 40)),
    "Z17a": replace(COVARIATE_SHIFT.quick, prompts=3_000, ols_prompts=50, M=(10, 40)),
    "Z5": replace(POPULATION_LOSS.quick, examples=200_000, prompts=1_000),
}


@pytest.mark.long
@pytest.mark.parametrize(("name", "sees"), [(name, name not in ("Z16a", "Z17a")) for name in SMALL])
def test_which_claims_see_a_wrong_gamma_in_model_and_formula_alike(name, sees, monkeypatch):
    """The errors under shifts are exact for any weights, so that they say nothing about Γ."""
    for module in (optimum, error, shifts, full_loss):
        monkeypatch.setattr(module, "Gamma", three_traces)
    monkeypatch.setattr(optimum, "second_moment", lambda Lambda, N: three_traces(Lambda, N) @ Lambda)
    monkeypatch.setattr(shifts, "second_moment", lambda Lambda, N: three_traces(Lambda, N) @ Lambda)
    dataset = SMALL[name].expect(SMALL[name].run(5, "cpu"), 5)
    assert (registry.CLAIMS[name].check(dataset).verdict(np.inf) == FAILS) == sees
