"""The pages that are written from data: the ledger and the execution statistics."""

import html
import json
import platform
from collections import Counter
from importlib.metadata import version

from book.build.cache import Executed
from book.build.verdicts import NOT_RUN, Finding, Row
from icl_lib.companion.cards import badge
from papers import registry

CODES = {
    "V": "read in the text of the arXiv version",
    "V2": "as V, and the symbols agree with an independent reading note",
    "S": "seen outside the paper: in the authors' own slides, or in a secondary source",
    "A": "read in the published abstract",
    "T": "seen only in a retelling by others",
    "D": "derived for this book, not stated in the paper",
    "N": "checked numerically before the book was written",
    "M": "from memory only",
}
GENERATED = "---\ngenerated: true\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"  # wide tables need the room
PACKAGES = ("torch", "numpy", "scipy", "xarray", "h5netcdf", "papermill", "jupyter-book", "Sphinx")


def summary(rows: list[Row], profile: str) -> str:
    """How many claims came out which way in one profile."""
    counts = Counter(getattr(row, profile).verdict for row in rows)
    order = ("holds", "fails", "undecided", NOT_RUN)
    found = [f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]]
    return ", ".join(found) or "no claims yet"


def ledger_page(rows: list[Row]) -> str:
    """The ledger as a MyST page: a summary, the legend and one table per paper."""
    legend = "\n".join(f"`{code}`\n: {meaning}\n" for code, meaning in CODES.items())
    tables = "\n".join(
        f"## {wing.authors}: {wing.title}\n\n{_table(own)}\n"
        for key, wing in registry.WINGS.items()
        if (own := [row for row in rows if row.claim.paper == key])
    )
    return f"""{GENERATED}# Ledger

Every claim of the book, judged on the data behind its figure. This page is written by the build; the same rows are
in <a href="../ledger.json"><code>ledger.json</code></a>. What the columns mean is told in [](how_to_read.md).

- Quick profile: {summary(rows, "quick")}.
- Full profile: {summary(rows, "full")}.

A control is the same check on a deliberately broken input. It has to come out as *fails*.

```{{dropdown}} Confidence codes: how sure we are of the paper's wording
{legend}
```

{tables}
{_moved()}"""


def _moved() -> str:
    """The claims that have become tests, under the addresses that they had."""
    entries = "\n".join(
        f'<li id="claim-{key.lower()}">{html.escape(key)}: {html.escape(sentence)} <code>{html.escape(test)}</code></li>'
        for key, (sentence, test) in registry.MOVED.items()
    )
    return f"## Tests that were claims\n\n<ul>\n{entries}\n</ul>\n" if entries else ""


def _table(rows: list[Row]) -> str:
    titles = ("claim", "says", "quick", "full", "margin", "where")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = "\n".join(_table_row(row) for row in rows)
    return f'<div class="icl-claims"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>\n'


def _table_row(row: Row) -> str:
    claim = row.claim
    cells = {
        "claim": f'<a href="#claim-{claim.id.lower()}">{html.escape(claim.id)}</a> '
        f'<small title="{html.escape(CODES.get(claim.confidence, ""))}">[{html.escape(claim.confidence)}] '
        f"{html.escape(claim.kind)}</small>",
        "says": html.escape(claim.sentence),
        "quick": _finding(row.quick),
        "full": _finding(row.full),
        "margin": f'<span title="{html.escape(claim.reason, quote=True)}">{claim.margin:g}</span>',
        "where": f'<a href="../notebooks/{row.notebook}.html#claim-{claim.id}">§&nbsp;{html.escape(claim.section)}</a>',
    }
    columns = "".join(f'<td data-title="{title}">{cell}</td>' for title, cell in cells.items())
    return f'<tr id="claim-{claim.id.lower()}">{columns}</tr>'


def _finding(finding: Finding) -> str:
    value = f"<br><small>{html.escape(finding.value)}</small>" if finding.value else ""
    control = f"<br><small>control {finding.control}</small>" if finding.control else ""
    return badge(finding.verdict) + value + control


def ledger_json(rows: list[Row]) -> str:
    """Every claim as one object, and after them the claims that have become tests."""
    moved = [{"id": key, "sentence": sentence, "moved_to": test} for key, (sentence, test) in registry.MOVED.items()]
    return json.dumps([*(row.as_json() for row in rows), *moved], indent=1, ensure_ascii=False)


def statistics_page(executed: list[Executed], missing: list[str]) -> str:
    """What was executed when and where, as a MyST page; no path and no host name on it."""
    records = "\n".join(
        f"| [{one.name}](../notebooks/{one.name}.ipynb) | {one.record.cells} | {one.record.seconds:.1f} | "
        f"{one.record.profile} | {'earlier build' if one.reused else 'this build'} | {one.record.executed} |"
        for one in executed
    )
    absent = "".join(f"| {name} | – | – | – | not executed | – |\n" for name in missing)
    versions = "\n".join(f"| {name} | {version(name)} |" for name in PACKAGES)
    total = sum(one.record.seconds for one in executed)
    return f"""{GENERATED}# Execution statistics

Written by the build. All notebooks together took {total:.0f} s of computing, two at a time with one thread each.

| notebook | code cells | seconds | profile | executed in | at (UTC) |
|---|---|---|---|---|---|
{records}
{absent}
## Versions

| package | version |
|---|---|
| Python | {platform.python_version()} |
{versions}

## Machine

{platform.system()} on {platform.machine()}.
"""
