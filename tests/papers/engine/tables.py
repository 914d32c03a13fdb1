"""Tables of this part, cell by cell."""

from papers.engine import figures
from tests.papers.tables import shows


@shows(figures.reached, "engine-roofline")
def reached(d, title, size):
    """Of one model; the batch does a step of four models at once."""
    of_size = d.sel(size=size)
    one, four = (float(of_size.seconds.sel(models=models)) for models in (1, 4))
    return {
        "plain loop / ours": of_size.plain_seconds / one,
        "steps a second": 1 / one,
        "hours of 500,000 steps": 500_000 / 60 * one / 60,
        "4 models as one batch, times as fast": 4 * one / four,
    }[title]


@shows(figures.limits, "engine-roofline")
def limits(d, title, size, models):
    cell = d.sel(size=size, models=int(models))
    at_peak, moved, in_products = (
        float(amount) for amount in (cell.operations / d.peak, cell.traffic / d.bandwidth, cell.operations / cell.products_rate)
    )
    return {
        "operations a byte": cell.operations / cell.traffic,
        "share of product": at_peak / cell.seconds,
        "share of roof": max(at_peak, moved) / cell.seconds,
        "products alone": in_products / cell.seconds,
        "traffic alone": moved / cell.seconds,
    }[title]
