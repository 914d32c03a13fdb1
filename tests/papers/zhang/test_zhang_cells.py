"""Cells are independent, every measured formula is judged by a claim, and what one small rule decides."""

import inspect
import re
import sys
from collections import Counter

import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import FAILS, HOLDS, UNDECIDED
from icl_lib.measure import risk as measured
from papers import registry
from papers.zhang import wishart
from papers.zhang.s4_1_convergence import claims
from papers.zhang.theory import random_covariance as theory
from tests.papers.test_streams import opener, small

PAIRED = re.compile(r"Paired stream: ([^:]+): \S")
"""The line by which an experiment declares a stream that one line opens more than once."""
FORMULAS = sorted(
    {claim.experiment for claim in registry.CLAIMS.values() if claim.paper == "zhang" and claim.kind == "formula"}
)


@pytest.mark.long
@pytest.mark.parametrize("slug", FORMULAS)
def test_no_two_cells_share_a_stream(slug, monkeypatch):
    """Where one line draws the same prompts or contexts twice, the experiment says why."""
    opened, experiment = Counter(), registry.experiment(slug)
    for module in (measured, wishart):

        def stream(seed: int, role: str, real=module.stream):
            opened[opener(sys._getframe(1), role), role] += 1
            return real(seed, role)

        monkeypatch.setattr(module, "stream", stream)
    small(experiment.quick).run(3, "cpu")
    twice = {re.sub(r"\d+(\.\d+)?", "#", role) for (_, role), times in opened.items() if times > 1}
    assert twice == set(PAIRED.findall(inspect.getdoc(type(experiment.quick))))


@pytest.mark.parametrize("slug", FORMULAS)
def test_every_measured_formula_is_judged(slug, stored):
    """Twice the measurement fails a claim, so that none names another quantity in its place."""
    dataset = stored(slug)
    formulas = [claim for claim in registry.claims_of(slug) if claim.kind == "formula"]
    names = [str(name).removesuffix("_near") for name in dataset if str(name).endswith("_near") and str(name)[:-5] in dataset]
    names = [name for name in names if f"{name}_theory" in dataset and "mistake" in dataset[f"{name}_near"].dims]
    for name in names:
        doubled = dataset.assign({name: 2 * dataset[name]})
        assert any(claim.judge(doubled).verdict == FAILS for claim in formulas), name


@pytest.mark.parametrize(("d", "N", "a"), [(3, 8, 1 / 4), (6, 11, 1 / 4), (2, 7, 1 / 4), (20, 5, 1 / 8), (1, 2, 1 / 6)])
def test_exponential_weights_by_hand(d, N, a):
    """1 / (3 + (d + 5)/N), and xi/gamma of Theorem 4.5, at five dimensions."""
    assert theory.exponential_A(d, N) == pytest.approx(a, rel=1e-14)
    moments = theory.exponential_moments(np.ones(d))
    assert theory.A_limit(moments, N) == pytest.approx(a * np.eye(d), rel=1e-12)
    error = theory.error(a * np.eye(d), theory.scaled_moments(moments, 4.0), 7) / d
    assert error == pytest.approx(theory.exponential_error(d, a, 4.0, 7), rel=1e-12)


def test_what_a_long_length_costs_is_taken_with_two_standard_errors():
    """An increase of 0.13 ± 0.02: one standard error would hold, two leave it open; 0.15 holds."""
    where = {"d": [20], "kappa": [1.0], "M": [10]}
    data = xr.Dataset(
        {
            "cost_of_long_N": (list(where), [[[0.13]]]),
            "cost_of_long_N_se": (list(where), [[[0.02]]]),
            "error": ([*where, "N"], [[[[1.0, 2.0]]]]),
        },
        coords={**where, "N": [10, 2000]},
    )
    assert claims.Z13b.check(data).verdict(-0.1) == UNDECIDED
    assert claims.Z13b.check(data.assign(cost_of_long_N=data.cost_of_long_N + 0.02)).verdict(-0.1) == HOLDS


@pytest.mark.parametrize(("model", "expected"), [("OLS", ["Z17e", "Z17f", "Z17g", "Z17i"]), ("LSA", ["Z17d"])])
def test_what_has_to_be_exact_is_not_judged_by_the_margin_of_the_rest(stored, model, expected):
    """Least squares with a small error, and a small prediction for the orthogonal query, fail their claims."""
    data = stored("zhang-garg-prompts")
    small = (data.risk.model == model) & ((data.risk.prompt == "orthogonal query") | (model == "OLS"))
    off = data.assign(risk=data.risk + 1e-6 * small * data.zero)
    failing = [claim.id for claim in registry.claims_of("zhang-garg-prompts") if claim.judge(off).verdict == FAILS]
    assert failing == expected
