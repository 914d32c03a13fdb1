"""The sources of the site, gathered in one folder that nothing else is in."""

import shutil
from dataclasses import dataclass
from importlib.metadata import files
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import yaml

from book.builder import (
    api,
    card,
    environment,
    established,
    figures,
    folded,
    front,
    judged,
    ledger_files,
    pages,
    published_at,
    recorded,
    sharpness,
    times,
    verdicts,
)
from book.builder.cache import Executed, read_notebook
from book.builder.figures import Provenance
from book.builder.layout import Layout
from book.builder.ledger import Ledger
from book.builder.made import made
from book.builder.problem import Problem
from book.builder.three_models import three_models
from book.citation.pages import CitePages
from book.citation.record import Record
from icl_lib.companion import results
from icl_lib.companion.quick import FILE, stored_quick
from papers import BOOK, registry

MATHJAX = "mathjax.js"
"""What a page loads of MathJax, in one file: `COMPONENTS` without its menu, whose entries need files that no page has."""
COMPONENTS = ("startup", "core", "input/tex", "output/chtml", "output/chtml/fonts/tex", "a11y/assistive-mml")
ON_DEMAND = ("input/tex/extensions", "output/chtml/fonts/woff-v2")
NOT_EXECUTED = (
    "```{warning}\nThis notebook was not executed in this build, so it is shown without its outputs.\n"
    "`./run book` executes it.\n```"
)


@dataclass(frozen=True)
class Stage:
    """One folder of sources for Jupyter Book; what lies in `extra` ends up at the root of the site.

    An edition shows the quick results that are committed with it.
    """

    layout: Layout
    source: Path
    record: Record

    @property
    def extra(self) -> Path:
        return self.source / "extra"

    @property
    def files(self) -> Path:
        """Pictures and data, which pages only ask for: they join the site once it is rendered."""
        return self.source.parent / "files"

    def fill(self, executed: list[Executed], quick: list[Executed]) -> None:
        """Gather everything.

        `executed` are this build's notebooks, `quick` those whose quick results are in the ledger.
        """
        self.extra.mkdir(parents=True)
        address = self._configure()
        self._copy_sources()
        copy_mathjax(self.source / "book" / "_static" / "mathjax")
        shown, missing = self._add_notebooks({one.name: one for one in executed}, address)
        self._add_data(executed)
        book, ledger = self.source / "book", self._ledger(executed, quick)
        self._add_ledger(ledger)
        front.fill(book, shown, ledger)
        CitePages(self.record, ledger.rows, self.files, shown, address).fill(book, ledger_files.as_objects(ledger))
        faults, calibration = (self.layout.stored_results / f"{name}.json" for name in ("faults", "calibration"))
        (book / "faults.md").write_text(recorded.faults_page(faults), encoding="utf-8")
        sharp = sharpness.section(ledger.rows)
        (book / "calibration.md").write_text(recorded.calibration_page(calibration) + sharp, encoding="utf-8")
        environment.fill(book, self.layout.root)
        established.fill(book, ledger.rows, self.layout.notebooks)
        times.fill(book, self.layout.stored_results)
        api.fill(book, self.layout.root)
        (book / "statistics.md").write_text(pages.statistics_page(executed, missing), encoding="utf-8")

    def _configure(self) -> str:
        """Stage `_config.yml`; the repository's address, or an empty string."""
        configuration = yaml.safe_load((self.layout.root / "_config.yml").read_text(encoding="utf-8"))
        address = published_at.repository(self.layout.root)
        if address:
            link_to(address, configuration)
        configuration["html"]["extra_footer"] = f"<p>{self.record.in_words.capitalize()}</p>"
        configuration["html"].pop("baseurl", None)  # `published_at` writes canonical links, and on more pages than Sphinx
        versions = dict.fromkeys(("version", "release"), self.record.version)  # what `objects.inv` tells of itself
        configuration["sphinx"]["config"] |= versions | {"project": self.record.title}
        (self.source / "_config.yml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
        return address

    def _copy_sources(self) -> None:
        root, no_bytecode = self.layout.root, shutil.ignore_patterns("__pycache__")
        shutil.copy(root / "_toc.yml", self.source)
        shutil.copytree(root / "book", self.source / "book", ignore=shutil.ignore_patterns("__pycache__", "data", "builder"))
        for package in BOOK.packages:  # pages include code from here
            shutil.copytree(root / package, self.source / package, ignore=no_bytecode)

    def _add_notebooks(self, executed: dict[str, Executed], address: str) -> tuple[dict[str, str], list[str]]:
        """Stage all notebooks; the figures of those that were executed, by name, and the names of the others."""
        (self.source / "notebooks").mkdir()
        missing, shown = [], {}
        for path in sorted(self.layout.notebooks.glob("*.ipynb")):
            if one := executed.get(path.stem):
                notebook = read_notebook(one.notebook)
                shown |= figures.extract(notebook, self.files / "figures", provenance(one, address))
                folded.fold(notebook)
            else:
                missing.append(path.stem)
                notebook = without_outputs(read_notebook(path))
            nbformat.write(notebook, self.source / "notebooks" / path.name)
        models = {"three-models": figures.with_files(three_models._repr_html_(), self.files / "figures")}
        return shown | models, missing

    def _ledger(self, executed: list[Executed], quick: list[Executed]) -> Ledger:
        committed = stored_quick(self.layout.stored_results / FILE) if self.record.edition else {}
        return Ledger.of(verdicts.ledger([*executed, *quick], committed), self.layout)

    def _add_ledger(self, ledger: Ledger) -> None:
        """The page of all claims, and the same for machines."""
        book = self.source / "book"
        (book / "ledger.md").write_text(ledger.page(), encoding="utf-8")
        (self.extra / "ledger.json").write_text(ledger_files.as_json(ledger), encoding="utf-8")
        (self.extra / "ledger.csv").write_text(ledger_files.as_csv(ledger), encoding="utf-8")
        shutil.copy(book / "ledger.schema.json", self.extra)
        if published_at.address(self.layout.root):
            (self.extra / card.NAME).write_bytes(card.picture(self.record.title, ledger.rows))

    def _add_data(self, executed: list[Executed]) -> None:
        target = self.files / "data"
        target.mkdir(parents=True, exist_ok=True)
        stored = [*self.layout.stored_results.glob("*.nc")]
        judged.require_sound(executed, stored)
        for path in stored:
            shutil.copy(path, target)
        for path in (path for one in executed for path in one.results.glob("*")):  # their digests are in the record
            shutil.copy(path, target)


def link_to(address: str, configuration: dict) -> None:
    """Switch on the links that need the repository's address; what launches a notebook needs GitHub, too."""
    configuration["repository"]["url"] = address
    buttons = ("use_repository_button", "use_edit_page_button", "use_issues_button")
    configuration["html"] |= dict.fromkeys(buttons, True)
    host = urlsplit(address).hostname or ""
    provider = "gitlab" if "gitlab" in host else "github"  # others copy GitHub's addresses
    configuration["sphinx"]["config"]["html_theme_options"]["repository_provider"] = provider
    if host == published_at.GITHUB:
        configuration["launch_buttons"] = {
            "notebook_interface": "jupyterlab",
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
        }


def copy_mathjax(target: Path) -> None:
    """Put together what the pages need of the MathJax that a wheel brought."""
    components = {}
    for entry in files("sphinx-mathjax-offline") or ():
        _, found, part = entry.as_posix().partition("static/mathjax/")
        if found and part.startswith(ON_DEMAND):
            (target / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(entry.locate(), target / part)
        elif found and part.removesuffix(".js") in COMPONENTS:
            components[part.removesuffix(".js")] = entry.read_text(encoding="utf-8")
    if components.keys() != {*COMPONENTS}:
        raise Problem("MathJax is missing from .venv; delete .venv and run it again.")
    here = f"MathJax.loader.preLoad({', '.join(map(repr, COMPONENTS))});\n"
    (target / MATHJAX).write_text("\n".join([*map(components.get, COMPONENTS), here]), encoding="utf-8")


def provenance(one: Executed, address: str) -> dict[str, Provenance]:
    """What is known about every result that an executed notebook left behind, by slug."""
    known = {}
    for path in sorted(one.results.glob("*.nc")):
        attributes = results.attributes(path)
        slug, commit = attributes["slug"], attributes["commit"]
        known[slug] = Provenance(
            **{name: attributes[name] for name in ("slug", "profile", "seed", "device", "created", "commit")},
            seconds=float(attributes["seconds"]),
            source=permalink(slug, commit, address),
            made=made(registry.experiment(slug), attributes),
        )
    return known


def permalink(slug: str, commit: str, address: str) -> str | None:
    """The declaration of an experiment at the commit that computed it, if both can be known."""
    if not address or not commit.isalnum() or commit == "unknown":
        return None
    module = type(registry.experiment(slug).quick).__module__
    return f"{address}/blob/{commit}/{module.replace('.', '/')}.py"


def without_outputs(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with a note below its title in place of its outputs."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(NOT_EXECUTED))
    return notebook
