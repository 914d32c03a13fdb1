"""The page of the planted faults, written from what `./run faults` left."""

import json
from collections import Counter
from pathlib import Path

from icl_lib.companion.html import template

NOT_RUN = "# Planted faults\n\n`./run faults` was not run here.\n"


def faults_page(stored: Path) -> str:
    """Every fault and the check that caught it, as a MyST page."""
    if not stored.exists():
        return NOT_RUN
    found = json.loads(stored.read_text(encoding="utf-8"))
    rows = found["faults"]
    tables = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(row["kind"] for row in rows)}
    by = Counter(row["caught"].split(":")[0] or "nothing" for row in rows).most_common()
    return PAGE.render(tables=tables, total=len(rows), by=by, commit=found["commit"])


PAGE = template(
    """
---
generated: true
html_theme.sidebar_secondary.remove: true
---

# Planted faults

Would the checks of this book notice a mistake? {{ total }} small faults were planted, each alone in a copy of the code, and
the checks that can see it were run until one of them did: first the claims on the stored measurements, with the faulty
theory beside them; then the unit tests, the nearest first; then the claims on quick results computed anew. That a digest
changed does not count.

{% for what, number in by %}
- Caught by {{ what }}: {{ number }}.
{% endfor %}

Commit {{ commit }}. The list is `book/faults/planted.txt`, a line for each; `./run faults` runs it.

{% for kind, rows in tables.items() %}
## {{ kind | capitalize }}

<div class="icl-claims"><table><thead><tr>
{% for title in ("where", "right", "planted", "caught by") %}
<th scope="col">{{ title }}</th>
{% endfor %}
</tr></thead><tbody>
{% for row in rows %}
<tr><td data-title="where"><code>{{ row.file }}</code></td><td data-title="right"><code>{{ row.right }}</code></td>\
<td data-title="planted"><code>{{ row.wrong }}</code></td><td data-title="caught by">{{ row.caught or "nothing" }}</td></tr>
{% endfor %}
</tbody></table></div>

{% endfor %}
"""
)
