"""Which executed notebooks still answer for their sources.

An executed notebook lies in a folder of its own together with a record that names what it was made from, and what was
made. The folder appears under its final name in one rename, so it is complete or absent; what was changed in it afterwards
is executed again.
"""

import json
import platform
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from book.builder import closure
from book.builder.layout import Layout
from book.builder.problem import Problem
from icl_lib.companion import digests, modules, quick, writing

NOTE = "judged.{}.json"
"""What the claims say, noted beside an executed notebook, by profile."""


@dataclass(frozen=True)
class Origin:
    """What the outputs of a notebook depend on: its sources, the stored files that it may load, the claims near their margins.

    sources: digests of notebook, library and requirements; stored: one of every file; near: by experiment, as ``near_claims``
    gives them.
    """

    sources: dict[str, str]
    stored: dict[str, str]
    near: dict[str, list[str]]


@dataclass(frozen=True)
class Record(Origin):
    """What is known about one execution; ``made`` are digests of the notebook with its outputs and of every result."""

    made: dict[str, str]
    profile: str
    cells: int
    seconds: float
    executed: str


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
    return closure.code_closure(*closure.with_rooms(closure.imported_modules(code)))


def sources(name: str, layout: Layout) -> tuple[nbformat.NotebookNode, list[Path]]:
    """A notebook and the library's source files that it needs."""
    notebook = read_notebook(layout.notebooks / f"{name}.ipynb")
    try:
        return notebook, library_closure(notebook)
    except SyntaxError as error:
        raise Problem(f"{name}.ipynb: a cell is not valid Python: {error.msg}.") from error


def source_digests(name: str, profile: str, layout: Layout) -> dict[str, str]:
    """Digests of a notebook with its profile, of the code it needs and of the versions it runs with."""
    notebook, files = sources(name, layout)
    cells = [[cell.cell_type, cell.source, sorted(cell.metadata.get("tags", []))] for cell in notebook.cells]
    return {
        "notebook": digests.of_json([profile, cells]),
        "library": digest_of([*files, Path(__file__).with_name("execute.py")]),
        "requirements": requirements_digest(layout),
    }


def requirements_digest(layout: Layout) -> str:
    """A digest of the pinned versions, Python's among them."""
    return digests.of_text(f"{platform.python_version()} {digests.of_file(layout.root / 'requirements.txt')}")


def digest_of(files: Iterable[Path]) -> str:
    """A digest of several files, by their names and in their order."""
    return digests.of_text("".join(f"{path.name} {digests.of_file(path)}\n" for path in files))


def near_claims(slugs: Iterable[str], layout: Layout) -> dict[str, list[str]]:
    """The claims that cards show as judged in full, because `quick.json` has them near their margins."""
    stored = quick.stored_quick(layout.stored_results / quick.FILE)
    return {slug: sorted(quick.near(stored, slug)) for slug in slugs}


def origin(name: str, profile: str, layout: Layout) -> Origin:
    """What an execution that begins now will depend on.

    The stored files are those of the experiments that the notebook is registered for or whose code it needs: the
    weights of trained networks and, in the full profile, the results.
    """
    from papers import registry  # seconds, with all the library; a build that executes nothing does without

    _, needed = sources(name, layout)
    experiments = [
        experiment
        for experiment in registry.EXPERIMENTS.values()
        if experiment.notebook == name or modules.module_file(type(experiment.full).__module__) in needed
    ]
    weights = {name for each in experiments for name in registry.trainings_of(getattr(each, profile))}
    stored = [f"weights/{name}.safetensors" for name in sorted(weights)]
    slugs = sorted(each.slug for each in experiments)
    stored += [f"{slug}.full.nc" for slug in slugs if profile == "full"]
    near = near_claims(slugs if profile == "quick" else [], layout)
    sources_now = source_digests(name, profile, layout)
    return Origin(sources_now, {file: digests.of_file(layout.stored_results / file) for file in stored}, near)


def lookup(name: str, profile: str, layout: Layout) -> Executed | None:
    """The executed notebook, if there is one and nothing it was made from has changed since."""
    folder = layout.executed(profile, name)
    try:
        record = Record(**json.loads((folder / "record.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if record.made != made_in(folder, name) or record.sources != source_digests(name, profile, layout):
        return None
    if any(digests.of_file(layout.stored_results / file) != digest for file, digest in record.stored.items()):
        return None
    if record.near != near_claims(record.near, layout):
        return None
    return Executed(name, folder, record, reused=True)


def made_in(folder: Path, name: str) -> dict[str, str]:
    """Digests of an executed notebook and of the results beside it, by their names."""
    files = [folder / f"{name}.ipynb", *sorted((folder / "results").glob("*"))]
    return {path.name: digests.of_file(path) for path in files}


def write_record(folder: Path, record: Record) -> None:
    """Note what is known about the execution in a folder."""
    writing.write_json(folder / "record.json", asdict(record))


def workplace(layout: Layout) -> Path:
    """A new folder for an execution under way, on the same disk as its final place."""
    parent = layout.build / "executing"
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=parent))


def keep(name: str, profile: str, before: Origin, seconds: float, work: Path, layout: Layout) -> Executed:
    """Give a finished execution its final place. `before` was taken before it began."""
    notebook = read_notebook(work / f"{name}.ipynb")
    record = Record(
        **asdict(before),
        made=made_in(work, name),
        profile=profile,
        cells=sum(cell.cell_type == "code" for cell in notebook.cells),
        seconds=round(seconds, 1),
        executed=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_record(work, record)
    folder = layout.executed(profile, name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    work.rename(folder)
    return Executed(name, folder, record, reused=False)
