"""Pages of the library's signatures: docstrings as they stand, plain text, with links to the equations they name."""

import re
from itertools import groupby
from textwrap import indent
from types import ModuleType

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.inspect import object_description

VERBATIM = re.compile(r"(``[^`]+``)")
MEANS_SOMETHING = re.compile(r"([\\*`|_])")
EQUATION = re.compile(r"\((eq-[\w-]+)\)|\b(eq-[\w-]+)")
ALIGNED = re.compile(r"^\s|\S {2,}\S")
"""A line of columns, or one that is set in."""
NAMED = re.compile(r"(\S+(?: \S+)*) {2,}(\S.*)")
"""A name and, in a column beside it, what it is."""
ADDRESS = re.compile(r"\bmemory:[0-9a-f]")
"""How a template shows itself; what Python's own way tells of a place in memory, Sphinx leaves out."""
DEFINED = re.compile(r"^(?:class|def) (\w+)", re.MULTILINE)


def as_plain_text(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep docutils from reading formulas as markup, such as the stars in ``W_KQ_*``; examples and columns stay as they are."""
    blocks = ["\n".join(block) for blank, block in groupby(lines, key=lambda line: not line.strip()) if not blank]
    lines[:] = "\n\n".join(map(shown, blocks)).splitlines()


def shown(block: str) -> str:
    """One paragraph of a docstring as reStructuredText."""
    if block.startswith((">>> ", " ")):
        return block
    lines = block.splitlines()
    if all(NAMED.fullmatch(line) or line.startswith(" ") for line in lines):
        return ".. container:: icl-columns\n\n" + indent("\n".join(map(column, lines)), "    ")
    if any(map(ALIGNED.search, lines)):
        return ".. code-block:: text\n\n" + indent(block, "    ")
    return in_words(block)


def column(line: str) -> str:
    """One line of columns as part of a list of definitions."""
    named = NAMED.fullmatch(line)
    return f"``{named[1].strip('`')}``\n    {in_words(named[2])}" if named else f"    {in_words(line.strip())}"


def in_words(text: str) -> str:
    """Text whose code is set as code."""
    return "".join(part if part.startswith("``") else escaped(part) for part in VERBATIM.split(text))


def escaped(text: str) -> str:
    """Text that reStructuredText shows as it is, but for labels of equations, which become links."""
    return EQUATION.sub(lambda found: f":eq:`{found[1] or found[2]}`", MEANS_SOMETHING.sub(r"\\\1", text))


def without_addresses(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out a constant that Python shows by its place in memory: that says nothing, and another thing in each build."""
    constant = what == "module" and not callable(obj) and not isinstance(obj, ModuleType)
    return True if constant and ADDRESS.search(object_description(obj)) else None


def name_the_code(app: Sphinx, doctree: nodes.document) -> None:
    """Below code that a page includes stands its full name, a link to its signature."""
    for block in list(doctree.findall(nodes.literal_block)):
        module = re.search(r"/((?:icl_lib|papers)/[\w/]+)\.py$", block.get("source") or "")
        if module and (found := DEFINED.search(block.astext())):
            name = f"{module[1].replace('/', '.')}.{found[1]}"
            link = addnodes.pending_xref("", nodes.literal(name, name), refdomain="py", reftype="obj", reftarget=name)
            link["refwarn"] = False
            line = nodes.paragraph("", "", link, classes=["icl-name"])
            block.parent.insert(block.parent.index(block) + 1, line)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", as_plain_text)
    app.connect("autodoc-skip-member", without_addresses)
    app.connect("doctree-read", name_the_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
