"""Verdicts: the rule and its edges, and formulas judged at the resolution of their data."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Agreement,
    Discrepancy,
    agreement,
    all_known,
    distance_over_seeds,
    over,
    over_seeds,
    widened,
)
from icl_lib.companion.strip import placed


@pytest.mark.parametrize(
    ("x", "two_se", "verdict"),
    [
        (0.05, 0.0, HOLDS),
        (0.1, 0.0, HOLDS),
        (0.05, 0.06, UNDECIDED),
        (0.15, 0.06, UNDECIDED),
        (0.15, 0.04, FAILS),
        (0.2, 0.1, UNDECIDED),
        ([0.0, 0.2], 0.01, FAILS),
        ([0.0, 0.09], 0.02, UNDECIDED),
        (np.nan, 0.0, FAILS),
        (0.0, np.nan, FAILS),
        (np.inf, 0.0, FAILS),
        ([], 0.0, FAILS),
    ],
)
def test_the_verdict_rule(x, two_se, verdict):
    assert Discrepancy(np.array(x), np.array(two_se)).verdict(0.1) == verdict


@pytest.mark.parametrize(
    ("x", "two_se", "near"),
    [
        (0.05, 0.0, False),  # 1% of the margin 0.1 is 0.001
        (0.0995, 0.0, True),
        (0.1005, 0.0, True),
        (-3.0, 0.0, False),
        (0.04, 0.01, False),  # 5 sqrt(2) 0.005 is 0.035, and 0.01 may be 0.02: the interval ends at 0.095
        (0.05, 0.01, True),
        (0.15, 0.01, True),
        (0.16, 0.01, False),
        ([0.05, 0.0995], 0.0, True),
        (3e-15, 0.0, False),
        (np.nan, 0.0, False),
        (np.inf, 0.0, False),
    ],
)
def test_a_verdict_is_near_where_five_standard_errors_would_change_it(x, two_se, near):
    assert Discrepancy(np.array(x), np.array(two_se)).near(0.1, trained=True) is near


def test_what_is_not_trained_moves_by_rounding_alone():
    close, touching = (Discrepancy(np.array(x), np.array(0.01)) for x in (0.06, 0.0899999))
    assert close.near(0.1, trained=True) and not close.near(0.1, trained=False)
    assert touching.near(0.1, trained=False)


def test_seeds_are_averaged_with_their_spread():
    """Values 1, 2, 3, 6 of four models: mean 3, standard error sqrt(14/12), Student's 3.307 in the place of 2."""
    found = over_seeds(xr.DataArray([[1.0, 0], [2, 0], [3, 0], [6, 0]], dims=("seed", "l")))
    assert found.value.values.tolist() == [3, 0]
    assert found.two_se.values == pytest.approx([3.307 * (14 / 12) ** 0.5, 0], rel=1e-3)


def test_the_distance_is_that_of_the_mean_not_the_mean_of_distances():
    """Values -1 and 3: their mean 1 is 1 from 0 and 0 from 1, with standard error 2; Student's t is Cauchy's."""
    values = xr.DataArray([-1.0, 3.0], dims="seed")
    assert distance_over_seeds(values).value == 1 and distance_over_seeds(values, 1.0).value == 0
    assert float(distance_over_seeds(values, 1.0).two_se) == pytest.approx(2 * math.tan(math.pi * (0.97724987 - 0.5)))


def test_intervals_of_few_cover_as_much_as_of_many():
    """95.4% of intervals cover the mean, from 3 as from 40 normal entries; two plain standard errors of 3 cover 82%."""
    draws = xr.DataArray(np.random.default_rng(0).standard_normal((20_000, 40)), dims=("trial", "seed"))
    for count in (3, 40):
        found = over_seeds(draws.isel(seed=slice(count)))
        covered = [float((abs(found.value) <= found.two_se / share).mean()) for share in (1, widened(count))]
        assert covered == pytest.approx([0.9545, {3: 0.816, 40: 0.948}[count]], abs=0.006)


@pytest.mark.parametrize(
    ("risk", "error", "margin", "verdict"),
    [
        (1.04, 0.01, 0.05, HOLDS),
        (1.05, 0.01, 0.05, FAILS),  # beyond 4.5 standard errors, although within a margin of 5%
        (1.05, 0.01, 0.5, FAILS),
        (1.04, 0.01, 0.04, UNDECIDED),  # the data do not resolve the margin
        (1.0, 0.02, 0.05, UNDECIDED),
        (1.0, np.nan, 0.05, FAILS),
        (np.inf, 0.01, 0.05, FAILS),
    ],
)
def test_a_formula_is_judged_at_the_resolution_of_its_data(risk, error, margin, verdict):
    dataset = xr.Dataset({"risk": risk, "risk_theory": 1.0, "risk_se": error})
    assert agreement(dataset, "risk").verdict(margin) == verdict


def test_a_formula_without_sampling_error_is_held_to_its_numerical_one():
    exact = agreement(xr.Dataset({"risk": 1 + 2e-9, "risk_theory": 1.0}), "risk")
    assert (exact.verdict(1e-8), exact.verdict(1e-9)) == (HOLDS, FAILS)
    assert np.isnan(exact.resolution) and exact.worst()[0] == pytest.approx(2e-9)


def test_more_cells_and_fewer_blocks_ask_for_more_standard_errors():
    """Two-sided 1e-4 over the cells: for one cell 3.89 of a normal distribution."""
    one, many = (xr.Dataset({"x": ("k", np.ones(n)), "x_theory": 1.0, "x_se": 0.1}) for n in (1, 100))
    wide = one.assign(x_se=one.x_se.assign_attrs(blocks=10**6))
    assert agreement(wide, "x").quantile == pytest.approx(3.8906, abs=1e-3)
    assert agreement(wide, "x").quantile < agreement(one, "x").quantile < agreement(many, "x").quantile


def test_seeds_are_the_blocks_where_no_standard_error_is_stored():
    x = xr.DataArray([[1.0, 2.0], [3.0, 2.2], [2.0, 2.4]], dims=("seed", "k"))
    found = agreement(xr.Dataset({"x": x, "x_theory": 2.0}), "x")
    assert found.blocks == 3 and found.error.values == pytest.approx([1 / 3**0.5, 0.2 / 3**0.5])
    paired = agreement(xr.Dataset({"x": x, "x_theory": x - 0.5}), "x")
    assert paired.error.values == pytest.approx([0, 0], abs=1e-12)
    lost = agreement(xr.Dataset({"x": x, "x_theory": x.where(x != 2.4)}), "x")
    assert np.isnan(lost.expected.values).tolist() == [False, True] and lost.verdict(9.0) == FAILS
    assert agreement(xr.Dataset({"x": 0.1, "x_theory": 0.0, "x_scale": 2.0}), "x").worst()[0] == pytest.approx(0.05)


def test_what_is_measured_along_another_dimension_than_the_theory_is_refused():
    with pytest.raises(ValueError, match="x_theory has N, which x has not: give both the same"):
        agreement(xr.Dataset({"x": ("M", [1.0]), "x_theory": ("N", [1.0, 2.0])}), "x")
    assert agreement(xr.Dataset({"x": ("M", [1.0]), "x_theory": 1.0}), "x").worst()[0] == 0


def test_a_true_formula_hardly_ever_fails_and_a_mistake_of_its_resolution_does():
    """1000 data sets of 20 cells: at 1e-4 more than 2 false alarms have a chance of 1e-4."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((1000, 20, 30))
    error = noise.std(-1, ddof=1) / 30**0.5
    draws = zip(noise.mean(-1), error, strict=True)
    sets = [Agreement(xr.DataArray(1 + x), xr.DataArray(np.ones(20)), 1.0, xr.DataArray(e)) for x, e in draws]
    assert sum(one.verdict(9.0) == FAILS for one in sets) <= 2
    wrong = [Agreement(one.measured, one.expected * (1 + 2 * one.resolution), 1.0, one.error) for one in sets[:100]]
    assert sum(one.verdict(9.0) == FAILS for one in wrong) > 90


@pytest.mark.parametrize(
    ("risk", "error", "trained", "near"),
    [
        (1.0, 0.01, True, False),
        (1.04, 0.01, True, False),  # true formulas hold on another sample
        (1.05, 0.01, True, True),  # fails by half a standard error
        (1.11, 0.01, True, True),  # by 6.5; two samples differ by five times the root of 2
        (1.12, 0.01, True, False),
        (1.0451, 0.01, False, True),
        (1.04, 0.01, False, False),
        (1.0, 0.0112, True, True),  # q standard errors are near the margin
    ],
)
def test_a_formula_is_near_where_another_machine_may_decide_otherwise(risk, error, trained, near):
    dataset = xr.Dataset({"risk": risk, "risk_theory": 1.0, "risk_se": error})
    assert agreement(dataset, "risk").near(0.06, trained) is near


def test_a_run_without_a_number_is_not_left_out():
    seeds = xr.DataArray([1.0, 1.1, np.nan], dims="seed")
    assert over_seeds(seeds).verdict(1.5) == distance_over_seeds(seeds, 1.0).verdict(1.5) == FAILS
    assert agreement(xr.Dataset({"risk": seeds, "risk_theory": 1.0}), "risk").verdict(1.0) == FAILS
    assert over_seeds(seeds[:2]).verdict(5.0) == HOLDS


def test_a_choice_rests_on_numbers():
    whole, missing = xr.DataArray([1.0, 2.0]), xr.DataArray([1.0, np.nan])
    assert all_known(whole) == all_known() == 0.0 and np.isnan(all_known(whole, missing))


def test_a_formula_without_its_theory_is_told():
    with pytest.raises(ValueError, match="there is no risk_theory: `expect` puts it there"):
        agreement(xr.Dataset({"risk": 1.0}), "risk")


def test_a_single_run_decides_nothing():
    """Not even where it is what the formula says, or far from it."""
    one = xr.DataArray([1.0], dims="seed")
    for expected in (1.0, 9.0):
        assert over_seeds(one - expected).verdict(5.0) == UNDECIDED
        found = agreement(xr.Dataset({"risk": one, "risk_theory": expected}), "risk")
        assert found.verdict(1.0) == UNDECIDED and found.allowed(1.0) == np.inf and not found.near(1.0, trained=True)
    assert over_seeds(one * np.nan).verdict(5.0) == FAILS


def test_what_is_no_standard_error_or_of_other_cells_is_refused():
    one, other = (xr.DataArray([1.0, 2.0], {"N": N}) for N in ([8, 16], [8, 32]))
    for value, two_se in (("0.5", 0.0), (None, 0.0), (1j, 0.0), (0.5, None)):
        with pytest.raises(ValueError, match="value and two_se are .*: give numbers"):
            Discrepancy.__post_init__(SimpleNamespace(value=value, two_se=two_se))
    with pytest.raises(ValueError, match="two standard errors are below 0"):
        Discrepancy(1.0, -2.0)
    square = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("N", "M"))
    with pytest.raises(ValueError, match="would be paired by place"):
        Discrepancy(square, square.T)
    with pytest.raises(ValueError, match="have different labels, or the same in another order: give both alike"):
        Discrepancy(one, one.isel(N=[1, 0]).assign_coords(N=[16, 8]))
    assert Discrepancy(one, one.drop_vars("N")).verdict(4.0) == HOLDS
    with pytest.raises(ValueError, match="of 1 block: it takes two or more"):
        Agreement(one, one, 1.0, 0.1, blocks=1)
    assert Agreement(one, one, 1.0, 0.1, blocks=2).blocks == 2
    for numbers in ((one, other, 1.0), (one, one, other), (one, one, 1.0, other)):
        with pytest.raises(ValueError, match="join='exact'"):
            Agreement(*numbers)
    with pytest.raises(ValueError, match="give both as xarray.DataArray"):
        Agreement.__post_init__(SimpleNamespace(measured=one, expected=1.5, scale=1.0, error=0.0, blocks=30))
    for nothing in (one.isel(N=[]), one.rename(N="M")):
        with pytest.raises(ValueError, match="nothing to average over N: give an xarray.DataArray"):
            over(nothing, "N")
    with pytest.raises(ValueError, match="a standard error is below 0"):
        Agreement(one, one, 1.0, -0.1)


def test_no_entry_fails_and_no_margin_never_holds():
    nothing, one = (xr.DataArray(values, dims="N") for values in (np.zeros(0), np.ones(1)))
    empty = Agreement(nothing, nothing, 1.0)
    assert empty.verdict(1.0) == FAILS and np.isnan(empty.worst()).all() and empty.allowed(1.0) == 1.0
    assert Agreement(one, one, 1.0).verdict(np.nan) == FAILS and Agreement(one, one, 1.0, 0.1).verdict(np.nan) == UNDECIDED


@pytest.mark.parametrize("zero", ["x_theory", "x_scale"])
def test_a_deviation_is_no_share_of_nothing(zero):
    """At 0 it is a tenth of a standard error."""
    dataset = xr.Dataset({"x": ("k", [0.001, 1.0]), "x_theory": ("k", [0.0, 1.0]), "x_se": ("k", [0.01, 0.001])})
    dataset = dataset if zero == "x_theory" else dataset.assign(x_scale=dataset.x_theory)
    with pytest.raises(ValueError, match=f"shares of {zero}, which is 0 somewhere, or without end: give x_scale above 0"):
        agreement(dataset, "x")
    with pytest.raises(ValueError, match="shares of x_scale, which is 0 somewhere, or without end"):
        agreement(dataset.assign(x_scale=np.inf), "x")
    assert agreement(dataset.assign(x_scale=1.0), "x").verdict(0.1) == HOLDS


def test_counts_without_a_sign_do_not_wrap_round():
    three, five = (xr.DataArray(np.array([count] * 2, "uint8"), dims="seed") for count in (3, 5))
    found = Agreement(three, five, 1.0, xr.DataArray([0.5, 0.5], dims="seed"))
    assert found.worst()[0] == 2 and found.deviations.tolist() == [-4, -4]
    by_seed = agreement(xr.Dataset({"x": three + np.arange(2, dtype="uint8"), "x_theory": five}), "x")
    assert float(by_seed.error) == pytest.approx(0.5)


def test_a_number_without_an_error_is_not_near():
    assert not Discrepancy(0.1, np.inf).near(1.0, trained=True)
    assert Discrepancy(np.array([0.1, 0.95]), np.array([np.inf, 0.02])).near(1.0, trained=True) is False
    assert Discrepancy(np.array([0.1, 1.02]), np.array([np.inf, 0.01])).near(1.0, trained=True) is True


def test_a_cell_without_an_error_resolves_what_is_more_than_rounding():
    one, error = xr.DataArray(np.ones(2), dims="k"), xr.DataArray([0.0, 0.1], dims="k")
    share = Agreement(one, one, 1.0, error).resolution
    verdicts = [Agreement(one, one * (1 + factor * share), 1.0, error).verdict(9.0) for factor in (0.9, 1.1)]
    assert verdicts == [HOLDS, FAILS] and 0 < share < 1e-8


def test_what_a_single_model_gives_is_drawn_as_undecided():
    """Not at the far right, as what fails; its interval reaches from end to end."""
    one = agreement(xr.Dataset({"x": xr.DataArray([1.0], dims="seed"), "x_theory": 1.0}), "x")
    strip = placed(one, [one], 0.1)
    assert (strip.place, strip.spread) == (-1, np.inf) and 'd="M8.0 13.0H232.0"' in strip.svg(UNDECIDED, "")
    assert np.isnan(placed(Agreement(one.measured * np.nan, one.expected, 1.0, one.error, 1), [], 0.1).place)
