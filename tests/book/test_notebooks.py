"""Every executed notebook shows what the committed one shows, by the rules of nbval, and its numbers are the stored ones.

With `--all` its main figure is that of the file that the page offers beside it, drawn anew to the same bytes.

`./run test` executes the notebooks first; without it, only those are compared that are executed for their present sources.
"""

import base64
import io
import re
import shutil
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams, nocolors
from PIL import Image

from book.builder import arguments, cache, check, committed, figures, judged, lighten, quick, raster
from book.builder.cache import Executed
from book.builder.layout import Layout
from icl_lib.companion import Drawing, results
from icl_lib.companion.paper import declared
from icl_lib.companion.quick import stored_quick
from icl_lib.companion.showing import seen_by
from papers import registry

LAYOUT = Layout(Path(__file__).resolve().parents[2])
LARGEST = 5.8e6
"""Bytes of all committed notebooks together."""
STYLED = re.compile(r"<svg|[\"(]data:|\bclass=|\bstyle=")
"""What an output must not hold: what viewers leave out of notebooks that they do not trust."""
RAW = re.compile(r"^[> ]*(?:- )?<!--", re.MULTILINE)
"""The begin of a line that Markdown would take for HTML to its end."""
JUDGED = re.compile(r"^(\w+): ([a-z ]+?)(?: \(judged in full\))? \(value ⟨([^⟩]*)⟩, margin", re.MULTILINE)
CARD = re.compile(
    r"^\*\*(\w+)\*\* · (?:found here|the paper’s) · \*\*([a-z ]+)\*\*[^\n]*\n\n(?:[^\n]+\n\n)+?"
    r"number <!--⟨-->([^\n]*?)<!--⟩--> · allowed <!--⟨-->[^\n]+ · ◇ [^\n]+ · <!--⟨-->`├[─━●◇┤·]{23}`<!--⟩-->$",
    re.MULTILINE,
)
"""A claim as text and as a card: its id, its verdict and its number."""
REDRAWN = 1
"""Figures of each notebook that are drawn anew: one call draws them all, and a second drawing of each takes minutes."""


@pytest.mark.parametrize("name", arguments.notebook_names(LAYOUT.root))
def test_notebook(name, request):
    executed = executed_now(name)
    require_none(name, [*other_outputs(executed, request.session), *other_numbers(executed)])
    check.remember(executed, LAYOUT)


@pytest.mark.long
@pytest.mark.parametrize("name", arguments.notebook_names(LAYOUT.root))
def test_files_beside_a_notebook(name):
    require_none(name, other_files(executed_now(name)))


def executed_now(name: str) -> Executed:
    """The notebook as it was executed for its present sources; skips the test where it was not."""
    executed = cache.lookup(name, "quick", LAYOUT)
    if executed is None:
        pytest.skip(f"not executed since it changed; ./run test notebooks/{name}.ipynb does it")
    return executed


def require_none(name: str, complaints: list[str]) -> None:
    """Fail the test with the complaints about a notebook, if there are any."""
    if complaints:
        pytest.fail("\n".join([f"{name}:", *complaints]), pytrace=False)


def test_committed_notebooks_are_light():
    assert sum(path.stat().st_size for path in LAYOUT.notebooks.glob("*.ipynb")) < LARGEST


@pytest.mark.parametrize("name", arguments.notebook_names(LAYOUT.root))
def test_any_viewer_shows_what_a_committed_notebook_holds(name):
    """Each figure as one PNG with its caption, each claim with verdict, number and place, and nothing that needs a style."""
    cells = cache.read_notebook(LAYOUT.notebooks / f"{name}.ipynb").cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output.text for output in outputs if output.get("name") == "stderr"]  # a warning names paths of a machine
    data = [output.data for output in outputs if "data" in output]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert not [each for each in pictures if each.metadata["image/png"].alt not in each.data["text/plain"]]
    assert not [each for each in data if STYLED.search(each.get("text/html", "") + each.get("text/markdown", ""))]
    assert not [each for each in data if RAW.search(each.get("text/markdown", ""))]
    for each, caption in zip(data, [*data[1:], {}], strict=True):
        plain = each.get("text/plain", "")
        if plain.startswith("Picture(") or "image/png" in each:
            picture = Image.open(io.BytesIO(base64.b64decode(each["image/png"])))
            assert picture.format == "PNG" and caption.keys() == {"text/markdown", "text/plain"}, plain
        shown = CARD.findall(each.get("text/markdown", ""))
        assert shown == [(id, verdict, number.replace("-", "−")) for id, verdict, number in JUDGED.findall(plain)]


def other_outputs(executed: Executed, session: pytest.Session) -> list[str]:
    """What the executed notebook shows otherwise than the committed one, cell by cell."""
    stored = IPyNbFile.from_parent(session, path=LAYOUT.notebooks / executed.notebook.name)
    stored.setup_sanitize_files()
    fresh = cache.read_notebook(executed.notebook)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raster, "png", lambda drawing: ("", 0))  # nbval compares no pixels
        committed.show(fresh, LAYOUT.notebooks)
    cells = [cell for cell in fresh.cells if cell.cell_type == "code"]
    return [
        complaint
        for expected, found in zip(stored.collect(), cells, strict=True)
        for complaint in other_output(expected, found)
    ]


def other_output(expected: IPyNbCell, found: NotebookNode) -> list[str]:
    """What nbval complains about in one code cell."""
    if expected.options["skip"] or not expected.options["check"]:
        return []
    if expected.cell.execution_count is None:
        return [f"code cell {expected.cell_num} is committed without having been executed"]
    expected.colors = nocolors
    if expected.compare_outputs(coalesce_streams(found.outputs), coalesce_streams(expected.cell.outputs)):
        return []
    return [f"code cell {expected.cell_num} shows something else:", expected.cell.source, *expected.comparison_traceback]


def other_numbers(executed: Executed) -> list[str]:
    """Which verdicts and judged numbers are not those of the committed quick results."""
    return quick.differences(stored_quick(LAYOUT.stored_results / quick.FILE), judged.of(executed, "quick"))


def other_files(executed: Executed) -> list[str]:
    """Which figures and tables are not what the NetCDF files beside the notebook give."""
    datasets = {path.name.split(".")[0]: results.load(path) for path in sorted(executed.results.glob("*.nc"))}
    complaints = [f"{slug}: its CSV tells something else" for slug in datasets if not tabled(executed, slug, datasets[slug])]
    outputs = figures.html_outputs(cache.read_notebook(executed.notebook), "icl-figure")
    found = (figure for output in outputs for figure in figures.FIGURE.finditer(output["text/html"]) if figure["slug"])
    for figure in islice(found, REDRAWN):
        if not drawn(figure, datasets[figure["slug"]]):
            complaints.append(f"{figure['id']} is not what its data give")
    return complaints


def drawn(figure: re.Match, dataset: xr.Dataset) -> bool:
    """Whether a figure on a page is what is drawn of a dataset, on a wide and on a narrow screen, to the byte."""
    known = declared(seen_by(registry.experiment(figure["slug"])), Drawing)
    picture = next(each for each in known if figure["id"] == f"fig-{each.name}")(dataset)
    shown = figures.IMAGE.search(figure[0])
    found = [base64.b64decode(each or "").decode() for each in (shown["wide"], shown["narrow"])]
    return found == [picture.light, picture.narrow]


def tabled(executed: Executed, slug: str, dataset: xr.Dataset) -> bool:
    """Whether a table tells what a dataset holds: as it was written, to the bit; as the site offers it, to its digits."""
    (path,) = executed.results.glob(f"{slug}.*.csv")
    with tempfile.TemporaryDirectory() as folder:
        offered = Path(shutil.copy(path, folder))
        lighten.shorten(offered)
        tables = {each: pd.read_csv(file, dtype=str) for each, file in ((0, path), (1, offered))}
    rounding = (0.0, 0.5 * 10 ** (1 - lighten.DIGITS))
    return all(
        told(table.value[table.variable == name], values, rounding[which])
        for which, table in tables.items()
        for name, values in dataset.data_vars.items()
    )


def told(column: pd.Series, values: xr.DataArray, rounding: float) -> bool:
    """Whether a column tells values, numbers up to a share of themselves."""
    if values.dtype.kind not in "fiub":
        return list(column.fillna("")) == list(map(str, values.values.ravel()))
    found = column.replace({"True": "1", "False": "0"}).astype(float).astype(values.dtype)
    return np.allclose(found, values.values.ravel(), rtol=rounding, atol=0, equal_nan=True)
