"""The page that says of each claim of a wing whether it is proved or read off, and what is open."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import nbformat
import yaml

from book.builder.pages import GENERATED, raw
from book.builder.verdicts import Row
from icl_lib.companion.html import template

FILE = "established.yml"
WING = "lenses"
STATEMENT = re.compile(r"^:+\{prf:\w+\} (?P<title>.+)\n:label: (?P<label>\S+)$", re.MULTILINE)
EQUATION = re.compile(r"^\$\$ \((?P<label>eq-[\w-]+)\)", re.MULTILINE)
SOURCE = re.compile(r" \([^()]*(?:\([^()]*\)[^()]*)*\)$")


class Statement(NamedTuple):
    """A theorem, a proposition or an equation of a notebook, or the notebook; only the first two have a title."""

    address: str
    title: str


def sorted_claims(kept: Mapping[str, list[dict]]) -> list[str]:
    """The claims of the entries of both classes, in order, repeated where they stand twice."""
    return [each for kind in ("established", "readings") for entry in kept[kind] for each in entry["claims"]]


def statements(notebooks: Path) -> dict[str, Statement]:
    """What a label of the wing's notebooks stands for, or a notebook's name."""
    found = {}
    for path in sorted(notebooks.glob(f"{WING}_*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        found[path.stem] = Statement(page := f"../notebooks/{path.stem}.html", "")
        for each in STATEMENT.finditer(text):
            found[each["label"]] = Statement(f"{page}#{each['label']}", SOURCE.sub("", each["title"]))
        for each in EQUATION.finditer(text):
            found[each["label"]] = Statement(f"{page}#equation-{each['label']}", "")
    return found


def page(rows: Sequence[Row], kept: Mapping[str, list[dict]], labels: Mapping[str, Statement]) -> str:
    """The page as MyST: two tables and the open questions. A claim that is in no class stands under its own heading."""
    known = {row.claim.id: row for row in rows}
    told = {
        kind: [(entry, [known[each] for each in entry["claims"] if each in known]) for entry in kept[kind]]
        for kind in ("established", "readings")
    }
    placed = set(sorted_claims(kept))
    loose = [row for row in rows if row.claim.paper == WING and row.claim.id not in placed]
    return GENERATED + PAGE.render(
        established=raw(ESTABLISHED.render(entries=told["established"], labels=labels)),
        readings=raw(READINGS.render(entries=told["readings"])),
        open=raw(OPEN.render(questions=kept["open"])),
        loose=loose,
        sizes={kind: sum(len(found) for _, found in entries) for kind, entries in told.items()},
        holding={
            kind: sum(row.shown.verdict == "holds" for _, found in entries for row in found) for kind, entries in told.items()
        },
        questions=len(kept["open"]),
    )


def fill(book: Path, rows: Sequence[Row], notebooks: Path) -> None:
    """Write the page into the staged book, from the classes that lie there."""
    kept = yaml.safe_load((book / FILE).read_text(encoding="utf-8"))
    (book / "established.md").write_text(page(rows, kept, statements(notebooks)), encoding="utf-8")


PAGE = template(
    """
# What is established, what is a reading, what is open

The pages of this part put the papers on one model. Some of what they say is proved there, and a claim checks the proof. Some is
measured and has no proof. This page keeps the two apart. It is written by the build, and the verdicts are those of the
[ledger](ledger.md).

- *Established*: {{ sizes.established }} claims about what is proved, of which {{ holding.established }} hold.
- *Readings*: {{ sizes.readings }} claims about what is measured alone, of which {{ holding.readings }} hold.
- *Open*: {{ questions }} questions, each with the experiment that would decide it.

## Established

Proved on the page that the statement leads to, under the hypotheses there: $D_*=WVSK$ for all matrices, $m=\\mu$ at the least
risk alone. The claim measures it by another route.

{{ established | safe }}

## Readings

The data of the book show it. Another size, another length or another model may not.

{{ readings | safe }}

## Open

{{ open | safe }}

{% if loose %}
## In no class yet

{% for row in loose %}
- [{{ row.claim.id }}](../{{ row.card }})
{% endfor %}
{% endif %}
"""
)

ESTABLISHED = template(
    """
<div class="icl-claims"><table><thead><tr>
{% for title in ("statement", "claim", "says", "found") %}<th scope="col">{{ title }}</th>{% endfor %}
</tr></thead><tbody>
{% for entry, rows in entries %}{% for row in rows %}
<tr><td data-title="statement">{% if loop.first %}<a href="{{ labels[entry.by].address }}">\
{{ (labels[entry.by].title or entry.title) | math }}</a>{% endif %}</td>\
<td data-title="claim"><a href="../{{ row.card }}">{{ row.claim.id }}</a></td>\
<td data-title="says">{{ row.claim.sentence | math }}</td>\
<td data-title="found">{{ row.shown.verdict | verdict }}</td></tr>
{% endfor %}{% endfor %}
</tbody></table></div>
"""
)

READINGS = template(
    """
<div class="icl-claims"><table><thead><tr>
{% for title in ("claim", "says", "found", "not proved") %}<th scope="col">{{ title }}</th>{% endfor %}
</tr></thead><tbody>
{% for entry, rows in entries %}{% for row in rows %}
<tr><td data-title="claim"><a href="../{{ row.card }}">{{ row.claim.id }}</a></td>\
<td data-title="says">{{ row.claim.sentence | math }}</td>\
<td data-title="found">{{ row.shown.verdict | verdict }}</td>\
<td data-title="not proved">{% if loop.first %}{{ entry.lacks | math }}{% endif %}</td></tr>
{% endfor %}{% endfor %}
</tbody></table></div>
"""
)

OPEN = template(
    """
<dl class="icl-open">
{% for each in questions %}
<dt>{{ each.question | math }}</dt>
<dd><p>{{ each.known | math }}</p><p><em>What would decide:</em> {{ each.experiment | math }}</p></dd>
{% endfor %}
</dl>
"""
)
