"""Figures of what a block with an MLP learns of tasks with a mean."""

import xarray as xr
from matplotlib.figure import Figure

from icl_lib.companion import Table, at_most, drawing, each, equality, legend, line, points, rounded, series, span

WITH = "with a mean"


def _alt_optimum(dataset: xr.Dataset) -> str:
    last = dataset.isel(mean=-1)
    return (
        f"Least risk against the length of the mean, a panel for each of {dataset.sizes['shape']} shapes. The block's "
        "markers lie on a level line. Those of attention without an MLP begin there and rise, just below a dashed line; at the "
        f"right they are {span(last.attention / last.block, '.1f')} times as high."
    )


@drawing(
    "lenses-own-optimum",
    alt=_alt_optimum,
    caption=(
        "Least risk beyond the noise, found by descent of the exact risk, against the length of the tasks' mean. Lines: "
        "<i>R</i>*(Ψ) for the block, and for attention without an MLP the bound <i>R</i>*(Ψ + μμ<sup>T</sup>), the mean as "
        "variance, and the floor of one head. The MLP's row takes the mean away."
    ),
    size=lambda dataset: (2.4 + 2.5 * dataset.sizes["shape"], 3.7),
)
def own_optimum(figure: Figure, dataset: xr.Dataset) -> None:
    """Least risks against the mean, with and without an MLP."""
    panels = figure.subplots(1, dataset.sizes["shape"], squeeze=False)[0]
    for axes, (_, cell) in zip(panels, each(dataset, "shape"), strict=True):
        line(axes, cell, "upper", "mean", 1, label="mean as variance")
        line(axes, cell, "floor", "mean", 2, label="floor of one head")
        series(axes, cell, "block", "mean", theory=("block_theory", "mean"), label="block with an MLP")
        points(axes, cell, "attention", "mean", 3, label="attention without an MLP")
        axes.set(title=cell.shape.item(), xlabel=r"$|\mu|$", ylabel="least risk", ylim=(0, None))
    legend(*panels, columns=2)


def _alt_floor(dataset: xr.Dataset) -> str:
    return (
        "Least risk as a share of that of no answer, against the number of heads, on a logarithmic axis. It falls from "
        f"{float(dataset.share.max()):.2f} with one head, and stays level from d heads on without noise, from d + 1 on with "
        "noise. All markers are on the lines of the formula."
    )


@drawing(
    "lenses-head-floor",
    alt=_alt_floor,
    caption=(
        "One task, the same in all prompts, answered by linear attention without an MLP: least risk over that of no answer. "
        "Lines: 2/(<i>NH</i> + 2), level from <i>H</i> = <i>d</i> without noise and from <i>d</i> + 1 with noise. An MLP would "
        "answer without error."
    ),
    size=(7.0, 3.7),
)
def head_floor(figure: Figure, dataset: xr.Dataset) -> None:
    """The floor against heads, a panel for each noise."""
    panels = figure.subplots(1, dataset.sizes["noise"], squeeze=False, sharey=True)[0]
    for axes, (_, cell) in zip(panels, each(dataset, "noise"), strict=True):
        series(axes, cell, "share", "heads", "shape", theory=("share_theory", "heads"), label="{shape}")
        axes.set(yscale="log", title=f"noise {cell.noise.item():g}", xlabel="heads $H$", ylabel="risk / risk of no answer")
        axes.set_xticks(dataset.heads.values)
    legend(*panels, columns=3)


def _alt_blocks(dataset: xr.Dataset) -> str:
    found = dataset.sel(tasks=WITH)
    return (
        f"Scatter plots of how a context moves the MLP's row, a panel for each of {dataset.sizes['block']} trained blocks in "
        f"each of {dataset.sizes['shape']} shapes. "
        "Circles, by the gradient at the MLP's own row, lie near the diagonal and leave up to "
        f"{at_most(found.unexplained.max(), '.1%')} of the step's square. Crosses, by the gradient at 0, scatter widely and "
        f"leave {span(found.unexplained_zero, '.0%')}."
    )


@drawing(
    "lenses-trained-blocks",
    alt=_alt_blocks,
    caption=(
        "How a context moves the row by which a trained block answers, entry by entry, against what one matrix times a "
        "gradient on that context gives. Circles: gradient at the row of the MLP alone. Crosses: gradient at 0. Titles: "
        "attention, MLP, dimension and length."
    ),
    size=lambda dataset: (7.2, 0.6 + 2.9 * dataset.sizes["block"]),
)
def trained_blocks(figure: Figure, dataset: xr.Dataset) -> None:
    """Steps against what gradients at two places explain."""
    panels = figure.subplots(dataset.sizes["block"], dataset.sizes["shape"], squeeze=False).flat
    cells = (cell for _, block in each(dataset, "block") for _, cell in each(block, "shape"))
    for axes, block in zip(panels, cells, strict=True):
        flat = block[["step", "own", "zero"]].stack(place=("context", "entry")).reset_index("place", drop=True)
        ends = float(abs(flat.step).max())
        equality(axes, -ends, ends)
        points(axes, flat, "step", "zero", 1, marker="x", markersize=3.5, label="gradient at 0")
        points(axes, flat, "step", "own", 0, markerfacecolor="none", markersize=3.5, label="gradient at the MLP's own row")
        axes.set(title=f"{block.block.item()}: {block.shape.item()}", xlabel="matrix times gradient", ylabel="step of the row")
    legend(*figure.axes, columns=2)


def rows(dataset: xr.Dataset) -> Table:
    """Return what each trained block is, for tasks with a mean."""
    found = dataset.sel(tasks=WITH)
    columns = {
        "risk over the optimum's": found.risk / found.risk_optimum,
        "row off μ": found.row_off,
        "left of the step's square": found.unexplained,
        "left by the gradient at 0": found.unexplained_zero,
        "matrix off Γ⁻¹": found.G_off,
    }
    return Table.by({"block": "attention, MLP", "shape": "shape"}, columns, rounded)


@drawing(
    "lenses-read-out",
    alt=lambda dataset: (
        "Tangent of the angle between W r and the read-out after training, against the prediction from the initialisation, "
        f"both axes logarithmic. Filled markers lie on the diagonal, from {float(dataset.tangent.min()):.0e} at the smallest "
        f"scale to {float(dataset.tangent.max()):.2f} at the largest; crosses lie beside it."
    ).replace("e-0", "e-"),
    caption=(
        "Tangent of the angle of the change <i>Wr</i> to the read-out <i>u</i> at the end of gradient flow of all weights, "
        "against what the initialisation's <i>Q</i> = <i>uu</i><sup>T</sup> − <i>WW</i><sup>T</sup> predicts. One marker a "
        "flow. Crosses: with <i>uu</i><sup>T</sup> of the initialisation for <i>Q</i>."
    ),
    size=(5.6, 4.2),
)
def read_out(figure: Figure, dataset: xr.Dataset) -> None:
    """Angles after training against those predicted from the initialisation."""
    axes = figure.subplots()
    near = dataset.assign(tangent_near=dataset.tangent_near.sel(mistake="u uᵀ for Q", drop=True))
    for k, cell in each(near, "scale"):
        points(axes, cell, "tangent", "tangent_near", k, marker="x", markersize=4)
        points(axes, cell, "tangent", "tangent_theory", k, label="scale {scale:g}")
    equality(axes, float(dataset.tangent_theory.min()) / 2, float(dataset.tangent_theory.max()) * 2)
    axes.set(xscale="log", yscale="log", xlabel="predicted from the initialisation", ylabel="tangent at the end of training")
    axes.legend(loc="lower right")
