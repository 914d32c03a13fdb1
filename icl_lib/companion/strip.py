"""Where a claim's number lies beside what is allowed: one axis for all kinds of claims."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icl_lib.companion.html import template
from icl_lib.companion.verdict import Agreement, Discrepancy

WIDTH, HEIGHT = 240, 26


@dataclass(frozen=True)
class Strip:
    """Places in units of what is allowed: 0 is the edge, below it all is well, and -1 is perfect agreement.

    place, spread   of the number, and half the width of its interval of two standard errors
    misses          the places of the controls, which have to lie above 0, and on coarse data may not yet
    allowed         the number at the edge
    """

    place: float
    spread: float
    misses: tuple[float, ...]
    allowed: float

    def svg(self, verdict: str, words: str, missed: str = "rejected by the full data") -> str:
        """Return the strip as SVG: a band up to the edge, a dot with its interval, a diamond for the nearest control.

        ``missed`` is said of a diamond inside the band; in the book finer data reject it.
        """
        ends = [_x(self.place + sign * self.spread) for sign in (-1, 1)]
        miss = min(filter(np.isfinite, self.misses), key=abs, default=None)
        return STRIP.render(
            verdict=verdict.replace(" ", "-"),
            words=words,
            missed=missed,
            width=WIDTH,
            height=HEIGHT,
            middle=HEIGHT / 2,
            edge=_x(0.0),
            dot=_x(self.place),
            ends=ends,
            miss=None if miss is None else _x(miss),
            within=miss is not None and miss < 0,
        )


def placed(found: Discrepancy | Agreement, broken: Sequence[Discrepancy | Agreement], margin: float) -> Strip:
    """Return the strip of a check and of its controls.

    A number v is at (v - allowed)/|allowed|. Where nothing is allowed, the unit is the distance of the nearest control.

    Half of what is allowed lies halfway between perfect agreement, at -1, and the edge, at 0; three times as much lies at 2:

    >>> from icl_lib.companion import Discrepancy
    >>> from icl_lib.companion.strip import placed
    >>> placed(Discrepancy(0.25), broken=[Discrepancy(1.5)], margin=0.5)
    Strip(place=-0.5, spread=0.0, misses=(2.0,), allowed=0.5)
    """
    allowed, controls = found.allowed(margin), [(each.worst()[0], each.allowed(margin)) for each in broken]
    apart = [abs(value - edge) for value, edge in controls]
    unit = abs(allowed) or min(filter(np.isfinite, apart), default=0.0) or 1.0
    value, two_se = found.worst()
    misses = tuple((each - edge) / (abs(edge) or unit) for each, edge in controls)
    if np.isinf(allowed) and np.isfinite(value):  # of a single model, which decides nothing
        return Strip(-1.0, np.inf, misses, allowed)
    return Strip((value - allowed) / unit, two_se / unit, misses, allowed)


def _x(place: float) -> float:
    """Return where a place is drawn: the edge in the middle, and what is far from it never outside."""
    share = place / (1 + abs(place)) if np.isfinite(place) else -1.0 if place < 0 else 1.0
    return round(WIDTH / 2 + share * (WIDTH / 2 - 8), 1)


STRIP = template(
    """
<svg class="icl-strip strip-{{ verdict }}" viewBox="0 0 {{ width }} {{ height }}" width="{{ width }}" height="{{ height }}" \
role="img" aria-label="{{ words }}">
<rect class="band" x="2" y="{{ middle - 4 }}" width="{{ edge - 2 }}" height="8" fill="steelblue" opacity="0.3"/>
<path class="edge" d="M{{ edge }} 3V{{ height - 3 }}" stroke="gray"/>
<path class="rest" d="M{{ edge }} {{ middle }}H{{ width - 2 }}" stroke="gray"/>
{% if miss is not none %}
<path class="miss" d="M{{ miss }} {{ middle - 5 }}l5 5l-5 5l-5 -5z" fill="white" stroke="gray"/>
{% endif %}
{% if within %}
<text class="within" x="{{ edge - 3 }}" y="{{ height - 1.5 }}">◇ {{ missed }}</text>
{% endif %}
<path class="spread" d="M{{ ends[0] }} {{ middle }}H{{ ends[1] }}" stroke="steelblue" stroke-width="2"/>
<circle class="dot" cx="{{ dot }}" cy="{{ middle }}" r="4.5" fill="steelblue"/>
</svg>"""
)
"""Its own colours are for pages without a style sheet, whose rules have the last word."""
