"""Execute one notebook, in a process that does nothing else and has a kernel waiting; compare some with those committed."""

import errno
import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from book.builder.kernels import ForkedKernelManager, Waiting
from book.builder.problem import Problem
from book.builder.workers import CAN_FORK, STATE, end_with_parent

IMPORTED = [
    *(__name__, "h5netcdf", "ipykernel.kernelapp", "matplotlib.figure", "matplotlib.backends.backend_svg"),
    *("matplotlib_inline.backend_inline", "scipy.optimize", "scipy.stats", "torch._dynamo", "xarray", "book.builder.judged"),
]
"""What every notebook needs, and its kernel; with the last all rooms."""


class _Reporting(NBClientEngine):
    """Papermill's own engine, saying which cell it has come to."""

    position = ""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **options):
        begin, cells = nb_man.cell_start, nb_man.nb.cells
        total = sum(not injected(cell) for cell in cells)

        def cell_start(cell, cell_index, **rest):
            number = sum(not injected(cell) for cell in cells[: cell_index + 1])
            cls.position = f"cell {number}/{total}"
            print(f"{STATE}{cls.position}", flush=True)
            begin(cell, cell_index, **rest)

        nb_man.cell_start = cell_start
        return super().execute_managed_notebook(nb_man, kernel_name, **options)


def injected(cell: nbformat.NotebookNode) -> bool:
    """Whether papermill added this cell; the reader's notebook does not have it."""
    return "injected-parameters" in cell.metadata.get("tags", [])


papermill_engines.register("reporting", _Reporting)


def execute(source: Path, profile: str, folder: Path) -> None:
    """Execute the notebook at `source` into `folder`, or raise a Problem."""
    target = folder / source.name
    _require_profile_parameter(source)
    try:
        run(source, target, profile)
    except PapermillExecutionError as error:
        raise Problem(f"{_Reporting.position} failed with {error.ename}: {' '.join(error.evalue.split())}") from error
    except DeadKernelError as error:
        raise Problem(
            f"the kernel died in {_Reporting.position}, perhaps for want of memory; "
            "run it again, or open the notebook with ./run lab."
        ) from error
    fold_parameters(target, profile)
    require_complete(nbformat.read(target, as_version=4))


NO_ANSWER = ("Kernel didn't respond", "Kernel died before replying")
"""What nbclient says of a kernel that could not take its ports, or waits at others'."""


def run(source: Path, target: Path, profile: str, starts: int = 2) -> None:
    """Execute a notebook; a kernel that never answers, for another took its ports meanwhile, is started once more."""
    try:
        papermill.execute_notebook(
            source,
            target,
            parameters={"profile": profile},
            engine_name="reporting",
            kernel_name="python3",
            kernel_manager_class=ForkedKernelManager,
            cwd=source.parent,
            progress_bar=False,
            request_save_on_cell_execute=False,  # the whole of it is written when it ends
            autosave_cell_every=0,
            shutdown_kernel="immediate",  # nothing is left to be done: saves the wait for an orderly end
        )
    except RuntimeError as error:
        if starts == 1 or not any(words in str(error) for words in NO_ANSWER):
            raise
        run(source, target, profile, starts - 1)


def _require_profile_parameter(source: Path) -> None:
    try:
        parameters = papermill.inspect_notebook(str(source))
    except Exception as error:
        raise Problem(f"this is no notebook: {error}") from error
    for name in ("profile", "seed"):
        if name not in parameters:
            raise Problem(f"no cell tagged 'parameters' sets '{name}'; add the tag or the line (see CONTRIBUTING.md).")


def fold_parameters(target: Path, profile: str) -> None:
    """Write what was run into the reader's own parameters cell, and drop the cell papermill added for it."""
    notebook = nbformat.read(target, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if not injected(cell)]
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = re.sub(r"^profile = .*$", f'profile = "{profile}"', cell.source, flags=re.MULTILINE)
    nbformat.write(notebook, target)


def require_complete(notebook: nbformat.NotebookNode) -> None:
    """Every code cell ran and none shows an error; papermill's own record does not tell."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        if cell.execution_count is None:
            raise Problem(f"cell {number} was never executed; run it again.")
        if any(output.output_type == "error" for output in cell.outputs):
            raise Problem(f"cell {number} shows an error.")


def work(name: str, profile: str, folder: str, judge: tuple[str, ...]) -> int:
    """Execute a notebook into FOLDER, its results below `results/`; print a problem in one line, return an exit status.

    What the claims say is noted there, too, in the profiles of `judge`.
    """
    os.environ["ICL_RESULTS"] = str(Path(folder, "results").absolute())
    kernel = ForkedKernelManager.waiting = Waiting() if CAN_FORK else None
    end_with_parent()
    try:
        execute(Path("notebooks", f"{name}.ipynb"), profile, Path(folder))
        if CAN_FORK:  # elsewhere this process would import all rooms for it: the build then judges by itself
            from book.builder import judged

            return judged.work(name, folder, *judge)
    except Problem as problem:
        print(problem, flush=True)
        return 1
    except OSError as error:
        advice = "; free some space and run it again." if error.errno == errno.ENOSPC else "."
        print(f"{error.strerror or error}{advice}", flush=True)
        return 1
    finally:
        if kernel:
            kernel.kill()
    return 0


def compare(tests: list[str]) -> int:
    """Run these tests of notebooks here, in a process that has imported what they need; an exit status."""
    import pytest  # which a build does without

    # what is imported is not rewritten, which pytest would warn of; a conftest would check shapes and types
    words = ["-q", "--noconftest", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with redirect_stdout(io.StringIO()) as said:
        status = pytest.main([*words, *tests])
    print(said.getvalue())
    return status
