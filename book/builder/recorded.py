"""The pages of the planted faults and of the calibration, written from what `./run faults` and `./run calibrate` left."""

import json
from collections import Counter
from pathlib import Path

from book.builder import judged
from book.builder.pages import GENERATED
from icl_lib.companion.html import template
from papers import registry

NOT_RUN = "# {title}\n\n`{command}` was not run here.\n"


def faults_page(stored: Path) -> str:
    """Every fault and the check that caught it, as a MyST page."""
    if not stored.exists():
        return NOT_RUN.format(title="Planted faults", command="./run faults")
    found = json.loads(stored.read_text(encoding="utf-8"))
    rows = found["faults"]
    tables = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(row["kind"] for row in rows)}
    by = Counter(row["caught"].split(":")[0] or "nothing" for row in rows).most_common()
    listed = FAULTS.render(tables=tables, total=len(rows), by=by, commit=found["commit"])
    return GENERATED + listed + _by_rule(stored.with_name("mutants.json"))


def _by_rule(stored: Path) -> str:
    """The section about the changes by rule, where they were tried."""
    if not stored.exists():
        return ""
    found = json.loads(stored.read_text(encoding="utf-8"))
    groups = {name: Counter(ends) for name, ends in found["groups"].items()}
    ends = dict.fromkeys(end for counts in groups.values() for end in counts if end not in ("equivalent", "nothing"))
    tried = sum(counts.total() - counts["equivalent"] for counts in groups.values())
    share = f"{100 * len(found['survivors']) / tried:.1f}%"
    return BY_RULE.render(found, groups=groups, ends=[*ends, "equivalent", "nothing"], tried=tried, share=share)


FAULTS = template(
    """
# Planted faults

Would the checks of this book notice a mistake? {{ total }} small faults were planted, each alone in a process
of its own, and the checks that call the faulty function were run, the cheapest first, until one of them noticed: claims on the
stored measurements, unit tests, claims on quick results computed anew. That a digest changed does not count, and
tests that compare with numbers written down before, which notice every change, were asked last.

{% for what, number in by %}
- Caught by {{ what }}: {{ number }}.
{% endfor %}

Commit {{ commit }}. The list is `book/faults/planted.txt`, a line for each; `./run faults` runs it.

{% for kind, rows in tables.items() %}
## {{ kind | capitalize }}

<div class="icl-claims"><table><thead><tr>
{% for title in ("where", "right", "planted", "caught by") %}
<th scope="col">{{ title }}</th>
{% endfor %}
</tr></thead><tbody>
{% for row in rows %}
<tr><td data-title="where"><code>{{ row.file | breakable }}</code></td><td data-title="right"><code>{{ row.right }}</code></td>\
<td data-title="planted"><code>{{ row.wrong }}</code></td><td data-title="caught by">\
{% if "::" in row.caught %}{{ "a number written down, " if row.caught.startswith("a number") }}\
<code>{{ row.caught.partition(": ")[2] | breakable }}</code>\
{% else %}{{ row.caught or "nothing" }}{% endif %}</td></tr>
{% endfor %}
</tbody></table></div>

{% endfor %}
"""
)

BY_RULE = template(
    """
## By rule

A list shows what its authors thought of. So functions are also changed by rule: a constant by one or twofold, a term or
factor dropped, a sign, one length for another, min for max, one variable for another, < for ≤, a condition turned. The rules
make {{ total }} mutants of the functions behind formulas, verdicts, cards, figures and boxes, and of the library. Of \
{{ tried }}, drawn evenly over the functions, {{ survivors | length }} survived ({{ share }}). Each was tried on the claims
and tests that call its function, the cheapest first, until one noticed.

| | {% for end in ends %}{{ end }} | {% endfor %}

|---|{% for end in ends %}---|{% endfor %}

{% for name, counts in groups.items() %}
| {{ name }} | {% for end in ends %}{{ counts[end] }} | {% endfor %}

{% endfor %}

{% for title, rows in (("Noticed by nothing", survivors), ("Equivalent, and why", equivalent)) if rows %}
### {{ title }}

<div class="icl-claims"><table><thead><tr>
{% for name in ("where", "right", "planted", "reason") %}
<th scope="col">{{ name }}</th>
{% endfor %}
</tr></thead><tbody>
{% for row in rows %}
<tr><td data-title="where"><code>{{ row.file | breakable }}</code> <code>{{ row.function | breakable }}</code></td>\
<td data-title="right"><code>{{ row.right }}</code></td><td data-title="planted"><code>{{ row.wrong }}</code></td>\
<td data-title="reason">{{ row.get("reason", row.rule) }}</td></tr>
{% endfor %}
</tbody></table></div>

{% endfor %}
Commit {{ commit }}; `./run faults --everywhere` runs it.
"""
)


def calibration_page(stored: Path) -> str:
    """How the deviations of every sampled formula are spread over the seeds, as a MyST page."""
    if not stored.exists():
        return NOT_RUN.format(title="Calibration", command="./run calibrate")
    found = json.loads(stored.read_text(encoding="utf-8"))
    total = sum(found["histogram"])
    bars = [count * len(found["histogram"]) / total for count in found["histogram"]]
    verdicts, failed = found["seeds"] * len(found["claims"]), sum(row["failed"] for row in found["claims"])
    outdated = [row["claim"] for row in found["claims"] if row["identity"] != _identity_now(row["experiment"])]
    skewed = bars[0] > 1.05 and bars[-1] < 0.95
    told = {"bars": bars, "total": total, "verdicts": verdicts, "failures": failed, "outdated": outdated, "skewed": skewed}
    return GENERATED + CALIBRATION.render(found, **told)


def _identity_now(slug: str) -> str:
    experiment = registry.EXPERIMENTS.get(slug)
    with judged.told():
        return experiment.origin("quick", 0)["identity"] if experiment else ""


CALIBRATION = template(
    """
# Calibration

Is a standard error of this book a standard error? Formulas that are compared with samples, those in the table, were measured
anew with {{ seeds }} seeds, in the quick profile. If formula and error are right, the deviations in standard errors follow
Student's t, and the chance that t lies below a deviation is spread evenly between 0 and 1. Pooled over all formulas, cells
and seeds:

<figure class="icl-figure"><svg viewBox="0 0 420 150" role="img" width="560" \
aria-label="Histogram in {{ bars | length }} bins; even would be 1 in each, and they lie between \
{{ "%.2f" % (bars | min) }} and {{ "%.2f" % (bars | max) }}">
{% for bar in bars %}
<rect x="{{ 10 + loop.index0 * 400 / bars | length }}" y="{{ 130 - 80 * bar }}" width="{{ 400 / bars | length - 1.5 }}" \
height="{{ 80 * bar }}" fill="var(--icl-holds)" opacity="0.55"/>
{% endfor %}
<line x1="10" x2="410" y1="50" y2="50" stroke="currentColor" stroke-dasharray="4 3"/>
<text x="10" y="145" fill="currentColor" font-size="11">0</text>
<text x="403" y="145" fill="currentColor" font-size="11">1</text>
</svg><figcaption>Chance below the deviation, {{ total }} cells. Dashed: even.</figcaption></figure>

{% if skewed %}
Low deviations are more frequent than high ones: squared errors are skewed, and a mean that is too low comes with a standard
error that is too small.
{% endif %}

A formula fails beyond q standard errors, q chosen so that a true one does so once in 10,000 where errors are nearly normal. \
Here {{ failures }} of {{ verdicts }} verdicts fail.

| claim | result | cells | root mean square | mean | largest | q | fails |
|---|---|---|---|---|---|---|---|
{% for row in claims %}
| {{ row.claim }} | {{ row.experiment }} | {{ row.cells }} | {{ row.rms }} | {{ ("%.3f" % row.mean) | replace("-", "−") }} \
| {{ row.largest }} | {{ row.quantile }} | {{ row.failed }} |
{% endfor %}

The root mean square is that of the deviations in standard errors: 1 if the errors are right. Cells of one seed share their
draws, so that it is known less well than the number of cells suggests. Commit {{ commit }}; `./run calibrate` runs it.
{% if outdated %}Measured before their code changed, and not again: {{ outdated | join(", ") }}.{% endif %}

"""
)
