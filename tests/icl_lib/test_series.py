"""Series drawn by name: values, intervals, labels and places are those of the variable."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import over_seeds
from icl_lib.companion.curves import bars, each, interval, line, points, said, series, sideways

DATA = xr.Dataset(
    {
        "exact": ("N", [1.0, 2.0]),
        "risk": ("N", [3.0, 4.0]),
        "risk_se": ("N", [0.1, 0.2]),
        "trained": (("seed", "N"), [[1.0, 5.0], [3.0, 9.0]]),
        "pooled": (("seed", "N"), [[1.0, 5.0], [3.0, 9.0]]),
        "pooled_se": (("seed", "N"), [[3.0, 0.0], [4.0, 2.0]]),
        "ranged": ("N", [3.0, 4.0]),
        "ranged_low": ("N", [2.0, 4.0]),
        "ranged_high": ("N", [7.0, 5.0]),
    },
    coords={"N": [10, 20]},
)


def drawn(draw, *words, **changes):
    axes = Figure().subplots()
    draw(axes, DATA, *words, **changes)
    return axes


@pytest.mark.parametrize(
    ("name", "values", "below", "above"),
    [
        ("risk", [3, 4], [0.2, 0.4], [0.2, 0.4]),  # two standard errors
        ("pooled", [2, 7], [5, 2], [5, 2]),  # of the mean: twice the root of 9 + 16, over 2
        ("ranged", [3, 4], [1, 0], [4, 1]),
    ],
)
def test_an_interval_is_that_of_the_variable(name, values, below, above):
    found, reach = interval(DATA, name)
    low, high = reach if isinstance(reach, list) else (reach, reach)
    assert found.values.tolist() == values and np.allclose(low, below) and np.allclose(high, above)


def test_over_seeds_it_is_the_one_by_which_claims_are_judged_and_what_is_exact_has_none():
    found, reach = interval(DATA, "trained")
    judged = over_seeds(DATA.trained)
    assert found.values.tolist() == [2, 7] and np.array_equal(reach, judged.two_se)
    assert interval(DATA, "exact")[1] is None


def test_points_stand_at_their_places_with_their_intervals_and_sideways_they_lie_along_x():
    up, across = drawn(points, "risk", "N").containers[0], drawn(sideways, "risk", [0.0, 1.0]).containers[0]
    (stems,), (lying,) = up[2], across[2]
    assert np.allclose([each[:, 1] for each in stems.get_segments()], [[2.8, 3.2], [3.6, 4.4]])
    assert up[0].get_xdata().tolist() == [10, 20] and across[0].get_xdata().tolist() == [3, 4]
    assert np.allclose([each[:, 0] for each in lying.get_segments()], [[2.8, 3.2], [3.6, 4.4]])


def test_a_line_of_several_seeds_is_their_mean():
    assert drawn(line, "trained", "N").lines[0].get_ydata().tolist() == [2, 7]


def test_a_series_has_one_entry_for_each_value_with_its_coordinate_in_it():
    axes = Figure().subplots()
    data = DATA[["risk", "risk_se"]].expand_dims(kappa=[1.5, 3.0])
    series(axes, data, "risk", "N", "kappa", label=r"$\kappa={kappa:g}$")
    assert axes.get_legend_handles_labels()[1] == [r"$\kappa=1.5$", r"$\kappa=3$"]
    assert [part.kappa.item() for _, part in each(data, "kappa")] == [1.5, 3.0]
    with pytest.raises(ValueError, match="unknown dimension 'kapa': did you mean kappa"):
        [*each(data, "kapa")]


def test_only_coordinates_are_put_into_a_label():
    one = DATA.isel(N=0)
    assert said("$u_{-1}$ at {N}", one) == "$u_{-1}$ at 10" and said(None, one) is None
    assert said({10: "ten"}, one, "N") == "ten"
    with pytest.raises(ValueError, match="give one label here"):
        said({10: "ten"}, one)
    assert said(r"$\sqrt{N}$, $x^{N}$, $x_{N}$, $N={N}$", one) == r"$\sqrt{N}$, $x^{N}$, $x_{N}$, $N=10$"


def test_bars_of_several_seeds_are_as_high_as_their_mean():
    axes = Figure().subplots()
    bars(axes, xr.Dataset({"risk": (("N", "seed"), [[1.0, 3.0], [2.0, 2.5]])}, {"N": [1, 2]}), "risk", "N")
    assert [bar.get_height() for bar in axes.patches] == [2.0, 2.25]
