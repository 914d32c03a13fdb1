"""The pages that are written from data: the ledger and the execution statistics."""

import json
import platform
from collections import Counter
from importlib.metadata import version

from book.build.cache import Executed
from book.build.verdicts import NOT_RUN, Row
from icl_lib.companion.experiment import PROFILES
from icl_lib.companion.html import template
from icl_lib.companion.verdict import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from papers import registry

CODES = {
    "V": "read in the text of the arXiv version",
    "V2": "as V, and the symbols agree with an independent reading note",
    "S": "seen outside the paper: in the authors' own slides, or in a secondary source",
    "A": "read in the published abstract",
    "P": "in a press article by the paper's first author",
    "T": "seen only in a retelling by others",
    "Q": "the paper's words as an article quotes them; the page names the article",
    "D": "derived for this book, not stated in the paper",
    "N": "checked numerically before the book was written",
    "M": "from memory only",
}
GENERATED = "---\ngenerated: true\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"  # wide tables need the room
PACKAGES = ("torch", "numpy", "scipy", "xarray", "h5netcdf", "papermill", "jupyter-book", "Sphinx")


def summary(rows: list[Row], profile: str) -> str:
    """How many claims came out which way in one profile."""
    counts = Counter(getattr(row, profile).verdict for row in rows)
    order = (HOLDS, FAILS, NOT_REPRODUCED, UNDECIDED, NOT_RUN)
    found = [f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]]
    return ", ".join(found) or "no claims yet"


def ledger_page(rows: list[Row]) -> str:
    """The ledger as a MyST page: a summary, the legend, one table per paper, and the claims that have become tests."""
    found = {profile: summary(rows, profile) for profile in PROFILES}
    tables = [(wing, [row for row in rows if row.claim.paper == key]) for key, wing in registry.WINGS.items()]
    moved = [
        (wing, [(id, *told) for id, told in registry.MOVED.items() if told[1].startswith(f"tests/papers/{key}/")])
        for key, wing in registry.WINGS.items()
    ]
    return GENERATED + LEDGER.render(found=found, codes=CODES, tables=tables, moved=moved)


LEDGER = template(
    """
# Ledger

Every claim of the book, judged on the data behind its figure. This page is written by the build; the same rows are
in <a href="../ledger.json"><code>ledger.json</code></a>. What the columns mean is told in [](how_to_read.md).

- Quick profile: {{ found.quick }}.
- Full profile: {{ found.full }}.

A control is the same check on a deliberately broken input. It has to come out as *fails*.

```{dropdown} Confidence codes: how sure we are of the paper's wording
{% for code, meaning in codes.items() %}
`{{ code }}`
: {{ meaning | safe }}

{% endfor %}
```

{% macro finding(one) %}
{{ one.verdict | verdict }}{% if one.value %}<br><small>{{ one.value }}</small>{% endif %}
{% if one.resolution %}<br><small>resolution {{ "%.1g" % (100 * one.resolution) }}%</small>{% endif %}
{% if one.control %}<br><small>control {{ one.control }}</small>{% endif %}
{% endmacro %}
{% for wing, rows in tables if rows %}
## {{ wing.authors }}: {{ wing.title }}

<div class="icl-claims"><table>
<thead><tr>{% for title in ("claim", "says", "quick", "full", "margin", "where") %}<th scope="col">{{ title }}</th>\
{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}
{% set claim = row.claim %}
<tr id="claim-{{ claim.id | lower }}">
<td data-title="claim"><a href="#claim-{{ claim.id | lower }}">{{ claim.id }}</a> \
<small title="{{ codes.get(claim.confidence, "") }}">[{{ claim.confidence }}] {{ claim.kind }}</small></td>
<td data-title="says">{{ claim.sentence }}</td>
<td data-title="quick">{{ finding(row.quick) }}</td>
<td data-title="full">{{ finding(row.full) }}</td>
<td data-title="margin"><span title="{{ claim.reason }}">{{ "%g" % claim.margin }}</span>\
{% if "Moved" in claim.told %}<br><small title="{{ claim.told["Moved"] }}">moved after a look</small>{% endif %}</td>
<td data-title="where"><a href="../notebooks/{{ row.notebook }}.html#claim-{{ claim.id }}">§&nbsp;{{ claim.section }}</a></td>
</tr>
{% endfor %}
</tbody></table></div>

{% endfor %}
## Tests that were claims

They only showed that the code computes what it says.

{% for wing, tests in moved if tests %}
### {{ wing.authors }}

<ul>
{% for id, sentence, test in tests %}
<li id="claim-{{ id | lower }}">{{ id }}: {{ sentence }} <code>{{ test }}</code></li>
{% endfor %}
</ul>

{% endfor %}
"""
)


def ledger_json(rows: list[Row]) -> str:
    """Every claim as one object, and after them the claims that have become tests."""
    moved = [{"id": key, "sentence": sentence, "moved_to": test} for key, (sentence, test) in registry.MOVED.items()]
    return json.dumps([*(row.as_json() for row in rows), *moved], indent=1, ensure_ascii=False)


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

Written by the build. All notebooks together took {{ "%.0f" % total }} s of computing, two at a time with one thread each.

| notebook | code cells | seconds | profile | executed in | at (UTC) |
|---|---|---|---|---|---|
{% for one in executed %}
| [{{ one.name }}](../notebooks/{{ one.name }}.ipynb) | {{ one.record.cells }} | {{ "%.1f" % one.record.seconds }} \
| {{ one.record.profile }} | {{ "earlier build" if one.reused else "this build" }} | {{ one.record.executed }} |
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
