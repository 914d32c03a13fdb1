"""The roofline: rates of training steps against what the device could do."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from icl_lib.companion import Table, drawing, each, legend, line, marked_html, points
from papers.engine.theory import operations as theory

BILLION = 1e9


def _alt(dataset: xr.Dataset) -> str:
    together, names = int(dataset.models[-1]), ", ".join(dataset.size.values)
    return (
        "Operations a second against operations a byte, both logarithmic. A line rises with slope one and bends into a "
        f"level line at the rate of a large matrix product. At each size ({names}) a filled marker shows a training step "
        f"of one model, an open one a step of {together} models as one batch, and a cross the matrix products alone."
    )


def _caption(dataset: xr.Dataset) -> str:
    together = int(dataset.models[-1])
    return (
        "Rate of a training step against its operations a byte. Line: the lower of the measured rate of a large matrix "
        "product and the operations a byte times the measured rate of a copy. Filled: one model; open: "
        f"{together} models as one batch. Crosses: the matrix products of a block alone, at the shapes of one model. A "
        f"reading of the machine that ran this, {dataset.attrs.get('device', 'unknown')}, "
        f"threads: {marked_html(str(int(dataset.threads)))}."
    )


@drawing("engine-roofline", alt=_alt, caption=_caption, size=(6.4, 4.4))
def roofline(figure: Figure, dataset: xr.Dataset) -> None:
    """Operations a second over operations a byte, by size and number of models, under the roof of the device."""
    axes = figure.subplots()
    dataset = _over_intensity(dataset)
    line(axes, dataset, "roof", "roof_intensity", color=mpl.rcParams["text.color"], label="roof of the device")
    for k, size in each(dataset, "size"):
        for fill, count, (_, one) in zip(("full", "none"), ("model", "models"), each(size, "models"), strict=True):
            points(axes, one, "rate", "intensity", k, fillstyle=fill, markersize=8, label=f"{{size}}, {{models}} {count}")
        label = None if k else "products alone"
        points(axes, size.isel(models=0), "products_rate", "intensity", k, marker="x", markersize=7, label=label)
    axes.set(xscale="log", yscale="log", xlabel="operations a byte", ylabel="operations a second / 10⁹")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    legend(axes, columns=2)


def _over_intensity(dataset: xr.Dataset) -> xr.Dataset:
    """Put operations a byte beside a result, and rates in billions a second: of the steps, the products and the roof."""
    intensity = dataset.operations / dataset.traffic
    peak, bandwidth = float(dataset.peak), float(dataset.bandwidth)
    ends = [float(intensity.min()), float(intensity.max()), peak / bandwidth]
    places = np.geomspace(min(ends) / 3, max(ends) * 3, 200)
    return dataset.assign(
        intensity=intensity,
        rate=dataset.operations / dataset.seconds / BILLION,
        products_rate=dataset.products_rate / BILLION,
        roof_intensity=("place", places),
        roof=("place", theory.attainable(peak, bandwidth, places) / BILLION),
    )


def reached(dataset: xr.Dataset) -> Table:
    """Return how fast one model trains, against the plain loop, and what a batch of models gains."""
    alone, together = dataset.seconds.isel(models=0), dataset.seconds.isel(models=-1)
    models = int(dataset.models[-1])
    columns = {
        "plain loop / ours": dataset.plain_seconds / alone,
        "steps a second": 1 / alone,
        "hours of 500,000 steps": 500_000 * alone / 3600,
        f"{models} models as one batch, times as fast": models * alone / together,
    }
    return Table.by({"size": "size"}, columns)


def limits(dataset: xr.Dataset) -> Table:
    """Return how near a step is to what the device can do, for one model and for several as one batch."""
    rate, intensity = dataset.operations / dataset.seconds, dataset.operations / dataset.traffic
    roof = theory.attainable(float(dataset.peak), float(dataset.bandwidth), intensity.transpose(*rate.dims).values)
    columns = {
        "operations a byte": intensity,
        "share of product": rate / dataset.peak,
        "share of roof": rate / roof,
        "products alone": rate / dataset.products_rate,
        "traffic alone": dataset.traffic / dataset.bandwidth / dataset.seconds,
    }
    return Table.by({"size": "size", "models": "models"}, columns)
