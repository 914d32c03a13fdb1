"""Judged claims on a page: one card each."""

import html
from collections.abc import Iterator
from dataclasses import replace

from icl_lib.companion.claim import FAILS, Judgement, near_claims, stored_quick
from icl_lib.companion.marks import marked, marked_html


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
        cards = "".join(_card(judgement, note) for judgement, note in self._shown())
        return f'<div class="icl-cards" data-slug="{slug}">{cards}</div>'


def badge(verdict: str) -> str:
    """Return a verdict as a word in a coloured frame."""
    return f'<span class="verdict verdict-{verdict.replace(" ", "-")}">{verdict}</span>'


def _card(judgement: Judgement, note: str) -> str:
    """Return one card: sentence, verdict, number and margin; folded what they rest on."""
    claim = judgement.claim
    sentence, reason, broken = (html.escape(text) for text in (claim.sentence, claim.reason, claim.control_sentence))
    number = marked_html(html.escape(judgement.shown_value))
    rejected = "is rejected" if judgement.control_verdict == FAILS else f"comes out as {judgement.control_verdict}"
    return (
        f'<article class="icl-card" id="claim-{claim.id}" data-claim="{claim.id}" data-verdict="{judgement.verdict}" '
        f'data-kind="{claim.kind}"><p class="icl-says"><b>{claim.id}</b> {sentence}</p>'
        f'<p class="icl-found">{badge(judgement.verdict)}{note} <span class="icl-number">number {number}, '
        f'margin {claim.margin:g}</span> <span class="icl-control">control {rejected}</span></p>'
        f"<details><summary>how it is judged</summary><dl><dt>margin</dt><dd>{reason}</dd>"
        f"<dt>control</dt><dd>{broken}; it has to fail, and {badge(judgement.control_verdict)}</dd>"
        f'<dt>kind, wording</dt><dd>{claim.kind}, <a href="../book/how_to_read.html">{claim.confidence}</a></dd></dl></details>'
        "</article>"
    )
