"""The directive ``{explorer} NAME``: an explorer of `book/explorers` on a page, its scripts and style only there."""

import shutil
from importlib import import_module
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SOURCES = Path(__file__).parents[1] / "explorers"
FOLDER = "explorers"


class ExplorerDirective(SphinxDirective):
    """One explorer by its name."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return its picture and its controls, as they are before anything is moved."""
        name = self.arguments[0]
        module = name.replace("-", "_")
        if not (SOURCES / f"{module}.js").exists():
            raise self.error(f"There is no explorer {name}; book/explorers has no {module}.js.")
        made = import_module(f"book.explorers.{module}").EXPLORER
        return [nodes.raw("", str(made.html()), format="html", explorer=made.script.name)]


def add_assets(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Let a page with an explorer load what it needs, and no other."""
    shown = doctree.findall(nodes.raw) if doctree else ()
    if scripts := dict.fromkeys(node["explorer"] for node in shown if "explorer" in node):
        app.add_css_file(f"{FOLDER}/explorers.css")
        for script in ("explorer.js", *scripts):
            app.add_js_file(f"{FOLDER}/{script}", loading_method="defer")


def copy_assets(app: Sphinx) -> None:
    """Put scripts and style into the site before pages are written, which name them with their checksums."""
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static" / FOLDER
        target.mkdir(parents=True, exist_ok=True)
        for source in sorted(SOURCES.iterdir()):
            if source.suffix in (".js", ".css"):
                shutil.copy(source, target)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("explorer", ExplorerDirective)
    app.connect("builder-inited", copy_assets)
    app.connect("html-page-context", add_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
