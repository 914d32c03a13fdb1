"""Judged claims on a page: one card each."""

from collections.abc import Iterator
from dataclasses import replace

from icl_lib.companion.claim import Judgement
from icl_lib.companion.html import template
from icl_lib.companion.marks import marked, marked_html
from icl_lib.companion.quick import near_claims, stored_quick
from icl_lib.companion.verdict import FAILS, HOLDS


class Cards:
    """Judgements as cards; a claim near its margin in a committed quick result with its verdict in full."""

    def __init__(self, *judgements: Judgement):
        self.judgements = judgements

    def __repr__(self) -> str:
        rows = [
            f"{j.claim.id}: {j.verdict}{note} (value {marked(j.shown_value)}, margin {j.margin:g}; control {j.control_verdict})"
            f"\n    {j.claim.sentence}"
            for j, note in self._shown()
        ]
        return "\n".join(rows)

    def _shown(self) -> Iterator[tuple[Judgement, str]]:
        """Yield the judgements with a note, those near a margin with the verdicts in full as they are recorded."""
        stored = stored_quick()
        for judgement in self.judgements:
            in_full = judgement.claim.id in near_claims(stored, judgement.origin)
            positive = HOLDS if judgement.claim.positive else ""
            full = replace(judgement, verdict=judgement.claim.recorded, control_verdict=FAILS, positive_verdict=positive)
            yield (full, " (judged in full)") if in_full else (judgement, "")

    def _repr_html_(self) -> str:
        slug = self.judgements[0].claim.experiment if self.judgements else ""
        return CARDS.render(slug=slug, shown=self._shown(), fails=FAILS, marked=marked_html)


CARDS = template(
    """
<div class="icl-cards" data-slug="{{ slug }}">
{% for judged, note in shown %}
{% set claim = judged.claim %}
<article class="icl-card" id="claim-{{ claim.id }}" data-claim="{{ claim.id }}" data-verdict="{{ judged.verdict }}" \
data-kind="{{ claim.kind }}">
<p class="icl-says"><b>{{ claim.id }}</b> {{ claim.sentence }}</p>
<p class="icl-found">{{ judged.verdict | verdict }}{{ note }}
<span class="icl-number">number {{ marked(judged.shown_value) }}, margin {{ "%g" % judged.margin }}</span>
{% if judged.resolution == judged.resolution %}<span class="icl-number">resolution \
{{ marked("%.1g%%" % (100 * judged.resolution)) }}</span>{% endif %}

<span class="icl-control">control \
{{ "is rejected" if judged.control_verdict == fails else "needs the data of the full profile to be rejected" }}</span></p>
<details><summary>how it is judged</summary><dl>
<dt>margin</dt><dd>{{ claim.reason }}</dd>
{% if "Moved" in claim.told %}<dt>moved after a look</dt><dd>{{ claim.told["Moved"] }}</dd>
{% endif %}
{% if "Neglects" in claim.told %}<dt>neglects</dt><dd>{{ claim.told["Neglects"] }}</dd>
{% endif %}
{% if "Missing" in claim.told %}<dt>missing here</dt><dd>{{ claim.told["Missing"] }}</dd>
{% endif %}
<dt>control</dt><dd>{{ claim.controls | join("; ") }}; it has to fail, and {{ judged.control_verdict | verdict }}</dd>
{% if claim.positive %}<dt>input on which the check holds</dt><dd>{{ claim.told["Positive"] }}: \
{{ judged.positive_verdict | verdict }}</dd>
{% endif %}
<dt>kind, wording</dt><dd>{{ claim.kind }}, <a href="../book/how_to_read.html">{{ claim.confidence }}</a>, \
{{ "a finding of ours" if claim.ours else "the paper's own sentence" }}</dd>
</dl></details>
</article>
{% endfor %}
</div>"""
)
"""One card a claim: sentence, verdict, number and margin; folded what they rest on."""
