"""Near misses that several claims share: a formula with one small mistake, most often in Gamma."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy import ndarray

from papers.zhang.theory import error, optimum, shifts
from papers.zhang.theory.error import ErrorTerms, LabelLaw

WRONG_GAMMAS: Mapping[str, Callable[[Float[ndarray, "d d"], float], Float[ndarray, "d d"]]] = {
    "1 + 2/N in Γ": lambda Lambda, N: optimum.Gamma(Lambda, N) + Lambda / N,
    "1 for 1 + 1/N in Γ": lambda Lambda, N: optimum.Gamma(Lambda, N) - Lambda / N,
    "N + 1 for N in Γ": lambda Lambda, N: optimum.Gamma(Lambda, N + 1),
    "d for tr Λ in Γ": lambda Lambda, N: optimum.Gamma(Lambda, N) + (len(Lambda) - np.trace(Lambda)) / N * np.eye(len(Lambda)),
}


def of_gammas(formula: Callable[[Callable], object]) -> dict[str, ndarray]:
    """Return by mistake what a formula, a function of Gamma(Lambda, N), gives with each wrong one."""
    return {label: np.asarray(formula(wrong)) for label, wrong in WRONG_GAMMAS.items()}


def of_theorem(Lambda: Float[ndarray, "d d"], N: float, M: float, law: LabelLaw) -> dict[str, ErrorTerms]:
    """Return by mistake the three terms of Theorem 4.2."""
    right, trace = error.error_terms(Lambda, N, M, law), np.trace(Lambda)
    shrunk, square = np.linalg.solve(optimum.Gamma(Lambda, N), law.a) / N, Lambda @ Lambda
    mean = Lambda @ law.a

    def with_gamma(wrong) -> ErrorTerms:
        P = np.linalg.inv(wrong(Lambda, N))
        both, bias = (shifts.error_of_weights(P, K, Lambda, Lambda, law) for K in (M, np.inf))
        return ErrorTerms(law.best_linear_error, both - bias, bias - law.best_linear_error)

    return {label: with_gamma(wrong) for label, wrong in WRONG_GAMMAS.items()} | {
        "the bias without the 2 of its cross term": right._replace(bias=right.bias - trace * shrunk @ square @ shrunk),
        "the bias without its term in Λ³": right._replace(bias=right.bias - shrunk @ square @ Lambda @ shrunk),
        "E[y² x xᵀ] for Σ": error.error_terms(Lambda, N, M, law._replace(Sigma=law.Sigma + np.outer(mean, mean))),
        "M + 1 for M": right._replace(variance=right.variance * M / (M + 1)),
    }


def of_shift(
    Lambda: Float[ndarray, "d d"],
    N: float,
    M: float,
    Lambda_test: Float[ndarray, "d d"],
    Q: Float[ndarray, "d d"],
    w: Float[ndarray, "d"],
) -> dict[str, float]:
    """Return by mistake the error under a shift of query or covariates, with noiseless labels."""
    law, P = error.noiseless_labels(Lambda_test, w), np.linalg.inv(optimum.Gamma(Lambda, N))
    mean = Lambda_test @ w
    wrong = {label: np.linalg.inv(gamma(Lambda, N)) for label, gamma in WRONG_GAMMAS.items()}
    off = shifts.error_of_weights(P, np.inf, Q, Lambda_test, law)
    return {label: shifts.error_of_weights(each, M, Q, Lambda_test, law) for label, each in wrong.items()} | {
        "E[y² x xᵀ] for Σ": shifts.error_of_weights(P, M, Q, Lambda_test, law._replace(Sigma=law.Sigma + np.outer(mean, mean))),
        "M + 1 for M": off + (shifts.error_of_weights(P, M, Q, Lambda_test, law) - off) * M / (M + 1),
    }


def of_averages(covariances: list[Float[ndarray, "d d"]], N: tuple, M: tuple) -> dict[str, ndarray]:
    """Return by mistake e(N, M) by covariance, M and N: mistakes in the weights, or in E[Lambda_hat^2] of the test."""

    def table(gamma=optimum.Gamma, moment=optimum.second_moment) -> ndarray:
        def cell(Lambda: ndarray, n: float, m: float) -> float:
            return shifts.averaged_error_of_weights(np.linalg.inv(gamma(Lambda, n)), Lambda, Lambda, moment(Lambda, m))

        return np.array([[[cell(Lambda, n, m) for n in N] for m in M] for Lambda in covariances])

    return of_gammas(table) | {
        "1 + 2/M in E[Λ̂²]": table(moment=lambda L, m: optimum.second_moment(L, m) + L @ L / m),
        "M + 1 for M": table(moment=lambda L, m: optimum.second_moment(L, m + 1)),
    }


def gathered(cells: list, last: Callable = np.sum) -> dict[str, ndarray]:
    """Return by mistake a table of ``last`` of what each cell says, from a table of cells that say it by mistake."""
    table = np.asarray(cells)
    return {label: np.array([last(cell[label]) for cell in table.flat]).reshape(table.shape) for label in table.flat[0]}


def of_blocks(error: xr.DataArray, blocks: int) -> xr.DataArray:
    """Return a standard error that says of how many independent blocks it is."""
    return error.assign_attrs(blocks=blocks)
