"""House style: theory is a line, measurement a marker with its interval; light and dark, wide and narrow from the same call."""

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import xarray as xr
from cycler import cycler
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from icl_lib.companion.canvas import Canvas, kept, uncollected
from icl_lib.companion.fit import fit
from icl_lib.companion.html import template
from icl_lib.companion.marks import CHANGED, marked, marked_html
from icl_lib.companion.mathematics import plain

MARKERS = "osD^vPX"
"""One marker a series, so that colour never carries the only distinction."""
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)), (0, (8, 2)))
"""One dash pattern a series, for the same reason."""

_COMMON = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "icl",
    "svg.fonttype": "path",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
CLIP = re.compile(r"\bp[0-9a-f]{10}\b")
"""What matplotlib calls an area that is cut out: the digest of its corners, whose last bit differs from run to run."""
NARROW = 4.2
"""The width in inches of what is drawn for a narrow screen."""
_LIGHT = ("#1b1f24", "#d5d9de", "#0b62a4", "#b4460a", "#1a7f4b", "#8a3ea8", "#a8760a", "#3d4a57", "#c0306a")
_DARK = ("#dfe4ea", "#444b55", "#6cb6ff", "#ff9b62", "#5fd39a", "#d2a0f0", "#e6c15c", "#a9b6c4", "#ff8cb8")
"""The colours of a theme: ink, grid, and the cycle of the series."""


@dataclass(frozen=True)
class Picture:
    """A drawn figure: an SVG file, the same for a narrow screen, alternative text and caption."""

    name: str
    slug: str
    profile: str
    light: str
    alt: str
    caption: str
    narrow: str = ""
    changed: str = ""
    """Its settings, where they are not those of the book."""

    @property
    def dark(self) -> str:
        """The same on a dark ground."""
        return in_dark(self.light)

    def __repr__(self) -> str:
        changed = f"changed from the book: {self.changed}\n" if self.changed else ""
        return f"{changed}Picture({self.name!r}, {self.slug!r}): {marked(self.alt)}"

    def _repr_html_(self) -> str:
        wide, narrow = (base64.b64encode(each.encode()).decode() for each in (self.light, self.narrow))
        image = IMAGE.render(alt=self.alt, wide=wide, narrow=narrow)
        return (CHANGED_PICTURE if self.changed else PICTURE).render(picture=self, image=marked_html(Markup(image)))


IMAGE = template(
    """
<picture>{% if narrow %}<source media="(max-width: 600px)" srcset="data:image/svg+xml;base64,{{ narrow }}">{% endif %}\
<img alt="{{ alt }}" src="data:image/svg+xml;base64,{{ wide }}"></picture>"""
)
PICTURE = template(
    """
<figure class="icl-figure" id="fig-{{ picture.name }}" data-slug="{{ picture.slug }}" data-profile="{{ picture.profile }}">
{{ image }}<figcaption>{{ picture.caption | safe }}</figcaption><!-- provenance --></figure>"""
)
"""What a notebook shows; the book puts its dark counterpart beside the picture, and where it came from below."""
CHANGED_PICTURE = template(
    """
<figure class="icl-figure icl-changed">
{{ image }}<p><em>changed from the book: {{ picture.changed }}</em></p>
<figcaption>{{ picture.caption }}</figcaption></figure>"""
)
"""What is shown of a reader's settings: it has no address, and is no figure of the book."""

Draw = Callable[[Figure, xr.Dataset], None]
Words = str | Callable[[xr.Dataset], str]
Size = tuple[float, float] | Callable[[xr.Dataset], tuple[float, float]]
"""A text and a size in inches, or how the data give them."""


@dataclass(frozen=True)
class Drawing:
    """A figure of one section: called with a dataset, it is drawn."""

    name: str
    draw: Draw
    alt: Words
    caption: Words
    size: Size

    def __call__(self, dataset: xr.Dataset) -> Picture:
        """Draw the figure of ``dataset``."""
        (alt, caption, size), origin = self.told(dataset), dataset.attrs
        with uncollected():
            narrow = _svg(dataset, self.draw, size, NarrowFigure) if size[0] > 1.1 * NARROW else ""
            light = _svg(dataset, self.draw, size)
        changed = origin.get(CHANGED, "")
        return Picture(self.name, origin.get("slug", ""), origin.get("profile", ""), light, alt, caption, narrow, changed)

    def told(self, dataset: xr.Dataset) -> tuple[str, str, tuple[float, float]]:
        """Return the alternative text, the caption and the size in inches of the figure of ``dataset``.

        Both texts may hold numbers and findings of the book's settings, so that with others only the axes speak.
        """
        size = self.size(dataset) if callable(self.size) else self.size
        if CHANGED in dataset.attrs:
            axes = self._axes(dataset, size)
            return axes, f"{axes} The caption in the book speaks of the settings there.", size
        alt, caption = (each(dataset) if callable(each) else each for each in (self.alt, self.caption))
        return alt, caption, size

    def _axes(self, dataset: xr.Dataset, size: tuple[float, float]) -> str:
        """Return what is drawn over what, as the axes say it; where they do not, the variables that there are."""
        with mpl.rc_context(style()):
            axes = _drawn(dataset, self.draw, size).get_axes()
        named = [(plain(each.get_ylabel()), plain(each.get_xlabel())) for each in axes]
        found = [" over ".join(filter(None, labels)) for labels in named if all(labels)]
        found += [each for labels in named for each in labels if each and not any(each in one for one in found)]
        found = found or [values.attrs.get("long_name", name) for name, values in dataset.data_vars.items()]
        return f"Drawn: {'; '.join(dict.fromkeys(found))}."


def drawing(name: str, *, alt: Words, caption: Words, size: Size = (6.4, 3.8)) -> Callable[[Draw], Drawing]:
    """Return the decorator that makes a figure of a function that draws.

    ``draw(figure, dataset)`` adds axes and artists; series colours are the cycle's "C0", "C1", ..., and neutral marks
    take ``matplotlib.rcParams["text.color"]``. ``caption`` may hold HTML; ``alt`` says in words what is to be seen. A figure
    that is named after its result, ``zhang-risk``, is the one that ``show`` draws.

    The first series is blue on a light ground, and of another blue on a dark one:

    >>> import xarray as xr
    >>> from icl_lib.companion import drawing, line
    >>> @drawing("toy-coin", alt=lambda data: f"{data.sizes['toss']} tosses.", caption="A coin.", size=(4, 3))
    ... def coin(figure, data):
    ...     line(figure.subplots(), data, "heads", "toss")
    >>> picture = coin(xr.Dataset({"heads": ("toss", [0.0, 0.5])}, {"toss": [1, 2]}))
    >>> picture.alt, ["#0b62a4" in each for each in (picture.light, picture.dark)]
    ('2 tosses.', [True, False])
    """
    return lambda draw: Drawing(name, draw, alt, caption, size)


def in_dark(light: str) -> str:
    """Return a drawing with every colour of the light theme replaced by its counterpart in the dark one."""
    counterpart = dict(zip(_LIGHT, _DARK, strict=True))
    return re.sub("|".join(_LIGHT), lambda colour: counterpart[colour[0]], light)


def style() -> dict:
    """Return the settings of matplotlib in which every figure is drawn."""
    ink, grid, *cycle = _LIGHT
    ink_keys = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor")
    return {**_COMMON, **dict.fromkeys(ink_keys, ink), "grid.color": grid, "axes.prop_cycle": cycler(color=cycle)}


class NarrowFigure(Figure):
    """A figure for a narrow screen: panels that stand side by side on a wide one stand below each other."""

    def subplots(self, nrows=1, ncols=1, *, sharex=False, sharey=False, squeeze=True, width_ratios=None, height_ratios=None):
        """Return the axes in the shape that was asked for, as ``Figure.subplots`` does; more than three columns become two.

        Two rows of them become the two columns, so that what stood above each other stands beside each other. Panels share
        the axes that they share on a wide screen; ratios of widths and heights are of a wide screen alone.
        """
        sharex, sharey = ({"all": True, "none": False}.get(each, each) for each in (sharex, sharey))
        columns, turned = (1 if ncols <= 3 else 2), nrows == 2 and ncols > 3
        rows = -(-nrows * ncols // columns)
        self.set_size_inches(NARROW, rows * self.get_figheight() / nrows * (0.9 if columns == 1 else 0.65))
        if turned:  # made row by row, as on a wide screen
            places = self.add_gridspec(ncols, nrows)
            grid = np.array([[self.add_subplot(places[col, row]) for col in range(ncols)] for row in range(nrows)])
        else:
            every = super().subplots(rows, columns, sharex=sharex is True, sharey=sharey is True, squeeze=False).ravel()
            for each in every[nrows * ncols :]:
                each.remove()
            grid = every[: nrows * ncols].reshape(nrows, ncols)
            for each in grid.flat if ncols > 1 else ():
                each.tick_params(labelbottom=True)  # which a shared axis shows at the last alone
        for asked, share in ((sharex, Axes.sharex), (sharey, Axes.sharey)):
            for first, *rest in {"row": grid, "col": grid.T, True: [grid.ravel()] if turned else []}.get(asked, ()):
                for each in rest:
                    share(each, first)
        return grid if not squeeze else grid.item() if grid.size == 1 else grid.squeeze()

    def subplot_mosaic(self, mosaic, *, height_ratios):
        """Return the named axes, below each other in the order of their names, each as high as its row."""
        heights = {name: high for row, high in zip(mosaic, height_ratios, strict=True) for name in row}
        self.set_size_inches(NARROW, 0.9 * self.get_figheight() * sum(heights.values()) / sum(height_ratios))
        every = self.subfigures(len(heights), 1, height_ratios=list(heights.values()))
        return {name: each.subplots() for name, each in zip(heights, every, strict=True)}

    def legend(self, *handles, ncols=1, **style):
        """Add a legend of two columns at most, or of one if two are wider than the figure."""
        made = super().legend(*handles, ncols=min(ncols, 2), **style)
        if ncols == 1 or made.get_window_extent().width <= self.bbox.width:
            return made
        made.remove()
        return super().legend(*handles, ncols=1, **style)


def _drawn(dataset: xr.Dataset, draw: Draw, size: tuple[float, float], kind: type[Figure] = Figure) -> Figure:
    figure = kind(figsize=size)
    Canvas(figure)
    draw(figure, dataset)
    return figure


def _svg(dataset: xr.Dataset, draw: Draw, size: tuple[float, float], kind: type[Figure] = Figure) -> str:
    with mpl.rc_context(style()):
        figure = _drawn(dataset, draw, size, kind)
        if kind is NarrowFigure and figure.get_figwidth() > NARROW:
            return ""  # its layout is its own, and has no narrow form
        with kept(figure):
            fit(figure)
            text = figure.canvas.drawn()
    text = re.sub(r' [dxy]="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    names = {name: f"clip{k}" for k, name in enumerate(dict.fromkeys(CLIP.findall(text)))}
    return CLIP.sub(lambda name: names[name[0]], text)
