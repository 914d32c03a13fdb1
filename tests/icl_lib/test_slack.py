"""Slack: the factor by which what a claim measures could be worse before the verdict turns."""

import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import Discrepancy, agreement
from icl_lib.companion.slack import MOST, in_words, slack

CLOSE = 0.015
"""The factor is found to 1%."""


def data(**variables) -> xr.Dataset:
    return xr.Dataset({name: ("l", np.atleast_1d(values)) for name, values in variables.items()}, coords={"l": [4, 20]})


def test_an_error_may_grow_to_its_margin():
    dataset = data(error=[0.01, 0.04])
    assert slack(lambda d: Discrepancy(d.error), dataset, 0.1) == pytest.approx(2.5, rel=CLOSE)


def test_a_factor_has_two_digits_and_three_near_one():
    assert [in_words(factor) for factor in (1.056, 1.096, 1.234, 2.13, MOST)] == [
        "1.06",
        "1.1",
        "1.2",
        "2.1",
        f"over {MOST:,.0f}",
    ]


def test_an_interval_grows_with_its_number():
    dataset = data(error=[0.02, 0.02])
    assert slack(lambda d: Discrepancy(d.error, d.error), dataset, 0.1) == pytest.approx(2.5, rel=CLOSE)


def test_what_is_measured_may_also_be_too_small():
    """A rank of at least 1.5, measured 6 and 3: half of 3 is the edge; and of two variables the nearer counts."""
    dataset = data(ranks=[6.0, 3.0], error=[0.01, 0.01])
    assert slack(lambda d: Discrepancy(1.5 - d.ranks), dataset, 0.0) == pytest.approx(2.0, rel=CLOSE)
    both = lambda d: Discrepancy(np.concatenate([1.5 - d.ranks, 150 * d.error - 1.8]))  # noqa: E731
    assert slack(both, dataset, 0.0) == pytest.approx(1.2, rel=CLOSE)
    assert slack(both, dataset, 0.0, measured="ranks") == pytest.approx(2.0, rel=CLOSE)


def test_rows_of_one_variable_that_are_compared_are_moved_one_by_one():
    dataset = data(error=[0.4, 0.1])
    ratio = lambda d: Discrepancy(d.error.isel(l=1) / d.error.isel(l=0))  # noqa: E731
    assert slack(ratio, dataset, 0.9) == pytest.approx(3.6, rel=CLOSE)


def test_one_row_may_turn_the_verdict_before_the_whole_variable_does():
    """Whole, the larger error may grow from 0.02 to 0.15; alone, the smaller one from half of it to 1.25 times of it."""
    dataset = data(error=[0.02, 0.01])
    check = lambda d: Discrepancy(np.maximum(d.error.max() / 0.12, d.error.isel(l=1) / d.error.isel(l=0)))  # noqa: E731
    assert slack(check, dataset, 1.25) == pytest.approx(2.5, rel=CLOSE)


@pytest.mark.parametrize("names, expected", [(["patched", "without"], 3.6), ([0, 1], MOST)])
def test_prompts_that_have_names_are_moved_one_by_one_and_others_are_alike(names, expected):
    dataset = xr.Dataset({"error": ("prompt", [0.4, 0.1])}, coords={"prompt": names})
    ratio = lambda d: Discrepancy(d.error.isel(prompt=1) / d.error.isel(prompt=0))  # noqa: E731
    assert slack(ratio, dataset, 0.9) == pytest.approx(expected, rel=CLOSE)


def test_the_rows_that_are_moved_reach_from_the_first_to_the_last():
    """Of 40 entries only the last is compared with the first: it may grow from 0.1 to 0.36."""
    dataset = xr.Dataset({"error": ("l", [0.4] + 38 * [0.2] + [0.1])})
    ratio = lambda d: Discrepancy(d.error.isel(l=-1) / d.error.isel(l=[0, 1, 2, 3, 4, 5, 6, 7]).max())  # noqa: E731
    assert slack(ratio, dataset, 0.9) == pytest.approx(3.6, rel=CLOSE)


def test_an_exponent_is_moved_by_a_power():
    """The slope 2 against 2 with room for 0.25: 2.25, or 1.75."""
    dataset = data(steps=[16.0, 400.0])
    slope = lambda d: Discrepancy(abs(np.log(d.steps[1] / d.steps[0]) / np.log(5) - 2))  # noqa: E731
    assert slack(slope, dataset, 0.25, "rate") == pytest.approx(1.125, rel=CLOSE)


def test_an_exponent_that_was_fitted_before_is_moved_by_a_factor():
    dataset = data(slope=[-1.0, -1.1])
    assert slack(lambda d: Discrepancy(abs(d.slope + 1)), dataset, 0.25, "rate") == pytest.approx(1.25 / 1.1, rel=CLOSE)


def test_of_what_fails_it_is_the_distance_to_another_verdict():
    assert slack(lambda d: Discrepancy(d.error), data(error=[0.5, 0.01]), 0.1) == pytest.approx(5.0, rel=CLOSE)


def test_theory_is_not_measured_and_no_number_turns_no_verdict():
    dataset = data(risk=[1.0, 1.0], risk_theory=[1.0, 1.0], cosine=[0.99, 0.99])
    assert slack(lambda d: Discrepancy(0.5 * d.risk + 9 * d.risk_theory), dataset, 10.0) == pytest.approx(2.0, rel=CLOSE)
    assert slack(lambda d: Discrepancy(np.arccos(d.cosine)), dataset, np.pi) == MOST
    assert slack(lambda d: Discrepancy(0 * d.risk), dataset, 0.1) == MOST


def test_a_verdict_that_turns_and_turns_back_is_found_where_nothing_turns_it_later():
    """The arc of a cosine of 0.697 is 0.8; above 1 there is none."""
    arc = lambda d: Discrepancy(0.8 - np.arccos(d.cosine))  # noqa: E731
    assert slack(arc, data(cosine=[0.5, 0.5]), 0.0) == pytest.approx(np.cos(0.8) / 0.5, rel=CLOSE)


def test_what_is_measured_is_in_the_data():
    with pytest.raises(ValueError, match="measured= names erorr, which the data have not: name their variables"):
        slack(lambda d: Discrepancy(d.error), data(error=[0.01, 0.04]), 0.1, measured="error erorr")


def test_a_count_stays_a_count():
    assert slack(lambda d: Discrepancy(abs(d.ranks - 1)), data(ranks=[1, 1]), 0.0) > 1.49


def test_what_has_a_resolution_has_no_slack(stored):
    from papers import registry

    z10, l7 = registry.CLAIMS["Z10"], registry.CLAIMS["L7"]
    judged = z10.judge(stored(z10.experiment))
    assert np.isnan(judged.slack) and np.isfinite(judged.resolution)
    assert l7.judge(stored(l7.experiment)).slack > 1 and np.isnan(l7.judge(stored(l7.experiment)).resolution)


def test_an_agreement_without_errors_has_one():
    dataset = data(risk=[1.0, 1.0], risk_theory=[1.0, 1.0])
    assert slack(lambda d: agreement(d, "risk"), dataset, 0.3) == pytest.approx(1.3, rel=CLOSE)


@pytest.mark.parametrize("margin, expected, most", [(0.07, 1.75, 35), (0.1, 2.5, 50)])
def test_few_judgings_find_it(margin, expected, most):
    """One search for all variables: those whose turn comes later are dropped on the way; beyond 2 each row is tried once."""
    judged = []
    dataset = data(error=[0.01, 0.04], other=[0.01, 0.03], third=[0.01, 0.02])
    check = lambda d: judged.append(0) or Discrepancy(np.maximum(np.maximum(d.error, d.other), d.third))  # noqa: E731
    assert slack(check, dataset, margin) == pytest.approx(expected, rel=CLOSE)
    assert len(judged) <= most
