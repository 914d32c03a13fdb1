"""What is drawn is what the data say, and what is declared otherwise than it can be used gets a sentence."""

from dataclasses import dataclass
from typing import Annotated, Literal

import matplotlib as mpl
import numpy as np
import pytest
import torch
import xarray as xr
from annotated_types import Ge, Le, MinLen
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from icl_lib.companion import (
    Cards,
    Checkpoint,
    Count,
    Declaration,
    Discrepancy,
    Experiment,
    Several,
    at,
    claims_of,
    everywhere,
    expectation,
    near_misses,
    put,
    replaced,
)
from icl_lib.companion.curves import band, bars, interval, line, points, said, sideways, strokes
from icl_lib.companion.declaration import admits, words
from icl_lib.companion.figure import NarrowFigure, style
from icl_lib.companion.fit import fit
from icl_lib.typed import Misdeclared

# --- what is drawn ------------------------------------------------------------------------------------------------


def test_numbers_of_which_some_are_left_out_keep_their_factor():
    with mpl.rc_context(style()):
        figure = Figure(figsize=(1.6, 2))
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        axes.set(xlim=(0, 4e7), xticks=np.arange(0, 4.1e7, 2.5e6))
        fit(figure)
    assert "" in [each.get_text() for each in axes.get_xticklabels()]
    assert axes.xaxis.get_major_formatter().get_offset() == "1e7"


@pytest.mark.parametrize("label", ["$1/{N+1}$", "{N,}", r"\sqrt[3]{N}", "{N/2}", "$x^{N}$"])
def test_braces_around_more_than_a_coordinate_stay(label):
    here = xr.Dataset(coords={"N": 10})
    assert said(label, here) == label
    assert said("{N}, {N:.1f}", here) == "10, 10.0"


@pytest.mark.parametrize("draw", [points, sideways, line, bars, lambda *given: strokes(*given, 1.0), band])
def test_a_variable_is_drawn_along_its_own_dimension_alone(draw):
    data = xr.Dataset(
        {
            "risk": (("N", "M"), [[1.0, 2.0], [3.0, 4.0]]),
            "loss": ("M", [1.0, 2.0]),
            **{f"{name}_se": (dims, np.ones((2,) * len(dims))) for name, dims in (("risk", ("N", "M")), ("loss", ("M",)))},
        },
        {"N": [1, 2], "M": [5, 6]},
    )
    for name, along in (("risk", "M"), ("loss", "N")):
        with pytest.raises(ValueError, match=rf"{name} has the dimensions .*, and {along} has .*: draw a part"):
            draw(Figure().subplots(), data, name, along)
    draw(Figure().subplots(), data, "loss", "M")


def test_the_interval_of_a_mean_in_which_a_seed_has_no_number_has_none():
    data = xr.Dataset({"risk": ("seed", [1.0, np.nan]), "risk_se": ("seed", [0.1, np.nan])})
    assert all(np.isnan(each) for each in interval(data, "risk"))
    with pytest.raises(ValueError, match="risk has seeds, and risk_se has none: give each seed its own error"):
        interval(data.assign(risk_se=0.1), "risk")


def test_what_rounding_leaves_of_an_interval_is_nothing_and_what_is_wrong_stays():
    data = xr.Dataset({"risk": ("N", [1.0, 1.0]), "risk_low": ("N", [1 + 2e-16, 0.5]), "risk_high": ("N", [np.nan, 0.75])})
    below, above = interval(data, "risk")[1]
    assert below.values.tolist() == [0.0, 0.5]
    assert np.isnan(above[0]) and above[1] == -0.25


def test_what_is_exact_has_no_area():
    with pytest.raises(ValueError, match="risk has no interval that an area could show: draw it by line"):
        band(Figure().subplots(), xr.Dataset({"risk": ("N", [1.0])}, {"N": [1]}), "risk", "N")


@pytest.mark.parametrize("shared", ["all", True, "row", "col", "none", False])
def test_panels_of_a_narrow_screen_share_what_they_share_on_a_wide_one(shared):
    for along in ("x", "y"):
        one, other = (
            kind(figsize=(8, 4)).subplots(2, 4, squeeze=False, **{f"share{along}": shared}) for kind in (Figure, NarrowFigure)
        )
        for grid in (one, other):
            grid[0, 0].set(xlim=(5, 7), ylim=(5, 7))
        limits = [[getattr(each, f"get_{along}lim")() == (5, 7) for each in grid.flat] for grid in (one, other)]
        assert limits[0] == limits[1]


# --- what is declared ---------------------------------------------------------------------------------------------


def judged_by(told: str = "", **named):
    """Make a claim with a body of a function that something else judges."""

    def C1(data):
        return Discrepancy(data.heads)

    C1.__doc__ = f"A coin is fair.\n\nMargin: one.{told}"
    return claims_of("toy-coin", section="1")("D", "formula", margin=0.1, **named)(C1)


def test_a_body_that_would_never_be_run_is_refused():
    with pytest.raises(Misdeclared, match="C1: of= or check= judges it, and its body would never be run"):
        judged_by(of="heads", near=("1/3 for 1/2",))
    with pytest.raises(Misdeclared, match="its body would never be run"):
        judged_by("\nControl: a die", check=lambda data: Discrepancy(data.heads), control=put(heads="sixes"))


def test_near_misses_lie_along_the_dimensions_that_are_named():
    turned = xr.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("M", "N"))
    near = near_misses("N M", {"turned": turned, "plain": [[1, 3], [2, 4]]})
    assert near.sel(mistake="turned").values.tolist() == near.sel(mistake="plain").values.tolist()
    for misses in ({}, {"one": [1, 2], "other": [1]}):
        with pytest.raises(ValueError, match="near misses have the shapes .*: give one or more, all along"):
            near_misses("N", misses)


def test_a_control_of_what_there_is_not_is_told():
    data = xr.Dataset({"x": ("k", [1.0, 2.0])}, {"k": ["ridge", "zero"]})
    for control, told in (
        (everywhere("x", k="zeros"), "unknown k 'zeros': did you mean zero"),
        (everywhere("y", k="zero"), "unknown variable 'y'"),
        (everywhere("x", row="zero"), "unknown dimension 'row'"),
        (replaced("row", "zero"), "unknown dimension 'row'"),
        (at(k=[5]), r"the places {'k': \[5\]} are not all in a dataset of sizes {'k': 2}"),
    ):
        with pytest.raises(ValueError, match=told):
            control(data)


def test_a_checkpoint_takes_texts_as_names_and_one_tensor_under_two(tmp_path):
    checkpoint, tensor = Checkpoint(tmp_path / "run.safetensors", every=1), torch.arange(3.0)
    with pytest.raises(TypeError, match="1 names a part of /state of a training run: take texts as names"):
        checkpoint.save({"state": {1: tensor, "1": tensor}})
    checkpoint.save({"one": tensor, "other": tensor, "view": tensor[:2]})
    assert [each.tolist() for each in checkpoint.load().values()] == [[0, 1, 2], [0, 1, 2], [0, 1]]


@dataclass(frozen=True)
class Toss(Declaration):
    tosses: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        return xr.Dataset({"heads": 0.5})

    @expectation
    def expect(self, dataset, seed):
        dataset["heads_theory"] = 0.5


def test_what_an_experiment_expects_is_a_dataset():
    with pytest.raises(ValueError, match="expect of Toss gives a NoneType: return an xarray.Dataset"):
        Experiment("toy-coin", "A coin", quick=Toss(1), full=Toss(2)).run("quick", 0)


def test_the_words_of_a_bound_are_those_by_which_it_is_tested():
    two = Annotated[Several[Count], MinLen(2)]
    assert not admits(two, (1,)) and words(two).endswith(", 2 or more of them")
    assert words(Annotated[str, MinLen(2)]) == "a text of 2 or more characters"
    assert words(Annotated[int, Le(1234567)]) == "a whole number of at most 1234567"


def declared(annotation, value):
    made = type("Made", (Declaration,), {"__annotations__": {"field": annotation}})
    return dataclass(frozen=True)(made)(value)


@pytest.mark.parametrize("annotation", [Annotated[int | None, Ge(1)], Annotated[tuple[int, ...], Ge(1)]])
def test_a_bound_that_its_values_have_no_order_for_is_told_at_once(annotation):
    with pytest.raises(TypeError, match="field is annotated with .*: take one of those that Declaration lists"):
        declared(annotation, None)


def test_a_number_beyond_all_floats_and_another_kind_of_one_are_refused():
    with pytest.raises(ValueError, match="take a finite number"):
        declared(float, 10**400)
    assert declared(float, 10**300).field == 10**300
    for value in (True, 1.0):
        with pytest.raises(ValueError, match="take one of 1, 2"):
            declared(Literal[1, 2], value)


def test_a_file_of_a_stranger_beside_a_script_says_nothing_of_its_claims(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/quick.json").write_text('{"toy-coin": 3}')
    monkeypatch.chdir(tmp_path)

    @claims_of("toy-coin", section="1")("D", "bound", margin=0.1, control=put(heads="sixes"))
    def C1(data):
        """A coin is fair.

        Margin: one.
        Control: sixes of a die
        """
        return Discrepancy(data.heads)

    data = xr.Dataset({"heads": 0.0, "sixes": 1.0}, attrs={"slug": "toy-coin", "profile": "quick", "seed": "0"})
    assert repr(Cards(C1.judge(data))).startswith("C1: holds")
