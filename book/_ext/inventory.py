"""Claims and figures in `objects.inv`, so that other books link to them: ``{ref}`claim-z10` ``, ``{ref}`fig-zhang-risk` ``."""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

FIGURE = re.compile(r'<figure class="icl-figure" id="(fig-[^"]+)"')


def add_labels(app: Sphinx, env: BuildEnvironment) -> None:
    """Label the card of every claim of the ledger, and every figure where it is first shown."""
    std = env.get_domain("std")
    ledger = Path(app.srcdir) / "extra" / "ledger.json"
    for row in json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else []:
        page, _, anchor = row["links"]["card"].partition("#")
        std.note_hyperlink_target(anchor.lower(), page.removesuffix(".html"), anchor, f"Claim {row['id']}")
    for page in sorted(name for name in env.found_docs if name.startswith("notebooks/")):
        for anchor in figures(env.get_doctree(page)):
            if anchor not in std.labels:
                std.note_hyperlink_target(anchor, page, anchor, f"Figure {anchor.removeprefix('fig-')}")


def figures(doctree: nodes.document) -> list[str]:
    """The identifiers of the figures that a page shows."""
    return [found for node in doctree.findall(nodes.raw) for found in FIGURE.findall(node.astext())]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-updated", add_labels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
