"""What was found about each paper, in one block: scope, counts by tier, what was easy and what was hard."""

from book.builder.landscape import TIERS, VERDICTS
from book.builder.verdicts import Row, counted
from icl_lib.companion import Paper
from icl_lib.companion.html import template


def block(paper: Paper, rows: list[Row]) -> str:
    """The summary of a paper as HTML; every count links to the ledger's rows behind it."""
    counts = counted(rows)
    shown = [verdict for verdict in VERDICTS if any(counts[tier, verdict] for tier in TIERS)]
    return BLOCK.render(
        paper=paper,
        tiers={"paper": "Its own sentences", "ours": "Found here"},
        counts=counts,
        shown=shown,
    )


BLOCK = template(
    """
<div class="icl-summary">
<p>{{ paper.scope }}</p>
<dl>
{% for tier, name in tiers.items() %}
<dt>{{ name }}</dt>
<dd>{% for verdict in shown if counts[(tier, verdict)] %}\
<a class="{{ verdict | replace(" ", "-") }}" \
href="ledger.html?paper={{ paper.key }}&amp;tier={{ tier }}&amp;verdict={{ verdict | urlencode }}">\
{{ counts[(tier, verdict)] }} {{ verdict }}</a>{{ ", " if not loop.last }}{% else %}none{% endfor %}</dd>
{% endfor %}
<dt>Easy</dt><dd>{{ paper.easy }}</dd>
<dt>Hard</dt><dd>{{ paper.hard }}</dd>
</dl>
</div>
"""
)
