"""What an experiment computes, shown by itself; and experiments that are declared in a script or in a cell."""

import ast
import importlib
import os
import re
import subprocess
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from IPython.core.interactiveshell import InteractiveShell

from icl_lib.companion import described, expectation, laid_open
from icl_lib.companion.paper import declared, seen_by
from papers import registry
from papers.regression.curriculum import Ramp

ROOT = Path(__file__).resolve().parents[2]
PLAIN = {"div", "p", "b", "em", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "pre", "span"}
"""What a sanitizer leaves."""
COIN = '''
from dataclasses import dataclass

import numpy as np
import xarray as xr

from icl_lib.companion import Count, Declaration, Discrepancy, Experiment, claims_of, described, drawing, put, show, variable


@dataclass(frozen=True)
class Toss(Declaration):
    """A coin.

    tosses   of it
    """

    tosses: Count

    def run(self, seed, device):
        heads = np.random.default_rng(seed).integers(0, 2, self.tosses).mean()
        return xr.Dataset({"heads": variable("", heads, "share of heads"), "sixes": variable("", 1 / 6, "share of sixes")})


COIN = Experiment("my-coin", "A coin", quick=Toss(10), full=Toss(1000))


@claims_of("my-coin")("D", "bound", margin=0.3, control=put(heads="sixes"))
def C1(data):
    """A coin shows heads half the time.

    Margin: Two standard errors of ten tosses.
    Control: sixes of a die in the place of heads
    """
    return Discrepancy(abs(data.heads - 0.5))


@drawing("my-coin", alt="a bar", caption="Ten tosses.")
def coin(figure, data):
    figure.subplots().bar(["heads", "sixes"], [data.heads, data.sixes])
'''
SHOWN = """
print(repr(COIN.paper), repr(COIN.section))
data = show(COIN, seed=3)
other = show(COIN.but(tosses=500))
print(data.attrs["code"])
print(described(data))
print(COIN)
print(COIN._repr_html_())
try:
    show(COIN, "full", 3)
except RuntimeError as error:
    print(error)
print(COIN.run("full", 3).heads.item() < 1)
"""


def import_of(module, name: str):
    return importlib.import_module(f"{module.__name__}.{name}")


@pytest.mark.parametrize("slug", registry.EXPERIMENTS)
def test_every_experiment_shows_its_declaration_its_code_and_its_claims(slug):
    experiment = registry.experiment(slug)
    page, words = BeautifulSoup(experiment._repr_html_(), "html.parser"), repr(experiment)
    assert {tag.name for tag in page.find_all(True)} <= PLAIN and not page.find_all(style=True)
    names = {row.td.get_text().split(".")[0].split("[")[0] for row in page.select("tbody tr")}
    assert names == {field.name for kind in (experiment.quick, experiment.full) for field in fields(kind)}
    sources = [each.get_text() for each in page.select("details pre")]
    for source in sources:
        assert "cannot be read" not in source
        for needed in (each for each in ast.parse(source).body if isinstance(each, ast.ImportFrom)):
            module = importlib.import_module(needed.module)
            assert all(hasattr(module, each.name) or import_of(module, each.name) for each in needed.names)
    assert "def run(" in "".join(sources) or "def cells(" in "".join(sources)
    assert any(f'@drawing(\n    "{slug}"' in each or f'@drawing("{slug}"' in each for each in sources) == bool(
        laid_open.drawing_of(experiment)
    )
    assert all(claim.id in words and claim.id in page.get_text() for claim in registry.claims_of(slug))
    assert words.startswith(f"{slug}: {experiment.title}\n") and f"./run check {slug} --seed 7" in words


def test_the_table_says_what_fields_take_and_what_they_are():
    table = laid_open.settings_of(registry.experiment("dherin-positions"))
    rows = {name: row for name, *row in table.rows}
    assert table.head == ("field", "quick", "full", "takes", "meaning") and [*rows][0].startswith("architecture.")
    assert rows["N"][2] == "a whole number of at least 1"
    assert rows["epsilon"][3] == "in the denominator, as in the published code"
    assert rows["scales"][3] == "factors on what W reads for the query alone"
    assert rows["shapes[0]"][3].endswith("with fewer prompts in proportion when they are longer")


@pytest.mark.parametrize("slug", registry.EXPERIMENTS)
def test_the_table_says_of_every_field_what_it_is(slug):
    rows = laid_open.settings_of(registry.experiment(slug)).rows
    untold = [name for name, *_, meaning in rows if not meaning]
    assert not untold, f"say in the docstrings of the declarations of {slug} what {', '.join(untold)} mean: NAME   WORDS"


def test_the_table_says_of_an_inherited_field_what_the_base_says_of_it():
    rows = {name: row for name, *row in laid_open.settings_of(registry.experiment("dherin-two-starts")).rows}
    assert rows["other.model.width"][3] == rows["finetuning.training.model.width"][3] == "outputs of the layer"
    assert rows["other.model.over"][3] == "the entries of a matrix are drawn with variance 1/(over * columns)"


def test_the_table_says_of_the_main_settings_what_is_counted():
    fields = ("M1", "M2", "d_Y", "m", "B", "T", "l", "alpha")
    rows = {name: row[3] for name, *row in laid_open.settings_of(registry.experiment("li-classical")).rows}
    assert all(rows[f"setting.{name}"] for name in fields) and rows["setting.T"] == "steps"


def test_fields_that_are_told_together_have_the_same_words():
    told = laid_open._told_of_fields(Ramp)
    assert told["start"] == told["end"] == "the first and the last number" and told["interval"].startswith("steps")


@pytest.mark.long
def test_the_code_that_is_shown_runs_where_it_is_pasted():
    for file, source in laid_open.sources(registry.experiment("zhang-risk")):
        done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, (file, done.stderr)


def test_what_it_is_asked_for_with_other_settings_is_the_command_that_gives_it():
    shown = repr(registry.experiment("zhang-risk").but(d=10))
    assert shown.split("\n")[1] == "changed from the book: d = 10"
    assert "\n./run figure zhang-risk --seed 7 --set d=10\n" in shown


def test_code_that_cannot_be_read_says_so():
    made = type("Made", (), {"run": expectation})
    assert laid_open.code(made) == laid_open.code(partial(print, 1)) == "# its code cannot be read here"


def _looked_at(said: str) -> None:
    assert said.startswith("'' ''\nPicture('my-coin', 'my-coin'): ⟨a bar⟩\nC1: holds")
    assert "changed from the book: tosses = 500\nPicture('my-coin'" in said
    assert "The margin was set for tosses = 10; this is no record of the book." in said
    assert "heads | share of heads | 1    |" in said
    assert "tosses | 10    | 1000 | a whole number of at least 1 | of it" in said
    assert "class Toss(Declaration):" in said and "figure.subplots().bar(" in said
    assert "my-coin is declared in a cell or a script, which is not stored: its run('full', 3) computes it here\nTrue" in said


@pytest.mark.long
def test_an_experiment_of_a_script_is_measured_shown_and_judged(tmp_path):
    script = tmp_path / "coin.py"
    script.write_text(COIN + SHOWN, encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=_environment(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _looked_at(done.stdout)


@pytest.mark.long
def test_an_experiment_of_a_cell_is_too_and_answers_for_no_code(tmp_path):
    cells = f"shell.run_cell({COIN!r}).raise_error()\nshell.run_cell({SHOWN!r}).raise_error()\n"
    started = f"from {InteractiveShell.__module__} import InteractiveShell\nshell = InteractiveShell.instance()\n"
    refused = "from icl_lib.companion import weights\nweights.origin(COIN.quick, 0, 'cpu')"
    asked = f"print(shell.run_cell({refused!r}, silent=True).error_in_exec)\n"
    command = [sys.executable, "-c", started + cells + asked]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    _looked_at(done.stdout)
    assert "\nof a cell: it is not stored, and neither is what it gives\n" in done.stdout
    assert "what is declared in a cell is measured and shown, and not stored: write it in a file for that" in done.stdout


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}


def test_what_a_notebook_calls_by_its_own_names_is_not_declared_twice():
    experiment = registry.experiment("zhang-risk")
    (figures,) = (each for each in seen_by(experiment) if each.__name__.endswith("figures"))
    before = declared([figures], laid_open.Drawing)
    figures._5 = before[0]
    try:
        assert declared([figures], laid_open.Drawing) == before
    finally:
        del figures._5


@pytest.mark.parametrize("slug", ["zhang-risk", "li-first-push", "dherin-rank-one"])
def test_a_dataset_says_what_its_variables_are_and_in_which_units(slug, stored):
    dataset = stored(slug)
    rows = {name: row for name, *row in described(dataset).rows}
    assert set(rows) == set(dataset.variables)
    for name, values in dataset.data_vars.items():
        assert rows[name][:2] == [values.attrs["long_name"], values.attrs["units"]]
        assert rows[name][2] == ", ".join(f"{dim} ({size})" for dim, size in values.sizes.items())


@pytest.mark.long
def test_the_example_in_the_book_runs_as_it_stands(tmp_path):
    page = (ROOT / "book" / "how_to_rerun.md").read_text(encoding="utf-8")
    (example,) = (each for each in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if ".but(" in each)
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, env=_environment(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("zhang-risk: ") and "changed from the book: d = 10; kappa = 50.0" in done.stdout
    assert (tmp_path / "risk.csv").read_text().count("\n") > 100
