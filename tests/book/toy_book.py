"""A small checkout: the real pages and the real build, with small notebooks and a small library."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import yaml
from bs4 import BeautifulSoup
from filelock import FileLock

from tests import toy_library

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["engine", "zhang_4_1_convergence", "zhang_appendices"]
_, MAIN, OTHER = NAMES
EXPLORER = re.compile(r":::\{explorer\} .*\n:::\n")
"""Drawn by the papers' theory, of which the small library has none."""

REGISTRY = """
import xarray
from dataclasses import dataclass
from types import SimpleNamespace
from icl_lib.companion import Declaration, results
from papers import BOOK

@dataclass(frozen=True)
class Declared(Declaration):
    pass

class Alpha:
    slug, notebook, quick, full, module = "toy-alpha", "zhang_4_1_convergence", Declared(), Declared(), "papers.registry"
    paper, book = "zhang", BOOK

    def declaration(self, profile):
        return self.quick

    def not_stored(self, seed):
        return ""

    def origin(self, profile, seed, device, made_with=None):
        raise AssertionError("there is no stored result to compare with")

    def measure(self, profile, seed):
        attributes = dict(slug=self.slug, profile=profile, seed=str(seed), seconds="0.5", device="cpu", commit="abc")
        attributes["created"] = "2026-01-02T03:04:05+00:00"
        attributes["declaration"] = '{"class": "Declared", "N": 3}'
        return xarray.Dataset({"value": ("M", [1.0, 2.0])}, attrs=attributes)

    def expect(self, measured):
        return measured

EXPERIMENTS = {"toy-alpha": Alpha()}
ID = "Z[0-9]+[a-z]?"
WINGS = {"zhang": SimpleNamespace(key="zhang", authors="Z", title="T", scope="S", easy="E", hard="H")}

def judge(dataset):
    verdict = "holds" if dataset["value"].max() == 2 else "fails"
    numbers = dict(value=2.0, two_se=0.0, margin=1e-10, resolution=float("nan"), slack=float("nan"), near=False)
    words = dict(verdict=verdict, control_verdict="fails", positive_verdict="")
    return SimpleNamespace(claim=SimpleNamespace(rounding=True), **words, **numbers)

CLAIMS = {"Z1": SimpleNamespace(
    id="Z1", paper="zhang", section="4.1", sentence="two is two", confidence="D", kind="identity",
    experiment="toy-alpha", margin=1e-10, reason="exact", told={}, ours=True, recorded="holds",
    part_of="", slack_reason="", judge=judge)}

def experiment(slug):
    return EXPERIMENTS[slug]

def trainings_of(declaration):
    return []

def claims_of(slug):
    return list(CLAIMS.values())
"""
FIGURE = """
from icl_lib import alpha
from icl_lib.companion import results
from papers import registry
from IPython.display import HTML
results.obtain(registry.experiment("toy-alpha"), profile, seed)
drawn = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSI5cHQiIGhlaWdodD0iOXB0Ii8+"  # an empty square
image = f'<img alt="none" src="data:image/svg+xml;base64,{drawn}">'
figure = '<figure class="icl-figure" id="fig-zhang-averaged-error" data-slug="toy-alpha">'
card = '<div class="icl-cards" data-slug="toy-alpha"><article class="icl-card" id="claim-Z1">two is two</article></div>'
HTML(figure + image + "<figcaption>Alpha</figcaption><!-- provenance --></figure>" + card)
"""


def write_notebook(path, source):
    parameters = nbformat.v4.new_code_cell('profile = "quick"\nseed = 0', metadata={"tags": ["parameters"]})
    cells = [nbformat.v4.new_markdown_cell(f"# {path.stem}"), parameters, nbformat.v4.new_code_cell(source)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


def is_here(page):
    """Whether a page of the real book is one of the small book, which has no library to show."""
    return Path(page).name in NAMES or page.startswith("book/") and not page.startswith(("book/api/", "book/library"))


def small_pages(root):
    """The real pages and the real table of contents, less the lines about notebooks that are not here."""
    shutil.copytree(ROOT / "book", root / "book", ignore=shutil.ignore_patterns("data", "__pycache__"))
    for page in (root / "book").glob("*.md"):
        lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
        here = [line for line in lines if {*re.findall(r"\.\./notebooks/(\w+)", line)} <= {*NAMES}]
        kept = [line for line in here if "three-models" not in line]  # its caption links many pages
        page.write_text(EXPLORER.sub("", "".join(kept)), encoding="utf-8")
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    for part in contents["parts"]:
        part["chapters"] = [chapter for chapter in part["chapters"] if is_here(chapter["file"])]
    contents["parts"] = [part for part in contents["parts"] if part["chapters"]]
    (root / "_toc.yml").write_text(yaml.safe_dump(contents), encoding="utf-8")


def write(root, registry=REGISTRY):
    """The whole checkout, with nothing built."""
    for name in ("_config.yml", "requirements.txt", "CITATION.cff"):
        shutil.copy(ROOT / name, root)
    small_pages(root)
    library = root / "icl_lib"
    shutil.copytree(ROOT / "icl_lib" / "companion", library / "companion", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("needed.py", "typed.py"):
        shutil.copy(ROOT / "icl_lib" / name, library)
    for name in ("__init__.py", "beta.py"):
        (library / name).touch()
    (library / "alpha.py").write_text("from icl_lib import beta\n")
    (root / "papers").mkdir()
    (root / "papers" / "__init__.py").write_text(toy_library.packages("zhang"))
    (root / "papers" / "registry.py").write_text(registry)
    (root / "notebooks").mkdir()
    for name in NAMES:
        write_notebook(root / "notebooks" / f"{name}.ipynb", FIGURE if name == MAIN else "profile")


def environment(root):
    """Variables under which this checkout's library is the one that is imported, and the reader's own settings are not."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("ICL_")}
    return others | {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONPATH": str(root)}


def build(root, *words, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "book.builder", *words],
        cwd=root,
        env=environment(root) | variables,
        capture_output=True,
        text=True,
    )
    return SimpleNamespace(status=done.returncode, said=done.stdout + done.stderr)


ORIGINAL = "the-toy-book-that-is-copied"


def built(factory):
    """A checkout of one's own that has been built once: a copy of one that the test run builds."""
    mine = factory.getbasetemp()
    original = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / ORIGINAL
    with FileLock(original.with_suffix(".lock")):
        if not original.exists():
            making = original.with_suffix(".making")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            write(making)
            first = build(making)
            assert first.status == 0, first.said
            making.rename(original)
    return shutil.copytree(original, factory.mktemp("checkout") / "book")


def snapshot(root):
    return {path: path.read_bytes() for path in sorted((root / "_build" / "html").rglob("*")) if path.is_file()}


def page(root, name):
    return BeautifulSoup((root / "_build" / "html" / name).read_text(encoding="utf-8"), "html.parser")


def identity(root, name):
    """What a page says in its head that it was made from, by part."""
    content = page(root, name).select_one("head meta[name=icl-identity]")["content"]
    return dict(part.split(" ") for part in content.split("; "))


def stale(root):
    """The notebooks that the next build would execute."""
    program = (
        "from pathlib import Path; from book.builder import arguments, cache; from book.builder.layout import Layout\n"
        "layout = Layout(Path.cwd())\n"
        "print(*(n for n in arguments.notebook_names(layout.root) if not cache.lookup(n, 'quick', layout)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, env=environment(root), capture_output=True, text=True, check=True
    )
    return done.stdout.split()
