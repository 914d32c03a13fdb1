"""The landscape: every claim of the book as one mark, by paper and page."""

from collections.abc import Mapping
from dataclasses import dataclass

from book.builder.references import Page
from book.builder.verdicts import NOT_RUN, Row, counted
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.companion.html import template
from icl_lib.companion.mathematics import plain
from papers import registry

VERDICTS = (HOLDS, FAILS, NOT_REPRODUCED, UNDECIDED, NOT_RUN)
TIERS = {"paper": "the paper's own", "ours": "found here"}
CROSS = "M{0} {0}L{1} {1}M{1} {0}L{0} {1}"
HOLLOW = 'fill="none" stroke="currentColor" stroke-width="1.8"'
SHAPES = {
    (HOLDS, "paper"): '<circle cx="12" cy="12" r="7"/>',
    (HOLDS, "ours"): f'<circle cx="12" cy="12" r="4.2" {HOLLOW}/>',
    (FAILS, "paper"): f'<path d="{CROSS.format(5.8, 18.2)}" stroke="currentColor" stroke-width="4.2"/>',
    (FAILS, "ours"): f'<path d="{CROSS.format(7.8, 16.2)}" {HOLLOW}/>',
    (NOT_REPRODUCED, "paper"): '<path d="M4 8.8H20M4 15.2H20M16.5 3.5 7.5 20.5" stroke="currentColor" stroke-width="3.2"/>',
    (NOT_REPRODUCED, "ours"): f'<path d="M6.5 9.7H17.5M6.5 14.3H17.5M14.9 6 9.1 18" {HOLLOW}/>',
    (UNDECIDED, "paper"): '<path d="M5.5 5.5h13v13h-13Z"/>',
    (UNDECIDED, "ours"): f'<path d="M8 8h8v8H8Z" {HOLLOW}/>',
    (NOT_RUN, "paper"): f'<circle cx="12" cy="12" r="7" stroke-dasharray="2 2" {HOLLOW}/>',
    (NOT_RUN, "ours"): f'<circle cx="12" cy="12" r="4.2" stroke-dasharray="2 2" {HOLLOW}/>',
}
"""The mark of each verdict and tier in a box of 24 by 24: large and filled is the paper's own, small and hollow ours."""


@dataclass(frozen=True)
class Line:
    """The marks of one page."""

    number: str
    title: str
    address: str
    rows: list[Row]

    @property
    def count(self) -> int:
        return len(self.rows)


def lines(rows: list[Row], book: Mapping[str, Page]) -> dict[str, list[Line]]:
    """The claims of every page, the paper's own first, by paper; pages in the order of the book."""
    order = [*book, *dict.fromkeys(row.notebook for row in rows if row.notebook not in book)]
    found: dict[str, list[Line]] = {}
    for paper in registry.WINGS:
        for name in order:
            own = [row for row in rows if row.claim.paper == paper and row.notebook == name]
            if own:
                found.setdefault(paper, []).append(_line(name, sorted(own, key=lambda row: row.claim.ours), book))
    return found


def _line(name: str, rows: list[Row], book: Mapping[str, Page]) -> Line:
    heading, number = (book[name].heading, book[name].number) if name in book else (name, "")
    title = heading.removeprefix(number).lstrip(": ") if number != heading else ""
    return Line(number or heading, title[:1].upper() + title[1:], f"notebooks/{name}.html", rows)


def drawing(rows: list[Row], book: Mapping[str, Page]) -> str:
    """The landscape as HTML with inline SVG: one legend, and for every page a list of links."""
    counts = counted(rows)
    present = [verdict for verdict in VERDICTS if any(row.shown.verdict == verdict for row in rows)]
    return LANDSCAPE.render(
        papers=[(registry.WINGS[key], found) for key, found in lines(rows, book).items()],
        shapes=[(verdict, tier, shape) for (verdict, tier), shape in SHAPES.items() if verdict in present],
        legend=[(verdict, counts["paper", verdict], counts["ours", verdict]) for verdict in present],
        name=name,
    )


def name(row: Row) -> str:
    """What a mark is called."""
    return f"{row.claim.id}, {row.shown.verdict}, {TIERS[row.tier]}: {plain(row.claim.sentence)}"


LANDSCAPE = template(
    """
{% macro mark(verdict, tier, title="") %}
<svg width="24" height="24"{{ ' role="img"' | safe if title else ' aria-hidden="true"' | safe }}>\
{% if title %}<title>{{ title }}</title>{% endif %}<use href="#m-{{ verdict | replace(" ", "-") }}-{{ tier }}"/></svg>
{%- endmacro %}
<div class="icl-landscape">
<svg class="icl-shapes" width="0" height="0" aria-hidden="true">
{% for verdict, tier, shape in shapes %}
<symbol id="m-{{ verdict | replace(" ", "-") }}-{{ tier }}" viewBox="0 0 24 24">{{ shape | safe }}</symbol>
{% endfor %}
</svg>
<p class="icl-legend">
{% for verdict, papers_own, ours in legend %}
<a class="{{ verdict | replace(" ", "-") }}" href="../book/ledger.html?verdict={{ verdict | urlencode }}">\
{{ verdict }} {{ mark(verdict, "paper") }} {{ papers_own }} {{ mark(verdict, "ours") }} {{ ours }}</a>
{% endfor %}
</p>
<p class="icl-legend-tiers">Large and filled: the paper’s own sentence, counted once where several claims judge \
it. Small and hollow: found here. A mark opens its claim; \
arrow keys move between marks.</p>
{% for wing, found in papers %}
<section aria-label="{{ wing.authors }}">
<h3>{{ wing.authors }} <span class="icl-count">{{ found | sum(attribute="count") }}</span></h3>
<ul>
{% for line in found %}
<li><a class="icl-page" href="../{{ line.address }}"><b>{{ line.number }}</b> {{ line.title }}</a>
<span class="icl-marks" role="group" aria-label="{{ line.number }}, {{ line.count }} claim{{ "s" if line.count > 1 }}">
{% for row in line.rows %}
<a class="{{ row.shown.verdict | replace(" ", "-") }}" href="../{{ row.card }}">\
{{ mark(row.shown.verdict, row.tier, name(row)) }}</a>
{% endfor %}
</span></li>
{% endfor %}
</ul>
</section>
{% endfor %}
<p class="icl-told" aria-hidden="true" hidden></p>
</div>
<script src="../_static/landscape.js" defer></script>
"""
)
