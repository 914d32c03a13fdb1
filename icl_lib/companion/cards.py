"""Judged claims on a page: one card each."""

from collections.abc import Iterator
from dataclasses import replace

from icl_lib.companion.claim import FAILS, Judgement
from icl_lib.companion.html import template
from icl_lib.companion.marks import marked, marked_html
from icl_lib.companion.quick import near_claims, stored_quick


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
        """Yield the judgements with a note, those near a margin with the verdict in full; there every control fails."""
        stored = stored_quick()
        for judgement in self.judgements:
            in_full = judgement.claim.id in near_claims(stored, judgement.origin)
            full = replace(judgement, verdict=judgement.claim.recorded, control_verdict=FAILS)
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
<span class="icl-number">number {{ marked(judged.shown_value) }}, margin {{ "%g" % claim.margin }}</span>
<span class="icl-control">control \
{{ "is rejected" if judged.control_verdict == fails else "comes out as " ~ judged.control_verdict }}</span></p>
<details><summary>how it is judged</summary><dl>
<dt>margin</dt><dd>{{ claim.reason }}</dd>
<dt>control</dt><dd>{{ claim.control_sentence }}; it has to fail, and {{ judged.control_verdict | verdict }}</dd>
<dt>kind, wording</dt><dd>{{ claim.kind }}, <a href="../book/how_to_read.html">{{ claim.confidence }}</a></dd>
</dl></details>
</article>
{% endfor %}
</div>"""
)
"""One card a claim: sentence, verdict, number and margin; folded what they rest on."""
