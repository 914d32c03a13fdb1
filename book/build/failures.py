"""The panel of all claims that do not hold, by whose the failure is."""

from collections import Counter

from book.build.verdicts import Row
from icl_lib.companion.claim import WHOSE
from icl_lib.companion.html import template
from icl_lib.companion.verdict import FAILS, NOT_REPRODUCED

PAPER, RETELLING, THRESHOLD, SCALE, OURS = WHOSE
GROUPS = {
    PAPER: ("An error in the paper", "A counterexample inside the hypotheses, or a display that contradicts the rest."),
    RETELLING: (
        "A retelling of the paper",
        "The wording is known from slides, notes or an article. The paper itself may say it otherwise.",
    ),
    THRESHOLD: ("A threshold of ours", "The paper has a word where a verdict needs a number. The number is ours."),
    SCALE: ("Scale or setting", "What was measured elsewhere is not reproduced here. Why is named: what is missing."),
    OURS: ("A sentence of this book", "Ours, and false. It stands to show where a true one ends."),
}
"""What the reader is told about each of ``WHOSE``."""
WORDS = {FAILS: "fail", NOT_REPRODUCED: "are not reproduced here"}


def because(row: Row) -> tuple[str, str] | None:
    """Whose it is that a claim does not hold, one of ``WHOSE``, and why; None of a claim that holds or is open.

    The claim's docstring says so, or names what is missing; else its tier and the source of its wording decide.
    """
    claim = row.claim
    if row.shown.verdict not in (FAILS, NOT_REPRODUCED):
        return None
    if told := claim.told.get("Fails because"):
        whose, _, why = told.partition(": ")
        return whose, why[:1].upper() + why[1:]
    if missing := claim.told.get("Missing"):
        return SCALE, f"Missing: {missing.rstrip('.')}."
    if claim.ours:
        return OURS, ""
    return (PAPER if claim.confidence in ("V", "V2") else RETELLING), ""


def panel(rows: list[Row]) -> str:
    """The claims that do not hold as HTML, grouped."""
    found = [(row, *reason) for row in rows if (reason := because(row))]
    groups = [(*told, [each for each in found if each[1] == whose]) for whose, told in GROUPS.items()]
    counts = Counter(row.shown.verdict for row, *_ in found)
    return PANEL.render(groups=[group for group in groups if group[2]], counts=counts, total=len(rows), words=WORDS)


PANEL = template(
    """
{% macro sign(verdict) %}
<span class="icl-sign {{ verdict | replace(" ", "-") }}" role="img" aria-label="{{ verdict }}"></span>
{%- endmacro %}
<div class="icl-failures">
<p>{% if counts %}Of {{ total }} claims {% for verdict, count in counts.items() %}\
{{ count }} {{ words[verdict] }} ({{ sign(verdict) }}){{ " and " if not loop.last }}{% endfor %}.\
{% else %}All {{ total }} claims hold or are open.{% endif %}</p>
{% for title, told, found in groups %}
<section>
<h3>{{ title }} <span class="icl-count">{{ found | length }}</span></h3>
<p>{{ told }}</p>
<ul>
{% for row, whose, why in found %}
<li>{{ sign(row.shown.verdict) }} <a href="../{{ row.card }}">{{ row.claim.id }}</a> {{ row.claim.sentence | math }}\
{% if why %} <span class="icl-why">{{ why | math }}</span>{% endif %}</li>
{% endfor %}
</ul>
</section>
{% endfor %}
</div>
"""
)
