"""Which executed notebooks still answer for their sources.

An executed notebook lies in a folder of its own together with a record that names what it was made from. The
folder appears under its final name in one rename, so it is complete or absent.
"""

import hashlib
import json
import platform
import shutil
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from book.layout import Layout
from book.problem import Problem
from icl_lib import registry, results


@dataclass(frozen=True)
class Record:
    """What is known about one execution."""

    key: str
    profile: str
    cells: int
    seconds: float
    executed: str
    python: str
    system: str


@dataclass(frozen=True)
class Executed:
    """An executed notebook and its record; `reused` when this build did not have to execute it."""

    name: str
    folder: Path
    record: Record
    reused: bool

    @property
    def notebook(self) -> Path:
        return self.folder / f"{self.name}.ipynb"

    @property
    def results(self) -> Path:
        return self.folder / "results"


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """The notebook at `path`, or a Problem."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:
        raise Problem(f"{path.name} cannot be read as a notebook; restore it from git.") from error


def library_closure(notebook: nbformat.NotebookNode) -> list[Path]:
    """The library's source files that the notebook's code needs, directly or not."""
    plain = TransformerManager().transform_cell  # cell magics are no Python
    code = "\n".join(plain(cell.source) for cell in notebook.cells if cell.cell_type == "code")
    return results.code_closure(*results.imported_modules(code))


def stored_files(name: str, closure: list[Path], profile: str, layout: Layout) -> list[Path]:
    """The data this notebook may load: of the experiments it is registered for or whose code it needs.

    These are the weights of trained networks and, in the full profile, the stored results.
    """
    experiments = [
        experiment
        for experiment in registry.EXPERIMENTS.values()
        if experiment.notebook == name or results.module_file(type(experiment.full).__module__) in closure
    ]
    weights = {name for each in experiments for name in registry.trainings_of(getattr(each, profile))}
    paths = [layout.stored_results / "weights" / f"{name}.safetensors" for name in sorted(weights)]
    if profile == "full":
        paths += [layout.stored_results / f"{slug}.full.nc" for slug in sorted(each.slug for each in experiments)]
    return [path for path in paths if path.exists()]


def key(name: str, profile: str, layout: Layout) -> str:
    """A digest of everything the outputs of a notebook depend on."""
    notebook = read_notebook(layout.notebooks / f"{name}.ipynb")
    cells = [[cell.cell_type, cell.source, sorted(cell.metadata.get("tags", []))] for cell in notebook.cells]
    digest = hashlib.sha256(json.dumps([profile, platform.python_version(), cells]).encode())
    try:
        files = library_closure(notebook)
    except SyntaxError as error:
        raise Problem(f"{name}.ipynb: a cell is not valid Python: {error.msg}.") from error
    files += [layout.root / "requirements.txt", Path(__file__).with_name("execute.py")]
    files += stored_files(name, files, profile, layout)
    for path in files:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def lookup(name: str, profile: str, layout: Layout) -> Executed | None:
    """The executed notebook, if there is one and nothing it was made from has changed since."""
    folder = layout.executed(profile, name)
    try:
        record = Record(**json.loads((folder / "record.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
    complete = (folder / f"{name}.ipynb").exists()
    if not complete or record.key != key(name, profile, layout):
        return None
    return Executed(name, folder, record, reused=True)


def workplace(layout: Layout) -> Path:
    """A new folder for an execution under way, on the same disk as its final place."""
    parent = layout.build / "executing"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=parent))


def keep(name: str, profile: str, key_before: str, seconds: float, work: Path, layout: Layout) -> Executed:
    """Give a finished execution its final place. `key_before` was taken before it began."""
    notebook = read_notebook(work / f"{name}.ipynb")
    record = Record(
        key=key_before,
        profile=profile,
        cells=sum(cell.cell_type == "code" for cell in notebook.cells),
        seconds=round(seconds, 1),
        executed=datetime.now(UTC).isoformat(timespec="seconds"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
    )
    (work / "record.json").write_text(json.dumps(asdict(record), indent=1))
    folder = layout.executed(profile, name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)
    return Executed(name, folder, record, reused=False)
