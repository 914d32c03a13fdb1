"""The execution statistics, and what all pages written from data have at their head."""

import platform
from importlib.metadata import version

from book.builder.cache import Executed
from icl_lib.companion.html import template

SOURCES = {
    "V": "the arXiv text",
    "V2": "the arXiv text and a note on it",
    "S": "slides or a secondary source",
    "A": "the abstract",
    "P": "a press article by its author",
    "T": "a retelling",
    "Q": "quoted in an article",
    "D": "found here",
    "M": "memory",
}
"""How the wording of a claim became known, in a few words."""
GENERATED = "---\ngenerated: true\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"  # wide tables need the room
PACKAGES = ("torch", "numpy", "scipy", "xarray", "h5netcdf", "papermill", "jupyter-book", "Sphinx")


def raw(html: str) -> str:
    """HTML for a page in Markdown: without blank lines, at which Markdown would begin anew."""
    return "\n".join(line for line in html.splitlines() if line.strip())


def statistics_page(executed: list[Executed], missing: list[str]) -> str:
    """What was executed when and where, as a MyST page; no path and no host name on it."""
    return GENERATED + STATISTICS.render(
        executed=executed,
        missing=missing,
        total=sum(one.record.seconds for one in executed),
        versions={"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        machine=f"{platform.system()} on {platform.machine()}",
    )


STATISTICS = template(
    """
# Execution statistics

Written by the build.{% if total %} All notebooks together took {{ "%.0f" % total }} s of computing, two at a time with one \
thread each.{% else %} An edition is the same whenever it is made: it does not tell when its notebooks ran, nor how \
long they took.{% endif %}


| notebook | code cells | seconds | profile | executed in | at (UTC) |
|---|---|---|---|---|---|
{% for one in executed %}
{% set told = one.record %}
| [{{ one.name }}](../notebooks/{{ one.name }}.ipynb) | {{ told.cells }} | {{ "%.1f" % told.seconds if total else "–" }} \
| {{ told.profile }} | {{ ("earlier build" if one.reused else "this build") if total else "–" }} | {{ told.executed or "–" }} |
{% endfor %}
{% for name in missing %}
| {{ name }} | – | – | – | not executed | – |
{% endfor %}

## Versions

| package | version |
|---|---|
{% for name, version in versions.items() %}
| {{ name }} | {{ version }} |
{% endfor %}

## Machine

{{ machine }}.
"""
)
