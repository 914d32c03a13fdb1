"""How far every claim is from its edge: resolutions and slacks, drawn, and a reason for each slack above 2."""

import math
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from book.builder.landscape import SHAPES
from book.builder.pages import raw
from book.builder.verdicts import Row
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, UNDECIDED
from icl_lib.companion.claim import ROUNDING_SLACK
from icl_lib.companion.html import template
from icl_lib.companion.slack import LOOSE, MOST, in_words

COLOURS = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided", NOT_REPRODUCED: "undecided"}
COLUMNS, STEP, SCALE = 70, 8.0, 0.46
"""Of a drawing of marks: its columns, their distance, which is also that of marks above each other, and the size of a mark."""


def section(rows: Sequence[Row]) -> str:
    """Return the part of the calibration page about claims on stored data, or nothing where none was judged."""
    sharp = [(row, row.full.resolution) for row in rows if row.full.resolution]
    loose = [(row, row.full.slack) for row in rows if row.full.slack]
    if not sharp or not loose:
        return ""
    above = sorted(((row, slack) for row, slack in loose if slack > LOOSE), key=_by_slack)
    held = [(row, slack) for row, slack in above if row.full.verdict == HOLDS]
    reasons = [(row, slack) for row, slack in held if row.claim.slack_reason != ROUNDING_SLACK]
    return "\n\n" + SECTION.render(
        sharp=len(sharp),
        loose=len(loose),
        within=sum(slack <= LOOSE for _, slack in loose),
        more=len(above),
        held=len(held),
        rounding=len(held) - len(reasons),
        reasons=reasons,
        resolutions=_dots(sharp, 1e-5, 1.0, ("0.001%", "0.01%", "0.1%", "1%", "10%", "100%"), "Resolution of a formula"),
        slacks=_dots(loose, 1.0, MOST, ("1", "10", "100", "1,000"), "Slack of a claim", LOOSE),
        factor=in_words,
    )


def _by_slack(found: tuple[Row, float]) -> tuple[float, str]:
    return -found[1], found[0].claim.id


def _dots(
    found: list[tuple[Row, float]], low: float, high: float, ticks: Sequence[str], name: str, edge: float = 0.0
) -> Markup:
    """Return a drawing with a dot for each claim, stacked over a logarithmic axis, each a link to its card."""
    span, taken, dots = math.log(high / low), Counter(), []
    for row, value in sorted(found, key=lambda each: (each[1], each[0].claim.id)):
        column = round((COLUMNS - 1) * math.log(min(max(value, low), high) / low) / span)
        dots.append((row, value, STEP * (column + 1), STEP * (taken[column] + 1)))
        taken[column] += 1
    height = STEP * (max(taken.values()) + 2)
    places = [STEP + STEP * (COLUMNS - 1) * k / (len(ticks) - 1) for k in range(len(ticks))]
    drawn = DOTS.render(
        dots=[(row, value, x, height - y) for row, value, x, y in dots],
        width=STEP * (COLUMNS + 1),
        height=height,
        ticks=list(zip(ticks, places, strict=True)),
        edge=STEP + STEP * (COLUMNS - 1) * math.log(edge / low) / span if edge else None,
        name=name,
        scale=SCALE,
        shapes=SHAPES,
        first=not edge,
        colours=COLOURS,
    )
    return Markup(raw(drawn))


DOTS = template(
    """
<svg class="icl-dots" viewBox="0 0 {{ width }} {{ height + 24 }}" width="{{ width }}" role="group" aria-label="{{ name }}">
{% if first %}
<defs>{% for verdict, colour in colours.items() %}<g id="icl-dot-{{ verdict | replace(" ", "-") }}" \
transform="scale({{ scale }}) translate(-12 -12)" fill="currentColor" color="var(--icl-{{ colour }})">\
{{ shapes[verdict, "paper"] | safe }}</g>{% endfor %}</defs>
{% endif %}
<path d="M0 {{ height }}H{{ width }}" stroke="currentColor"/>
{% if edge %}
<path d="M{{ "%.1f" % edge }} 0V{{ height }}" stroke="currentColor" stroke-dasharray="4 3"/>
{% endif %}
{% for words, x in ticks %}
<path d="M{{ "%.1f" % x }} {{ height }}v4" stroke="currentColor"/>
<text x="{{ "%.1f" % x }}" y="{{ height + 17 }}" fill="currentColor" font-size="11" \
text-anchor="{{ "start" if loop.first else "end" if loop.last else "middle" }}">{{ words }}</text>
{% endfor %}
{% for row, value, x, y in dots %}
<a href="../{{ row.card }}"><title>{{ row.claim.id }}, {{ row.full.verdict }}: {{ "%.2g" % value }}</title>\
<use href="#icl-dot-{{ row.full.verdict | replace(" ", "-") }}" x="{{ "%.1f" % x }}" y="{{ "%.1f" % y }}"/></a>
{% endfor %}
</svg>"""
)

SECTION = template(
    """
## How sharp the claims are

A formula that agrees has a **resolution**: the least share $r$ by which it could be wrong everywhere and be noticed.
{{ sharp }} claims have one. Each mark is a claim and leads to its card.

<figure class="icl-figure"><div class="icl-pictures">{{ resolutions }}</div>
<figcaption>Resolution <i>r</i>, on the stored measurements.</figcaption></figure>

Every other claim has a **slack**: the factor $s$ by which what is measured could be worse before the verdict turns. Of
{{ loose }} claims {{ within }} have a slack of at most 2.

<figure class="icl-figure"><div class="icl-pictures">{{ slacks }}</div>
<figcaption>Slack <i>s</i>, on the stored measurements; beyond 1,000 nothing is looked for. Dashed: 2. Circle: holds; cross:
fails; square: undecided; ≠: not reproduced here.</figcaption></figure>

Of the {{ more }} with more, {{ held }} hold. The margins of {{ rounding }} of these leave room for rounding and the
tolerance of solvers alone. The others say why:

<div class="icl-claims"><table><thead><tr>
{% for title in ("claim", "kind", "slack", "why") %}
<th scope="col">{{ title }}</th>
{% endfor %}
</tr></thead><tbody>
{% for row, slack in reasons %}
<tr><td data-title="claim"><a href="../{{ row.card }}">{{ row.claim.id }}</a></td>\
<td data-title="kind">{{ row.claim.kind }}</td>\
<td data-title="slack">{{ factor(slack) }}</td><td data-title="why">{{ row.claim.slack_reason | math }}</td></tr>
{% endfor %}
</tbody></table></div>
"""
)
