"""A picture without data: what a model is made of, drawn by code in the house style, light and dark."""

from collections.abc import Callable
from dataclasses import dataclass

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion.figure import Drawing, Picture

Sketch = Callable[[Figure], None]


@dataclass(frozen=True)
class Diagram:
    """A drawing of a model with its symbols; a notebook shows it as it shows a figure."""

    name: str
    sketch: Sketch
    alt: str
    caption: str
    size: tuple[float, float]

    def picture(self) -> Picture:
        """Draw it; its slug and its profile are empty, since no result stands behind it."""
        drawn = Drawing(self.name, lambda figure, _: self.sketch(figure), self.alt, self.caption, self.size)
        return drawn(xr.Dataset())

    def __repr__(self) -> str:
        return f"Diagram({self.name!r}): {self.alt}"

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()


def diagram(name: str, *, alt: str, caption: str, size: tuple[float, float]) -> Callable[[Sketch], Diagram]:
    """Return the decorator that makes a diagram of a function that draws with the shapes of ``shapes``.

    ``caption`` may hold HTML; ``alt`` says in words what is to be seen. ``size`` is in inches; at up to 4.6 a phone shows
    the whole width.

    >>> from icl_lib.companion import diagram
    >>> from icl_lib.companion.shapes import box, canvas
    >>> @diagram("token", alt="One token, a box.", caption="A token.", size=(2, 1))
    ... def token(figure):
    ...     box(canvas(figure), 0.5, 0.25, 1, 0.5, "x", tint="query")
    >>> token
    Diagram('token'): One token, a box.
    >>> 'width="144pt"' in token.picture().light
    True
    """
    return lambda sketch: Diagram(name, sketch, alt, caption, size)
