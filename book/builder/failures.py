"""The panel of all claims that do not hold, by whose the failure is."""

from collections.abc import Callable

from book.builder.verdicts import Row, Sentence, sentences
from icl_lib.companion import FAILS, NOT_REPRODUCED, UNDECIDED
from icl_lib.companion.html import template
from icl_lib.companion.told import WHOSE

PAPER, RETELLING, THRESHOLD, SCALE, OURS = WHOSE
GROUPS = {
    PAPER: ("An error in the paper", "A counterexample inside the hypotheses, or a display that contradicts the rest."),
    RETELLING: (
        "A retelling of the paper",
        "The wording is known from slides, notes or an article. The paper itself may say it otherwise.",
    ),
    THRESHOLD: ("A threshold of ours", "The paper has a word where a verdict needs a number. The number is ours."),
    SCALE: ("Scale or setting", "What was measured elsewhere is not reproduced here; each entry says what is missing."),
    OURS: ("A sentence of this book", "Ours, and false. It is listed to show where a true one ends."),
}
"""What the reader is told about each of ``WHOSE``."""
HEADINGS = {FAILS: "Fails", NOT_REPRODUCED: "Not reproduced here", UNDECIDED: "Undecided"}
OPEN = ("", "The data neither confirm nor refute it at its own quantifier and margin.")


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


def panel(rows: list[Row], say: Callable[[str], str] = str) -> str:
    """The sentences that do not hold as HTML, by verdict, what fails by whose it is; one of several parts stands once.

    `say` puts every sentence into the language of the panel.
    """
    found = sentences(rows)
    parts = [(verdict, title, [each for each in found if each.verdict == verdict]) for verdict, title in HEADINGS.items()]
    return PANEL.render(parts=[(*part, _groups(part[2])) for part in parts if part[2]], because=because, say=say)


def _groups(found: list[Sentence]) -> list[tuple[str, str, list[Sentence]]]:
    """Sentences by whose their failure is, each group with its title and what the reader is told."""
    whose = {id(each): (because(each.deciding[0]) or ("", ""))[0] for each in found}
    told = {**GROUPS, "": OPEN}
    groups = [(*words, [each for each in found if whose[id(each)] == key]) for key, words in told.items()]
    return [group for group in groups if group[2]]


PANEL = template(
    """
<div class="icl-failures">
{% for verdict, title, all, groups in parts %}
<section>
<h3><span class="icl-sign {{ verdict | replace(" ", "-") }}" aria-hidden="true"></span> {{ say(title) }} \
<span class="icl-count">{{ all | length }}</span></h3>
{% for words, told, found in groups %}
<p>{% if words and groups | length > 1 %}<b>{{ say(words ~ ".") }}</b> {% endif %}{{ say(told) }}</p>
<ul>
{% for each in found %}
<li>{% for row in each.deciding %}<a href="../{{ row.card }}">{{ row.claim.id }}</a> {{ say(row.claim.sentence) | math }}\
{% set reason = because(row) %}\
{% if reason and reason[1] %} <span class="icl-why">{{ say(reason[1]) | math }}</span>{% elif not loop.last %}<br>{% endif %}\
{{ " " if not loop.last }}{% endfor %}</li>
{% endfor %}
</ul>
{% endfor %}
</section>
{% else %}
<p>{{ say("Everything holds.") }}</p>
{% endfor %}
</div>
"""
)
