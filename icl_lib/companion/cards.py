"""Judged claims on a page: one card each, and all that is said of a claim on it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from icl_lib.companion import book
from icl_lib.companion.claim import Judgement
from icl_lib.companion.html import template
from icl_lib.companion.marks import CHANGED, IN_THE_BOOK, marked, marked_html
from icl_lib.companion.mathematics import plain
from icl_lib.companion.quick import FILE, near_claims, stored_quick
from icl_lib.companion.slack import in_percent, in_words
from icl_lib.companion.told import CODES
from icl_lib.companion.verdict import FAILS, HOLDS

IN_FULL = " (judged in full)"
TOLD = (
    ("Fails because", "does not hold because of"),
    ("Number", "the number"),
    ("Moved", "moved after a look"),
    ("Neglects", "neglects"),
    ("Missing", "missing here"),
)
"""The parts of a claim's docstring that stand on its card, with their titles there."""


class Cards:
    """Judgements as cards; a claim near its margin in a committed quick result with its verdict in full.

    >>> import xarray as xr
    >>> from icl_lib.companion import Cards, claims_of
    >>> @claims_of("toy-coin")("D", "formula", margin=0.1, of="heads", near=("1/3 for 1/2",))
    ... def C1(data):
    ...     '''The share of heads tends to $1/2$.
    ...
    ...     Margin: Two standard errors of 400 tosses, as a share of 1/2.
    ...     '''
    >>> numbers = {"heads": 0.48, "heads_se": 0.005, "heads_theory": 0.5, "heads_near": ("mistake", [1 / 3])}
    >>> Cards(C1.judge(xr.Dataset(numbers, {"mistake": ["1/3 for 1/2"]})))
    C1: holds (value ⟨0.04 ± 0.02⟩, margin 0.1; control fails)
        The share of heads tends to 1/2.
    """

    def __init__(self, *judgements: Judgement):
        if wrong := [each for each in judgements if not isinstance(each, Judgement)]:
            raise ValueError(f"cards are of judgements, one argument each, such as C1.judge(data): {wrong[0]!r:.40} is none")
        self.judgements = judgements

    def __repr__(self) -> str:
        rows = [
            f"{j.claim.id}: {j.verdict}{note} (value {marked(j.shown_value)}, margin {j.margin:g}; control {j.control_verdict})"
            f"\n    {plain(j.claim.sentence)}{_beside_the_book(j)}"
            for j, note in in_full_if_near(self.judgements)
        ]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        slug = self.judgements[0].claim.experiment if self.judgements else ""
        changed = any(CHANGED in judged.origin for judged in self.judgements)
        known = {"fails": FAILS, "codes": CODES, "told": TOLD, "marked": marked_html, "factor": in_words, "percent": in_percent}
        known["told_at"] = book.of_module(self.judgements[0].claim.module).codes if self.judgements else ""
        return CARDS.render(known, slug=slug, changed=changed, shown=self._shown(), beside=_beside_the_book, coarse=_coarse)

    def _shown(self) -> Iterator[tuple[Judgement, str, str]]:
        for shown, note in in_full_if_near(self.judgements):
            words = f"number {shown.shown_value}, allowed {shown.shown_allowed}"
            missed = {} if _coarse(shown) else {"missed": "not rejected"}
            yield shown, note, shown.strip.svg(shown.verdict, words, **missed) if shown.strip else ""


def _coarse(judged: Judgement) -> bool:
    """Say whether these are quick data of the book, whose full data reject every near miss."""
    return judged.origin.get("profile") == "quick" and CHANGED not in judged.origin


def _beside_the_book(judged: Judgement) -> str:
    """Return for which settings the margin was set, of a claim judged for others; each of two sentences on its line."""
    if CHANGED not in judged.origin:
        return ""
    margin = f"The margin was set for {judged.origin[IN_THE_BOOK]}; this is no record of the book."
    return f"\n    changed from the book: {judged.origin[CHANGED]}\n    {margin}"


def in_full_if_near(judgements: Iterable[Judgement]) -> Iterator[tuple[Judgement, str]]:
    """Yield what is shown of judgements: near a margin in quick with the verdicts in full, as recorded, and a note."""
    judgements = list(judgements)
    home = book.declared_in(judgements[0].claim.module) if judgements else None  # a script has nothing committed
    stored = stored_quick(home.store / FILE) if home else {}
    for judgement in judgements:
        in_full = judgement.claim.id in near_claims(stored, judgement.origin)
        positive = HOLDS if judgement.claim.positive else ""
        full = replace(judgement, verdict=judgement.claim.recorded, control_verdict=FAILS, positive_verdict=positive)
        yield (full, IN_FULL) if in_full else (judgement, "")


CARDS = template(
    """
<div class="icl-cards"{% if not changed %} data-slug="{{ slug }}"{% endif %}>
{% for judged, note, strip in shown %}
{% set claim = judged.claim %}
<article class="icl-card"{% if not changed %} id="claim-{{ claim.id }}" data-claim="{{ claim.id }}"{% endif %} \
data-verdict="{{ judged.verdict }}" data-kind="{{ claim.kind }}">
<p class="icl-head"><b>{{ claim.id }}</b> <span>{{ "found here" if claim.ours else "the paper’s" }}</span> \
{{ judged.verdict | verdict }}{% if note %}<small>{{ note }}</small>{% endif %}</p>
<p class="icl-says">{{ claim.sentence | math }}</p>
{% for line in beside(judged).splitlines() if line %}
<p class="icl-changed"><em>{{ line.strip() }}</em></p>
{% endfor %}
{{ marked(strip | safe) }}
<p class="icl-found"><span>{{ marked(judged.shown_value | replace("-", "−")) }}</span> \
<span>allowed {{ marked(judged.shown_allowed) }}</span>{% if judged.resolution == judged.resolution %} \
<span>resolution {{ marked(percent(judged.resolution)) }}</span>{% endif %} \
<span>{{ "◇ near miss rejected" if judged.control_verdict == fails else "◇ rejected on the full data only" \
if coarse(judged) else "◇ near miss not rejected" }}</span></p>
<details><summary>how it is judged</summary><dl>
<dt>kind</dt><dd>{{ claim.kind }}</dd>
<dt>wording</dt><dd>{{ codes[claim.confidence] }} {% if told_at %}<a href="{{ told_at }}">[{{ claim.confidence }}]</a>\
{% else %}[{{ claim.confidence }}]{% endif %}</dd>
<dt>margin</dt><dd>{{ "%g" % judged.margin }}: {{ claim.reason | math }}</dd>
{% if judged.origin.get("profile") == "full" and judged.slack == judged.slack %}
<dt>slack</dt><dd>{{ marked(factor(judged.slack)) }} is the factor by which what is measured could be worse before the verdict \
turns. {{ claim.slack_reason | math }}</dd>
{% endif %}
{% for part, title in told if part in claim.told %}
<dt>{{ title }}</dt><dd>{{ claim.told[part] | math }}</dd>
{% endfor %}
<dt>control</dt><dd>{% for each in claim.controls %}{{ each | math }}{{ "." if loop.last else "; " }}{% endfor %} \
It has to be rejected{{ ", and is" if judged.control_verdict == fails else "; these data are too coarse for it" \
if coarse(judged) else "; it is not" }}.</dd>
{% if claim.positive %}<dt>input on which the check holds</dt><dd>{{ claim.told["Positive"] | math }}: \
{{ judged.positive_verdict | verdict }}</dd>
{% endif %}
</dl></details>
</article>
{% endfor %}
</div>"""
)
"""One card a claim: sentence, verdict, and its number beside what is allowed; folded what they rest on.

With a reader's settings it has no address: it is no record of the book.
"""
