"""Every executed notebook shows what the committed one shows, by the rules of nbval, and its numbers are the stored ones.

`./run test` executes the notebooks first; without it, only those are compared that are executed for their present sources.
"""

from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile, coalesce_streams, nocolors

from book.build import arguments, cache, check, judged, quick
from book.build.cache import Executed
from book.build.layout import Layout
from icl_lib.companion.quick import stored_quick

LAYOUT = Layout(Path(__file__).resolve().parents[2])


@pytest.mark.parametrize("name", arguments.notebook_names(LAYOUT.root))
def test_notebook(name, request):
    executed = cache.lookup(name, "quick", LAYOUT)
    if executed is None:
        pytest.skip(f"not executed since it changed; ./run test notebooks/{name}.ipynb does it")
    complaints = [*other_outputs(executed, request.session), *other_numbers(executed)]
    if complaints:
        pytest.fail("\n".join([f"{name}:", *complaints]), pytrace=False)
    check.remember(executed, LAYOUT)


def test_committed_notebooks_are_light():
    """Without pictures, which are drawn when a notebook runs."""
    notebooks = {path.name: path.read_text(encoding="utf-8") for path in LAYOUT.notebooks.glob("*.ipynb")}
    assert sum(map(len, notebooks.values())) < 5e6
    assert not [name for name, text in notebooks.items() if ";base64," in text]


def other_outputs(executed: Executed, session: pytest.Session) -> list[str]:
    """What the executed notebook shows otherwise than the committed one, cell by cell."""
    committed = IPyNbFile.from_parent(session, path=LAYOUT.notebooks / executed.notebook.name)
    committed.setup_sanitize_files()
    cells = [cell for cell in cache.read_notebook(executed.notebook).cells if cell.cell_type == "code"]
    return [
        complaint
        for expected, found in zip(committed.collect(), cells, strict=True)
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
    return quick.differences(stored_quick(LAYOUT.stored_results / quick.FILE), judged.of(executed)["quick"])
