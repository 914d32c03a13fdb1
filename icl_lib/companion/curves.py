"""What a figure shows of a dataset, drawn by name: values, interval, places, look and label come from the variable."""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes

from icl_lib.companion.figure import LINES, MARKERS
from icl_lib.companion.verdict import over_seeds
from icl_lib.typed import refuse, unknown

Places = str | Sequence[float] | np.ndarray | xr.DataArray
"""The name of a coordinate or of a variable, or places: on an axis of names, or beside a coordinate."""
Label = str | Mapping | None
"""A text in which coordinates stand in braces, ``$N={N}$``, or one text for each value of what tells series apart."""
COORDINATE = re.compile(r"(?<![\w^}\]])\{(\w+)(?::([^{}]*))?\}")


def points(axes: Axes, dataset: xr.Dataset, name: str, along: Places, k: int = 0, *, label: Label = None, **style) -> None:
    """Draw the variable ``name`` as markers of series ``k`` with its interval; ``style`` goes before the house's."""
    values, reach = interval(dataset, name)
    axes.errorbar(_places(dataset, along, values), values, reach, **_marks(k, said(label, dataset)) | style)


def sideways(axes: Axes, dataset: xr.Dataset, name: str, along: Places, k: int = 0, *, label: Label = None, **style) -> None:
    """Draw ``points`` with values and intervals along x, at places along y."""
    values, reach = interval(dataset, name)
    axes.errorbar(values, _places(dataset, along, values), xerr=reach, **_marks(k, said(label, dataset)) | style)


def band(axes: Axes, dataset: xr.Dataset, name: str, along: Places, k: int = 0) -> None:
    """Draw the interval of the variable ``name`` as an area."""
    values, reach = interval(dataset, name)
    refuse(reach is None, f"{name} has no interval that an area could show: draw it by line")
    below, above = reach if isinstance(reach, list) else (reach, reach)
    axes.fill_between(_places(dataset, along, values), values - below, values + above, color=f"C{k}", alpha=0.15, linewidth=0)


def strokes(axes: Axes, dataset: xr.Dataset, name: str, along: Places, width: float, *, label: Label = None, **style) -> None:
    """Draw the variable ``name`` as level strokes of this width, each around its place."""
    values = interval(dataset, name)[0]
    middle = np.asarray(_places(dataset, along, values))
    axes.hlines(values, middle - width / 2, middle + width / 2, label=said(label, dataset), **style)


def line(axes: Axes, dataset: xr.Dataset, name: str, along: Places, k: int = 0, *, label: Label = None, **style) -> None:
    """Draw the variable ``name``, or its mean over seeds, as the line of series ``k``; ``style`` goes before the house's."""
    style = {"color": f"C{k}", "linestyle": LINES[k % len(LINES)], "label": said(label, dataset)} | style
    values = interval(dataset, name)[0]
    axes.plot(_places(dataset, along, values), values, **style)


def bars(axes: Axes, dataset: xr.Dataset, name: str, along: Places, k: int = 0, *, label: Label = None, **style) -> None:
    """Draw the variable ``name``, or its mean over seeds, as bars of series ``k``; ``style`` goes before the house's."""
    values = interval(dataset, name)[0]
    axes.bar(_places(dataset, along, values), values, **{"color": f"C{k}", "label": said(label, dataset)} | style)


def equality(axes: Axes, low: float, high: float, **style) -> None:
    """Draw the diagonal on which x and y are equal."""
    axes.plot((low, high), (low, high), **{"color": rcParams["text.color"], "linewidth": 1} | style)


def series(
    axes: Axes,
    dataset: xr.Dataset,
    name: str,
    along: Places,
    by: str | None = None,
    *,
    label: Label = None,
    theory: tuple[str, Places] | None = None,
    first: int = 0,
    **style,
) -> None:
    """Draw the variable ``name`` along a coordinate, one series for each value of ``by``, with one entry of the legend.

    ``theory`` names a variable and what it lies along: the line of each series. Without, a thin line joins the markers.
    """
    for k, part in each(dataset, by, first):
        if theory:
            line(axes, part, *theory, k)
        else:
            line(axes, part, name, along, k, linewidth=0.8)
        points(axes, part, name, along, k, **style)
        entry(axes, said(label, part, by), k, linestyle=LINES[k % len(LINES)])


def each(dataset: xr.Dataset, by: str | None, first: int = 0) -> Iterator[tuple[int, xr.Dataset]]:
    """Yield the number and the part of a dataset for each entry of the dimension ``by``; the whole where there is none."""
    if by is None:
        yield first, dataset
        return
    refuse(by not in dataset.dims, unknown("dimension", by, map(str, dataset.dims)))
    for place in range(dataset.sizes[by]):
        yield first + place, dataset.isel({by: place})


def entry(axes: Axes, label: str | None, k: int = 0, **style) -> None:
    """Add an entry of series ``k`` to the legend, of nothing that is drawn."""
    axes.plot([], [], **_marks(k, label) | style)


def legend(*panels: Axes, columns: int, side: str = "lower", **style) -> None:
    """Put one legend below all panels of a figure, or beside them, at the "upper" or "right" side: what they name, each once.

    The figure makes room for it where its layout is constrained, as that of every drawing is.

    >>> from matplotlib.figure import Figure
    >>> from icl_lib.companion import entry, legend
    >>> left, right = Figure().subplots(1, 2)
    >>> for axes, label in ((left, "measured"), (right, "measured"), (right, "bound")):
    ...     entry(axes, label)
    >>> legend(left, right, columns=2)
    >>> [each.get_text() for each in left.figure.legends[0].get_texts()]
    ['measured', 'bound']
    """
    entries: dict[str, object] = {}
    for axes in panels:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(text, handle)
    figure = panels[0].get_figure(root=True)
    figure.legend([*entries.values()], [*entries], loc=f"outside {side} center", ncols=columns, **style)


def interval(dataset: xr.Dataset, name: str) -> tuple[xr.DataArray, xr.DataArray | list | None]:
    """Return a variable and how far its interval reaches, None where it has none.

    That is two standard errors by ``NAME_se``; of a mean over seeds two, wider by ``widened``; or down to ``NAME_low`` and up
    to ``NAME_high``.

    The mean over three seeds has the standard error √(0.1² + 0.2² + 0.2²) / 3 = 0.1, and its interval reaches twice as far:

    >>> import xarray as xr
    >>> from icl_lib.companion import interval
    >>> data = xr.Dataset({"risk": ("seed", [1.0, 2.0, 3.0]), "risk_se": ("seed", [0.1, 0.2, 0.2])})
    >>> [round(float(each), 3) for each in interval(data, "risk")]
    [2.0, 0.2]
    """
    values = dataset[name]
    if f"{name}_low" in dataset:
        below, above = values - dataset[f"{name}_low"], dataset[f"{name}_high"] - values
        least = -1e-12 * abs(values)  # what rounding leaves below nothing is nothing
        return values, [each.where((each >= 0) | ~(each > least), 0) for each in (below, above)]
    if f"{name}_se" in dataset and "seed" in values.dims:
        error = dataset[f"{name}_se"]  # of each seed's own draws
        refuse("seed" not in error.dims, f"{name} has seeds, and {name}_se has none: give each seed its own error")
        return values.mean("seed", skipna=False), 2 * (error**2).sum("seed", skipna=False) ** 0.5 / error.sizes["seed"]
    if f"{name}_se" in dataset:
        return values, 2 * dataset[f"{name}_se"]
    if "seed" in values.dims:
        found = over_seeds(values)
        return found.value, found.two_se
    return values, None


def said(label: Label, dataset: xr.Dataset, by: str | None = None) -> str | None:
    """Return the label of a part of a dataset, with the coordinates at which it was taken.

    Labels by row need ``by``, the dimension of the rows. Braces around anything but a coordinate stay, as those of TeX.
    """
    here = {key: value.item() for key, value in dataset.coords.items() if not value.ndim}
    if isinstance(label, Mapping):
        if by is None:
            raise ValueError("labels by row are for curves along another dimension: give one label here")
        return label[here[by]]

    def put(found: re.Match) -> str:
        return format(here[found[1]], found[2] or "") if found[1] in here else found[0]

    return label and COORDINATE.sub(put, label)


def _marks(k: int, label: str | None) -> dict:
    return {"color": f"C{k}", "marker": MARKERS[k % len(MARKERS)], "linestyle": "none", "label": label}


def _places(dataset: xr.Dataset, along: Places, values: xr.DataArray):
    if not isinstance(along, str):
        return along
    found = dataset[along]
    wrong = f"{values.name} has the dimensions {values.dims}, and {along} has {found.dims}: draw a part that has the same"
    refuse(values.dims != found.dims, wrong)
    return found
