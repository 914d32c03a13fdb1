"""The ledger: every claim in one table, with filters, and what refers to each."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import relpath

from book.builder.landscape import TIERS, VERDICTS
from book.builder.layout import Layout
from book.builder.networks import BUCKETS, bucket, networks
from book.builder.numbers import meaning
from book.builder.pages import GENERATED, SOURCES, raw
from book.builder.references import Page, Uses, pages, uses
from book.builder.verdicts import Row, counted
from icl_lib.companion import PROFILES, Paper
from icl_lib.companion.html import template
from icl_lib.companion.slack import in_percent, in_words
from icl_lib.companion.told import CODES
from papers import registry

OWN = {"paper": "Its own sentences", "ours": "Found here"}


@dataclass(frozen=True)
class Ledger:
    """The rows, the pages that may name a claim, and the folder of stored results."""

    rows: list[Row]
    book: Mapping[str, Page]
    stored: Path

    @classmethod
    def of(cls, rows: list[Row], layout: Layout) -> "Ledger":
        return cls(rows, pages(layout), layout.stored_results)

    @cached_property
    def uses(self) -> dict[str, Uses]:
        """What names each claim, by id."""
        claims = {row.claim.id: row.claim for row in self.rows}
        return uses(claims, {row.claim.id: row.notebook for row in self.rows}, self.book)

    def number(self, row: Row) -> str:
        """What a row's number is."""
        return meaning(row.claim)

    def networks(self, row: Row) -> int | None:
        """How many networks a row rests on."""
        return networks(row.claim.experiment, self.stored)

    def bucket(self, row: Row) -> str:
        """The choice in the filter under which a row's networks stand."""
        return bucket(self.networks(row))

    def named(self, claim_id: str) -> list[tuple[str, str]]:
        """The links from a claim's row to what names it, each with its words."""
        found = self.uses[claim_id]
        return [
            *((f"#claim-{each.lower()}", each) for each in found.claims),
            *((relpath(page.address, "book"), page.label) for page in found.pages),
        ]

    def page(self) -> str:
        """The ledger as a MyST page: counts, filters, a summary and a table for each paper."""
        parts = [(key, wing, own) for key, wing in registry.WINGS.items() if (own := self._of_paper(key))]
        return GENERATED + LEDGER.render(
            found={profile: summary(self.rows, profile) for profile in PROFILES},
            rejected=sum(row.shown.control == "fails" for row in self.rows),
            total=len(self.rows),
            codes={
                SOURCES[code]: words for code, words in CODES.items() if any(row.claim.confidence == code for row in self.rows)
            },
            form=raw(FORM.render(choices=self._choices(), verdicts=self._verdicts(), tiers=TIERS, total=len(self.rows))),
            parts=[(wing, raw(summarized(wing, own)), self._table(key, own)) for key, wing, own in parts],
        )

    def _of_paper(self, key: str) -> list[Row]:
        return [row for row in self.rows if row.claim.paper == key]

    def _table(self, key: str, rows: list[Row]) -> str:
        tiers = [(tier, [row for row in rows if row.tier == tier]) for tier in TIERS]
        own = {"named": self.named, "number": self.number, "networks": self.networks, "bucket": self.bucket}
        return raw(TABLE.render(own, key=key, tiers=tiers, sources=SOURCES, factor=in_words, percent=in_percent, names=OWN))

    def _verdicts(self) -> list[str]:
        return [verdict for verdict in VERDICTS if any(row.shown.verdict == verdict for row in self.rows)]

    def _choices(self) -> dict[str, dict[str, str]]:
        """What can be chosen in each select, as words by value."""
        claims = [row.claim for row in self.rows]
        papers = {key: wing.authors for key, wing in registry.WINGS.items() if self._of_paper(key)}
        places = sorted({claim.paper + " " + claim.section: claim for claim in claims}.items(), key=self._place)
        sections = {value: f"{re.split('[, ]', papers[claim.paper])[0]} {claim.section}" for value, claim in places}
        kinds = {kind: kind for kind in sorted({claim.kind for claim in claims})}
        sources = {code: words for code, words in SOURCES.items() if any(claim.confidence == code for claim in claims)}
        behind = {each: each for each in BUCKETS if any(self.bucket(row) == each for row in self.rows)}
        return {"paper": papers, "section": sections, "kind": kinds, "source": sources, "networks": behind}

    def _place(self, named: tuple[str, object]) -> tuple[int, list]:
        _, claim = named
        digits = [int(part) for part in claim.section.split(".") if part.isdigit()]
        return list(registry.WINGS).index(claim.paper), [not digits, digits, claim.section]


def summary(rows: list[Row], profile: str) -> str:
    """How many claims came out which way in one profile."""
    counts = Counter(getattr(row, profile).verdict for row in rows)
    found = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return ", ".join(found) or "no claims yet"


def summarized(paper: Paper, rows: list[Row]) -> str:
    """The summary of a paper as HTML; every count links to the ledger's rows behind it."""
    counts = counted(rows)
    shown = [verdict for verdict in VERDICTS if any(counts[tier, verdict] for tier in TIERS)]
    return BLOCK.render(paper=paper, tiers=OWN, counts=counts, shown=shown)


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

LEDGER = template(
    """
# Ledger

Every claim of the book, judged on the data behind its figure. A paper's own sentences come first. This page is written by
the build; the same rows are in <a href="../ledger.json"><code>ledger.json</code></a> and
<a href="../ledger.csv"><code>ledger.csv</code></a>, whose fields
<a href="../ledger.schema.json"><code>ledger.schema.json</code></a> explains. What the words mean is told in
[](how_to_read.md); how long it took to compute, in [the table of times](#how-long-it-takes).

- Quick profile: {{ found.quick }}.
- Full profile: {{ found.full }}.
- {{ rejected }} of {{ total }} controls are rejected. A control is the same check on an input that is broken on purpose.
- A number $v$ of a formula is allowed up to $q$ standard errors; of any other claim up to its margin.
- After ± stand two standard errors.

The verdict shown is that of the full profile; where the quick one has another, both stand there.

```{dropdown} Where a wording comes from
{% for words, meaning in codes.items() %}
{{ words | safe }}
: {{ meaning | safe }}

{% endfor %}
```

{{ form | safe }}

{% for wing, block, table in parts %}
## {{ wing.authors }}: {{ wing.title }}

{{ block | safe }}

{{ table | safe }}

{% endfor %}
"""
)

FORM = template(
    """
<form class="icl-filter" hidden>
{% for name, options in choices.items() %}
<label>{{ name }}<select name="{{ name }}"><option value="">all</option>
{% for value, words in options.items() %}
<option value="{{ value }}">{{ words }}</option>
{% endfor %}
</select></label>
{% endfor %}
<fieldset><legend>tier</legend>
{% for tier, words in tiers.items() %}
<label><input type="checkbox" name="tier" value="{{ tier }}">{{ words }}</label>
{% endfor %}
</fieldset>
<fieldset><legend>verdict</legend>
{% for verdict in verdicts %}
<label><input type="checkbox" name="verdict" value="{{ verdict }}">{{ verdict }}</label>
{% endfor %}
</fieldset>
<p><output>{{ total }} of {{ total }} claims</output> <button type="reset">show all</button></p>
</form>
<script src="../_static/ledger.js" defer></script>
"""
)

TABLE = template(
    """
<div class="icl-claims icl-ledger"><table>
<thead><tr>{% for title in ("claim", "says", "found", "named by") %}<th scope="col">{{ title }}</th>{% endfor %}</tr></thead>
{% for tier, rows in tiers if rows %}
<tbody data-paper="{{ key }}" data-tier="{{ tier }}">
<tr class="icl-tier"><th colspan="4" scope="rowgroup">{{ names[tier] }}</th></tr>
{% for row in rows %}
{% set claim = row.claim %}
{% set one = row.shown %}
<tr id="claim-{{ claim.id | lower }}" data-section="{{ claim.section }}" data-kind="{{ claim.kind }}" \
data-source="{{ claim.confidence }}" data-verdict="{{ one.verdict }}" data-networks="{{ bucket(row) }}">
<td><a href="../{{ row.card }}">{{ claim.id }}</a> <small>§&nbsp;{{ claim.section }}</small></td>
<td>{{ claim.sentence | math }} <small>{{ claim.kind }}, {{ sources[claim.confidence] }}</small></td>
<td>{{ one.verdict | verdict }}\
{% if one.value %} <span class="icl-value">{{ one.value | replace("-", "−") }}</span>{% endif %}
{% if row.quick.verdict != one.verdict %} <small>quick: {{ row.quick.verdict }}</small>{% endif %}
{% if one.value %}<small>{{ number(row) | math }}</small>{% endif %}
<small>margin {{ ("%.6g" % claim.margin) | replace("-", "−") }}{% if "Moved" in claim.told %}, moved after a look{% endif %}\
{% if one.resolution %}, resolution {{ percent(one.resolution) }}{% endif %}\
{% if one.slack %}, slack {{ factor(one.slack) }}{% endif %}\
{% if networks(row) %}, {{ networks(row) }} network{{ "s" if networks(row) > 1 }}{% endif %}\
{% if claim.part_of %}, counted with {{ claim.part_of }}{% endif %}\
{% if one.control not in ("", "fails") %}, control not rejected{% endif %}</small></td>
<td>{% for link, words in named(claim.id) %}<a href="{{ link }}">{{ words }}</a>\
{{ ", " if not loop.last }}{% endfor %}</td>
</tr>
{% endfor %}
</tbody>
{% endfor %}
</table></div>
"""
)
