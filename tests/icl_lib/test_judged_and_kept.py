"""What is judged, told and kept comes back as it was given, or is refused in one sentence."""

import linecache
import shutil
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest
import torch
import xarray as xr

from icl_lib.companion import (
    Book,
    Count,
    Declaration,
    Experiment,
    Table,
    across,
    at_least,
    at_most,
    identity,
    laid_open,
    results,
    rounded,
    weights,
)
from icl_lib.companion.minute import Box, minute_of
from icl_lib.companion.modules import module_file, read
from icl_lib.companion.paper import seen_in
from icl_lib.companion.quick import stored_quick

RISK = xr.DataArray([0.5, -0.001], {"N": [8, 16]})


# --- tables -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        (".2f", ("0.50", "0.00")),
        (">8.2f", ("    0.50", "    0.00")),
        ("+.2f", ("+0.50", "+0.00")),
        (".1e", ("5.0e-01", "-1.0e-03")),
        (".0%", ("50%", "0%")),
    ],
)
def test_a_number_is_written_as_its_format_says_and_zero_has_no_minus(form, cells):
    assert Table.by({"N": "N"}, {"risk": RISK}, form).rows == (("8", cells[0]), ("16", cells[1]))


@pytest.mark.parametrize(
    ("rows", "columns", "form", "told"),
    [
        (
            {"N": "N"},
            {"risk": RISK},
            "d",
            "the format 'd' does not fit a number with a point, as all are: take one such as .2f",
        ),
        ({"M": "N"}, {"risk": RISK}, ".2f", "unknown row 'M': take one of N"),
        ({"N": "N", "kapa": "κ"}, {"risk": RISK.expand_dims(kappa=2)}, ".2f", "unknown row 'kapa': did you mean kappa"),
        ({"N": "N"}, {}, ".2f", "a table has no columns"),
        ({"N": "N"}, {"risk": RISK, "list": [1, 2]}, ".2f", "a column is an xarray.DataArray .*: list is none"),
        ({"N": "N"}, {"risk": RISK, "root": RISK}, {"risk": ".2f"}, "form= has no format for root: give every column one"),
    ],
)
def test_a_table_that_cannot_be_made_says_why(rows, columns, form, told):
    with pytest.raises(ValueError, match=told):
        Table.by(rows, columns, form)


def test_columns_of_one_title_are_refused():
    noises = xr.DataArray([1.0, 2.0], {"noise": [0.11, 0.12]})
    with pytest.raises(ValueError, match="two columns along noise have one title, .*: give title= more digits or words"):
        across(noises, "noise", "{:.1f}")
    assert [*across(noises, "noise", "{:.2f}")] == ["0.11", "0.12"]


def test_below_a_million_once_rounded_there_is_no_exponent():
    assert [rounded(value) for value in (994_999, 999_999, 0.0001)] == ["990000", "1e+06", "0.0001"]


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dataset", "told"),
    [
        (xr.Dataset({"x": ("variable", [1.0])}), "rename the dimension variable"),
        (xr.Dataset({"x": (("value", "k"), [[1.0]])}), "rename the dimension value"),
        (xr.Dataset(), "the dataset has no variables: there is nothing to write"),
    ],
)
def test_what_is_no_long_table_is_refused(dataset, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        results.save_csv(dataset, tmp_path / "a.csv")


@pytest.mark.parametrize("write", [results.save_csv.__wrapped__, lambda array, path: results.encoded.__wrapped__(array)])
def test_what_is_no_dataset_is_not_written(write, tmp_path):
    with pytest.raises(ValueError, match="xarray.Dataset, not a DataArray: put it into one under a name"):
        write(RISK, tmp_path / "a")
    assert not [*tmp_path.iterdir()]


def test_a_coordinate_called_value_is_no_second_column(tmp_path):
    results.save_csv(xr.Dataset({"x": ("k", [1.0])}, {"value": ("k", [7.0])}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == ["variable,k,value", "x,0,1.0"]


@pytest.mark.parametrize(
    ("dataset", "told"),
    [
        (xr.Dataset({"x": 1j}), "complex numbers are not stored: give real and imaginary part of x apart"),
        (xr.Dataset({"x": (("a", "b"), [[1.0]])}).stack(both=["a", "b"]), "several levels is not stored: give both, "),
    ],
)
def test_what_no_file_holds_is_refused_by_name(dataset, told):
    with pytest.raises(ValueError, match=told):
        results.encoded(dataset)


def test_tied_weights_are_kept_and_bfloat16_is_refused(tmp_path):
    embedding = torch.ones(2, 3)
    weights.save_weights({"in": embedding, "out": embedding}, {}, tmp_path / "tied.safetensors")
    kept, _ = weights.read(tmp_path / "tied.safetensors")
    assert torch.equal(kept["in"], embedding) and torch.equal(kept["out"], embedding)
    with pytest.raises(ValueError, match=r"bfloat16 is not written: give tensor.float\(\) of in"):
        weights.write({"in": embedding.bfloat16()}, {}, tmp_path / "half.safetensors")


@pytest.mark.parametrize(
    "text", ["null", "3", '{"coin": {}}', '{"coin": {"claims": {}}}', '{"coin": {"declaration": "", "claims": {"C1": {}}}}']
)
def test_a_file_of_verdicts_that_holds_something_else_is_told(text, tmp_path):
    (tmp_path / "quick.json").write_text(text)
    with pytest.raises(ValueError, match=r"quick.json cannot be read: restore it from git"):
        stored_quick(tmp_path / "quick.json")


# --- code ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def toys(tmp_path, monkeypatch) -> Book:
    """A book of the package ``kept_toys`` below ``src``."""
    package, folder = ModuleType("kept_toys"), tmp_path / "src" / "kept_toys"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    package.__file__, package.__path__ = str(folder / "__init__.py"), [str(folder)]
    package.BOOK = Book(tmp_path, "kept_toys", store=tmp_path, build=tmp_path)
    monkeypatch.setitem(sys.modules, "kept_toys", package)
    return package.BOOK


@pytest.mark.skipif(shutil.which("git") is None, reason="a change is one of a commit")
def test_code_below_another_folder_is_looked_at_for_changes(toys):
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=toys.root, check=True, capture_output=True
        )

    git("init")
    git("add", ".")
    git("commit", "-m", "toys")
    (toys.root / "notes.txt").write_text("no code")
    assert not results.commit(toys).endswith("+")
    (toys.root / "src" / "kept_toys" / "__init__.py").write_text("TOSSES = 10")
    assert results.commit(toys).endswith("+")


def test_of_a_package_and_a_module_of_one_name_the_package_is_read(toys):
    folder = toys.root / "src" / "kept_toys"
    (folder / "coins").mkdir()
    for file in (folder / "coins.py", folder / "coins" / "__init__.py"):
        file.write_text("")
    assert module_file("kept_toys.coins") == folder / "coins" / "__init__.py"


def test_a_file_that_begins_with_a_byte_order_mark_is_read(toys):
    (toys.root / "src" / "kept_toys" / "marked.py").write_text("TOSSES = 10", encoding="utf-8-sig")
    assert [*read("kept_toys.marked").bindings] == ["TOSSES"]


def test_the_modules_of_a_room_are_imported_and_its_command_is_not_run(tmp_path, monkeypatch):
    (tmp_path / "kept_room").mkdir()
    for name, text in (("__init__", ""), ("claims", ""), ("__main__", "raise SystemExit")):
        (tmp_path / "kept_room" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert [each.__name__ for each in seen_in("kept_room")] == ["kept_room.claims"]


# --- what is declared ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coin(Declaration):
    sides: Count = 2

    def __repr__(self) -> str:
        return f"<coin of {self.sides} sides>"

    def train(self, seed: int, device: str) -> dict:
        return {}


@dataclass(frozen=True)
class Toss(Declaration):
    often: Count | None = 3
    waits: tuple[Count, ...] = (1, 2)
    coins: tuple[Coin, ...] = (Coin(),)

    def run(self, seed: int, device: str) -> xr.Dataset:
        return xr.Dataset({"heads": 0.5})


@dataclass(frozen=True)
class More(Toss):
    beside: Count = 1


@pytest.mark.parametrize("value", [{"often": None}, {"waits": ()}, {"coins": (Coin(3),)}, {"often": 4, "waits": ()}])
def test_a_setting_that_cannot_be_typed_is_in_no_command(value, monkeypatch):
    monkeypatch.setattr(laid_open, "drawing_of", lambda experiment: None)
    toss = Experiment("toy-toss", "A toss", quick=Toss(), full=Toss())
    monkeypatch.setattr(Experiment, "book", SimpleNamespace(command="./toy"))
    assert laid_open.commands(toss.but(**value)) == []
    assert laid_open.commands(toss.but(often=4, waits=5)) == ["./toy check toy-toss --seed 7 --set often=4 --set waits=5"]


def test_a_class_that_has_fields_alone_shows_them(monkeypatch):
    monkeypatch.setitem(linecache.cache, "<string>", (10, None, ["import sys\n"], "<string>"))  # as Python 3.13 keeps python -c
    assert "class More(Toss):\n    beside: Count = 1" in laid_open.code(More)


def test_a_part_that_trains_and_has_no_name_ships_nothing():
    assert identity.parts(Toss())[1:] == [Coin()] and weights.trainings(Toss()) == []


def test_braces_in_a_formula_are_no_place():
    told = {"Says": "$W_{k}$ moves {k} times, $k = {k}$.", "So": "Yes, {C1}.", "New": "{k}."}
    box = Box(told, {"k": "5"}, {"C1": "holds"})
    assert repr(box).splitlines()[0].count("5") == 1 and "k_" not in repr(box) and repr(box).count("⟨5⟩") == 2
    assert "Nothing {} at all." in repr(Box({"Says": "Nothing {} at all."}, {}, {}))


@pytest.mark.parametrize(
    "told", ["Says: a.\n\nSays: b.\n\nSo: c.\n\nNew: d.", "Says: a.\n\nSo: \n\nNew: d.", "Says: a.\n\nNew: d.\n\nSo: c."]
)
def test_a_minute_says_each_part_once_in_words(told):
    def minute(data):
        return {}

    minute.__doc__ = told
    with pytest.raises(ValueError, match="a minute says Says:, So:, New: in this order"):
        minute_of("toy-coin")(minute)


@pytest.mark.parametrize(
    ("value", "form", "above", "below"),
    [
        (0.07, ".0%", "7%", "7%"),
        (0.0701, ".0%", "8%", "7%"),
        (99.6, ".2g", "1e+02", "99"),
        (-0.182, ".1f", "-0.1", "-0.2"),
        (6.1e-5, ".0e", "7e-05", "6e-05"),
        (1e300, ".0f", f"{1e300:.0f}", f"{1e300:.0f}"),
        (float("nan"), ".2g", "nan", "nan"),
    ],
)
def test_bounds_are_rounded_outward(value, form, above, below):
    assert (at_most(value, form), at_least(value, form)) == (above, below)
    with pytest.raises(ValueError, match="the format is ',.0f': take one such as .2g"):
        at_most(value, ",.0f")
