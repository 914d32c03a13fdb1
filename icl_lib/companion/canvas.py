"""What a figure is drawn on: an SVG file whose words are measured once, and ticks laid out once while a panel keeps its size.

matplotlib asks for both dozens of times while it places panels, and forgets a formula after fifty others.
"""

import gc
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from matplotlib.axis import Axis
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.textpath import TextToPath

RASTER = 100
"""Dots to an inch where a part of a drawing is a picture of dots."""
WORDS = TextToPath()
WORDS.mathtext_parser.parse = lru_cache(4096)(WORDS.mathtext_parser.parse)
WORDS.get_text_width_height_descent = lru_cache(4096)(WORDS.get_text_width_height_descent)
"""The letters of all figures: a narrow one says what the wide one says. Each caller hands a font of its own."""


class _Renderer(RendererSVG):
    def __init__(self, width: float, height: float, file: io.StringIO):
        super().__init__(width, height, file, image_dpi=RASTER, metadata={"Date": None, "Creator": None})
        self._text2path = WORDS


class Canvas(FigureCanvasSVG):
    """Measures the words of a figure with the renderer that draws it."""

    _renderer: _Renderer | None = None

    def get_renderer(self) -> _Renderer:
        self.figure.dpi = 72  # as any renderer of SVG has it
        size = self.figure.bbox.size
        if self._renderer is None or (self._renderer.width, self._renderer.height) != tuple(size):
            self._file = io.StringIO()
            self._renderer = _Renderer(*size, self._file)
        return self._renderer

    def drawn(self) -> str:
        """Return the figure as SVG; a second call would go on where the first ended."""
        renderer = self.get_renderer()
        self.figure.draw(MixedModeRenderer(self.figure, *self.figure.get_size_inches(), RASTER, renderer))
        renderer.finalize()
        return self._file.getvalue()


@contextmanager
def kept(figure: Figure) -> Iterator[None]:
    """Keep what was found of an axis while nothing that it depends on changes: its ticks, and where their labels stand."""
    every = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    for axis in every:
        axis._update_ticks, axis._get_ticklabel_bboxes = _ticks(axis), _boxes(axis)
    try:
        yield
    finally:
        for axis in every:
            del axis._update_ticks, axis._get_ticklabel_bboxes


def _ticks(axis: Axis) -> Callable[[], list]:
    laid_out, known = axis._update_ticks, []

    def ticks() -> list:
        rules = [rule for each in (axis.major, axis.minor) for rule in (each.locator, each.formatter)]
        room = [rule.axis.get_tick_space() for rule in rules[::2]]  # of the first of the axes that share a rule
        state = [*axis.get_view_interval(), *room, *rules]
        if not known or known[0] != state:
            known[:] = state, laid_out()
        return known[1]

    return ticks


def _boxes(axis: Axis) -> Callable[[list, object], tuple[list, list]]:
    measured, known = axis._get_ticklabel_bboxes, []

    def boxes(ticks: list, renderer: object) -> tuple[list, list]:
        place = axis.axes.bbox.bounds
        if not known or known[0] is not ticks or known[1] != place:
            known[:] = ticks, place, measured(ticks, renderer)
        return known[2]

    return boxes


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no cycles of what is in use: a figure is made of a hundred thousand objects, and each one stays.

    >>> import gc
    >>> from icl_lib.companion.canvas import uncollected
    >>> with uncollected():
    ...     print(gc.isenabled())
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
