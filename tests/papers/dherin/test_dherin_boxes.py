"""The numbers of the boxes of Dherin et al., by a second route."""

import numpy as np
from boxes import PERCENT, Number, by_second_routes, mean

EXACT = ["all matrices", "last alone"]


def identity(d):
    worst = float(np.nanmax(d.error.values))
    bare = float(np.median(d.error_bare.isel(size=-1).values))
    return {
        "exact": Number(worst, {"the median": float(np.nanmedian(d.error.values))}),
        "missing": Number(
            bare, {"with the change": worst, "the smallest context": float(np.median(d.error_bare.isel(size=0).values))}
        ),
    }


def linear_loss(d):
    true, noise = d.kind.values[[0, -1]]
    trained = d.sel(net="trained").mean("seed")

    def left(kind: str) -> float:
        course = trained.error.sel(kind=kind).values
        return course[-1] / course[0]

    fall, few = (
        {str(kind): mean(each.sel(net="trained", kind=kind)) for kind in d.kind.values}
        for each in (d.fall_tasks, d.fall[..., -1])
    )
    ratio = fall[noise] / fall[true]
    return {
        "fall": Number(ratio, {"inverted": 1 / ratio, "over few prompts": few[noise] / few[true]}),
        "true": Number(left(true), {"noise": left(noise), "inverted": 1 / left(true)}, PERCENT),
        "noise": Number(left(noise), {"true": left(true), "inverted": 1 / left(noise)}, PERCENT),
    }


def agreement(d):
    own, other = (d.difference.sel(way=way) for way in ("patch", "another task's patch"))
    return {
        "gap": Number(float(own.max()), {"the median": float(own.median()), "the other patch": float(other.max())}),
        "stale": Number(float(other.max()), {"at the end": float(other.isel(step=-1).max()), "own": float(own.max())}),
    }


def layers_compared(d):
    error = {str(layer): mean(d.loss_end.sel(state="trained", layer=layer)) for layer in d.layer.values}
    attention = next(name for name in error if "attention" in name)
    other = next(name for name in error if name not in (attention, "GRU"))
    return {
        "gru": Number(error["GRU"], {"attention": error[attention], "the other": error[other]}),
        "attention": Number(error[attention], {"the GRU": error["GRU"], "the other": error[other]}),
    }


def alignment(d):
    last = d.alignment.transpose("i", ...).isel(i=-1)
    first = d.alignment.isel(i=1)
    found = {str(labels): mean(last.sel(labels=labels)) for labels in d.labels.values}
    share = mean(d.share.isel(i=-1)) if "i" in d.share.dims else mean(d.share)
    return {
        "aligned": Number(found["true"], {"another task": found["another task"], "the first": mean(first.sel(labels="true"))}),
        "other": Number(found["another task"], {"true labels": found["true"], "the ceiling": share}),
        "ceiling": Number(share, {"aligned": found["true"], "a half of it": share / 2}),
    }


def positions(d):
    error = d.error.values[np.isfinite(d.error.values)]
    return {"exact": Number(error.max(), {"the median": np.median(error), "the least": error.min()})}


def generation(d):
    anew, last = (d.differ.sel(patches=name).values for name in ("recomputed", "last block without"))
    return {
        "differ": Number(anew.max(), {"the last block left out": last.mean()}, PERCENT),
        "unpatched": Number(last.mean(), {"at most": last.max(), "anew": anew.mean()}, PERCENT),
    }


def modern_blocks(d):
    whole = d.error.sel(patch="whole")
    other = d.error.sel(patch=[name for name in d.patch.values if name != "whole"])
    return {
        "count": Number(len({*map(str, d.architecture.values)}), {"of seeds": len(d.seed)}),
        "exact": Number(float(whole.max()), {"the median": float(whole.median()), "the others": float(other.max())}),
    }


def skip_connections(d):
    medians = d["median"].isel(block=0)
    at = medians.sel(share=medians.share.values.max())
    none = float(at.sel(way="no patch"))
    bias, matrix = (float(at.sel(way=f"without the {part}")) / none for part in ("bias", "matrix"))
    least = medians.isel(share=0)
    slip = float(least.sel(way="without the bias") / least.sel(way="no patch"))
    exact = float(medians.sel(way="both parts").max())
    return {
        "exact": Number(exact, {"no patch": none, "without the bias": bias * none}),
        "bias": Number(bias, {"the matrix": matrix, "the other end": slip, "inverted": 1 / bias}, PERCENT),
        "matrix": Number(matrix, {"the bias": bias, "inverted": 1 / matrix}, PERCENT),
    }


def static_one_block(d):
    cell = d.sel(part="median").isel(span=-1)
    rank = int(cell["rank"].sel(network="trained"))
    most = int(d.K.values.max())

    def left(fit: str, K: int, network: str = "trained") -> float:
        return float(cell.error.sel(fit=fit, K=K, network=network))

    squares = "least squares"
    first, end = left(squares, rank), left(squares, most)
    return {
        "left": Number(first, {"after the most": end, "of one query": left(squares, int(d.K.values.min()))}, PERCENT),
        "most": Number(end, {"after the rank": first, "the average": left("average", most)}, PERCENT),
        "average": Number(
            left("average", most), {"fitted": end, "before training": left("average", most, "before training")}, PERCENT
        ),
        "untrained": Number(left(squares, most, "before training"), {"trained": end, "at the rank": first}, PERCENT),
        "K": Number(rank, {"the most": most}),
        "many": Number(most, {"the rank": rank}),
    }


def model_classes(d):
    cells = d.sel(precision="float32")
    worst = float(np.max([cells[name].sel(patch=patch).values.max() for name in ("error", "stream") for patch in EXACT]))
    rounded = float(d.error.sel(precision="bfloat16", patch=EXACT).max())
    return {
        "count": Number(len({*map(str, d.model.values)}), {"of models each": len(d.seed)}),
        "exact": Number(worst, {"in bfloat16": rounded, "the median": float(cells.error.sel(patch=EXACT).median())}),
    }


def placebo(d):
    risk = {str(name): mean(d.risk.sel(vector=name)) for name in d.vector.values}
    ratio = risk["labels shuffled"] / risk["own context"]
    others = {name: value / risk["own context"] for name, value in risk.items() if name != "labels shuffled"}
    return {"shuffled": Number(ratio, {"inverted": 1 / ratio, **others})}


ROUTES = {
    "dherin-identity": identity,
    "dherin-linear-loss": linear_loss,
    "dherin-agreement": agreement,
    "dherin-layers-compared": layers_compared,
    "dherin-alignment": alignment,
    "dherin-positions": positions,
    "dherin-generation": generation,
    "dherin-modern-blocks": modern_blocks,
    "dherin-skip-connections": skip_connections,
    "dherin-static-one-block": static_one_block,
    "dherin-model-classes": model_classes,
    "dherin-placebo": placebo,
}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
