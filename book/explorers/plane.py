"""Coordinates on a drawing: axes, a plane of two, lines and arrows as SVG paths, numbers. `explorer.js` has the same."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import hypot, isfinite, log10

from markupsafe import Markup

from icl_lib.companion.html import template


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high`` on the drawing from ``start`` to ``end``; ``ticks`` are the values with a label."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...] = ()
    label: str = ""
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return where a value lies on the drawing."""
        low, high, at = (log10(each) for each in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def as_json(self) -> dict:
        """Return what the script needs to place a value, and to read one."""
        return {key: value for key, value in asdict(self).items() if key not in ("ticks", "label")}


@dataclass(frozen=True)
class Plane:
    """Two axes: x to the right, y upwards (its ``start`` is below its ``end``)."""

    x: Axis
    y: Axis

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies on the drawing."""
        return self.x(x), self.y(y)

    def svg(self) -> Markup:
        """Return the grid with its labels."""
        return Markup(PLANE.render(x=self.x, y=self.y, number=number))

    def as_json(self) -> dict:
        """Return both axes for the script."""
        return {"x": self.x.as_json(), "y": self.y.as_json()}


PLANE = template(
    """
<g class="plane">
{% for value in x.ticks %}
<path class="grid" d="M{{ "%.1f" % x(value) }} {{ y.start }}V{{ y.end }}"/>
<text x="{{ "%.1f" % x(value) }}" y="{{ y.start + 15 }}" text-anchor="middle">{{ number(value) }}</text>
{% endfor %}
{% for value in y.ticks %}
<path class="grid" d="M{{ x.start }} {{ "%.1f" % y(value) }}H{{ x.end }}"/>
<text x="{{ x.start - 6 }}" y="{{ "%.1f" % (y(value) + 4) }}" text-anchor="end">{{ number(value) }}</text>
{% endfor %}
<text class="label" x="{{ x.end }}" y="{{ y.start + 31 }}" text-anchor="end">{{ x.label }}</text>
<text class="label" x="{{ x.start }}" y="{{ y.end - 9 }}">{{ y.label }}</text>
</g>"""
)


def path(points: Iterable[tuple[float, float]]) -> str:
    """Return a line through points of the drawing as the ``d`` of a path; it breaks at a point that is not finite."""
    steps, broken = [], True
    for x, y in points:
        finite = isfinite(x) and isfinite(y)
        if finite:
            steps.append(f"{'M' if broken else 'L'}{x:.1f} {y:.1f}")
        broken = not finite
    return "".join(steps)


def arrow(plane: Plane, start: Iterable[float], end: Iterable[float], before: float = 0) -> dict[str, str]:
    """Return a line with a head, ``before`` the end, as the attribute of a path; a short one has no head."""
    (x0, y0), (x1, y1) = plane(*start), plane(*end)
    length = hypot(x1 - x0, y1 - y0)
    if length < 9 + before:
        return {"d": path([(x0, y0), (x1, y1)])}
    u, v = (x1 - x0) / length, (y1 - y0) / length
    x1, y1 = x1 - before * u, y1 - before * v
    barbs = [(x1 - 8 * u + side * 4 * v, y1 - 8 * v - side * 4 * u) for side in (1, -1)]
    return {"d": path([(x0, y0), (x1, y1)]) + path([barbs[0], (x1, y1), barbs[1]])}


def dots(places: Iterable[tuple[float, float]]) -> str:
    """Return points as lines of no length, as the ``d`` of a path: their ends are what is seen."""
    return "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)


def ring(x: float, y: float, r: float) -> str:
    """Return a circle as the ``d`` of a path."""
    return f"M{x - r:.1f} {y:.1f}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0"


def number(value: float) -> str:
    """Return a number with three digits as a reader writes it: 0.0123, 120, −3.4, 1.2·10⁻⁵, ∞."""
    size, sign = abs(value), "−" if value < 0 else ""
    if not isfinite(value):
        return f"{sign}∞"
    if size < ROUNDING:
        return "0"
    if 1e-3 <= size < 1e4:
        return f"{sign}{float(f'{size:.3g}'):g}"
    digits, exponent = f"{size:.1e}".split("e")
    return f"{sign}{digits}·10{str(int(exponent)).translate(RAISED)}"


ROUNDING = 1e-12
"""What is smaller is 0 but for rounding."""
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
