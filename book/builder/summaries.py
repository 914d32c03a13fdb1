"""What was found about each paper, in one block: scope, counts by tier, what was easy, what was hard, and the time it took."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from book.builder.cache import Executed
from book.builder.landscape import TIERS, VERDICTS
from book.builder.verdicts import Row, counted
from icl_lib.companion import Paper, results, weights
from icl_lib.companion.html import template
from papers import registry


@dataclass(frozen=True)
class Seconds:
    """How long a paper's full results, the networks that they read, and its pages in this build took to compute."""

    full: float
    networks: float
    pages: float


def seconds(paper: str, stored: Path, executed: Iterable[Executed]) -> Seconds:
    """What the attributes of the stored results and weights say, and the records of the executed notebooks."""
    own = [each for each in registry.EXPERIMENTS.values() if each.paper == paper]
    files = [path for each in own if (path := stored / f"{each.slug}.full.nc").exists()]
    names = sorted({name for each in own for name in registry.trainings_of(each.full)})
    trained = [found for name in names if (found := weights.attributes(stored / "weights" / f"{name}.safetensors"))]
    return Seconds(
        full=sum(float(results.attributes(path)["seconds"]) for path in files),
        networks=sum(float(found.get("seconds", 0)) for found in trained),
        pages=sum(one.record.seconds for one in executed if one.name.startswith(f"{paper}_")),
    )


def in_words(number: float) -> str:
    """Seconds, minutes or hours, to two digits."""
    unit, size = next(
        ((unit, size) for unit, size in (("hours", 3600), ("minutes", 60)) if number >= 1.5 * size), ("seconds", 1)
    )
    return f"{number / size:.1f} {unit}" if number / size < 9.95 and unit == "hours" else f"{number / size:.0f} {unit}"


def block(paper: Paper, rows: list[Row], took: Seconds) -> str:
    """The summary of a paper as HTML; every count links to the ledger's rows behind it."""
    counts = counted(rows)
    shown = [verdict for verdict in VERDICTS if any(counts[tier, verdict] for tier in TIERS)]
    times = {"full results": took.full, "networks": took.networks, "pages of this build": took.pages}
    return BLOCK.render(
        paper=paper,
        tiers={"paper": "Its own sentences", "ours": "Found here"},
        counts=counts,
        shown=shown,
        times={what: in_words(time) for what, time in times.items() if time},
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
<dt>Computing</dt><dd>{% for what, time in times.items() %}{{ what }} {{ time }}{{ ", " if not loop.last }}\
{% else %}not stored{% endfor %}</dd>
</dl>
</div>
"""
)
