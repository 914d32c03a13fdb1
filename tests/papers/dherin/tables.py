"""Tables of this part, cell by cell."""

import numpy as np

from papers.dherin.generation import figures as generation
from papers.dherin.modern_blocks import figures as modern_blocks
from papers.dherin.real_models import figures as real_models
from papers.dherin.s3_implicit_dynamics import figures as dynamics
from papers.dherin.s4_1_agreement import figures as agreement
from papers.dherin.s4_3_convergence import figures as convergence
from papers.dherin.s4_4_finetuning import figures as finetuning
from papers.dherin.skip_connections import figures as skip_connections
from papers.dherin.static_patches import figures as static_patches
from tests.papers.tables import shows


def of_networks(values) -> float:
    """Return the mean over the networks."""
    return values.sum("seed", skipna=False) / values.sizes["seed"]


@shows(dynamics.ends, "dherin-linear-loss")
def squared_error(d, title, net, kind):
    tokens = {"error without context": 0, "with all of it": 100}[title]
    return of_networks(d.error.where(d.i == tokens, drop=True).sel(net=net, kind=kind)).item()


@shows(agreement.plateau, "dherin-plateau")
def plateau(d, title, of):
    """The one by the formula is that of N = 100 and d = 2, for all networks."""
    s = int(title.removeprefix("network ")) - 1
    return {
        "error of the prediction 0": d.loss_zero[s],
        "error of the block before training": d.loss_untrained[s],
        "error of the block after training": d.loss[s],
        "error of one gradient step": d.loss_step[s],
        "the same, by the formula": 2 * 3 / (100 + 2 + 1),
        "error of least squares": d.loss_ols[s],
        "difference of block and step": d.distance[s],
    }[of]


@shows(agreement.errors, "dherin-agreement-deep")
def errors(d, title, network):
    cell = d.isel(network=["4 blocks", "10 blocks"].index(network))
    return {
        "the network": cell.loss,
        "one gradient step, formula": 2 * 3 / (40 + 2 + 1),
        "no context": cell.loss_alone,
        "labels of another task": cell.loss_astray,
    }[title]


@shows(convergence.slopes, "dherin-marginal-updates")
def slopes(d, title, case):
    """Without softmax the steps do not follow κ: nothing is over it."""
    cell = of_networks(d.sel(case=case))
    return {
        "slope": cell.slope,
        "of the prediction": cell.output_slope,
        "step over κ": cell.scaled_late,
        "distance over κ": cell.apart_late,
        "falling steps": cell.falling,
    }[title]


@shows(convergence.ends, "dherin-layers-compared")
def layers(d, title, layer, state):
    cell = of_networks(d.sel(layer=layer, state=state))
    return {
        "slope": cell.slope,
        "last step over the update": cell["last"],
        "squared error at the end": cell.loss_end,
    }[title]


@shows(convergence.moved, "dherin-layers-compared")
def moved(d, title, layer, state):
    name = {"W A moves by": "moved_hidden", "the prediction moves by": "moved_output"}[title]
    return of_networks(d[name].sel(layer=layer, state=state))


@shows(convergence.rates, "dherin-rnn-rate")
def rates(d, title, initialisation):
    """The other layers of the page were trained with the rate 0.003; the faster training has 0.01."""
    what, _, of = title.partition(", ")
    network = {"rate 0.003": "rnn", "rate 0.01": "rnn_faster", "attention": "attention"}[of]
    return d[f"{ {'squared error': 'loss', 'slope': 'slope'}[what] }_{network}"].values[int(initialisation)]


@shows(finetuning.distances, "dherin-finetuning")
def distances(d, title, factor):
    """Mean curves of the networks; the stored numbers of examples are read as a linear axis, so all examples count alike."""
    own, patch = (of_networks(each).values for each in (d.loss_own.sel(factor=float(factor)), d.loss_patch))
    between = np.interp(np.arange(101), d.i.values, abs(own - patch))
    return {
        "mean distance along i, over the first loss": between.mean() / of_networks(d.loss_before).item(),
        "largest ratio": np.maximum(own / patch, patch / own).max(),
        "end, finetuned": own[-1],
        "end, patch": patch[-1],
    }[title]


@shows(finetuning.factors, "dherin-alignment")
def factors(d, title, what):
    cell = of_networks(d.where(d.i == 100, drop=True)[list(FACTORS.values())]).squeeze()
    return cell[FACTORS[what]]


FACTORS = {
    "ρ, alignment of both changes applied to A(x)": "alignment_query",
    "κ, the ceiling": "share",
    "share of the label part in the patch's squared length": "label_part",
    "alignment of the label parts": "alignment_label",
    "alignment of the patch with u(Gw)ᵀ": "alignment_mean",
    "alignment of the answer written in": "answer",
}


@shows(finetuning.positive, "dherin-alignment")
def positive(d, title, labels):
    return of_networks(d.positive.sel(labels=labels, i=100))


@shows(finetuning.two_starts, "dherin-two-starts")
def two_starts(d, title, variance):
    cell = of_networks(d.sel(start=variance, i=100))
    return {
        "alignment, one query": cell.alignment.sel(labels="true"),
        "alignment, many queries": cell.joint.sel(labels="true"),
        "ceiling κ": cell.share,
        "label share": cell.label_part,
        "answer written in": cell.answer,
    }[title]


@shows(finetuning.exact, "dherin-two-starts")
def exact(d, title, labels):
    row = ["true", "another task", "shuffled", "mirrored task", "query's label reversed", "negated"].index(labels)
    return (
        {"alignment, one query": d.exact, "alignment, many queries": d.exact_joint}[title]
        .transpose("labels", "i")
        .values[row, -1]
    )


@shows(generation.distinct, "dherin-generation")
def distinct(d, title, architecture):
    return of_networks(d.distinct.sel(architecture=architecture, choice=title))


@shows(generation.renumbered, "dherin-stale-patches")
def renumbered(d, title, architecture):
    """The worst network of each architecture."""
    place = {"alone": 0, "window": 1, "with gaps": 2}[title]
    return max(d.renumbered.sel(architecture=architecture).isel(place=place).values)


@shows(generation.stale_errors, "dherin-stale-trained")
def stale_errors(d, title, patch):
    """The mean over sets of contexts, each of which gives a median."""
    return d.error.sel(patches=patch).sum() / 20


@shows(skip_connections.left_over, "dherin-skip-connections")
def left_over(d, title, block):
    """All of the context is left out."""
    error = d["median"].sel(block=block, way=title).values[d["size"].values.argmax()]
    return "exact" if error < 1e-12 else error


@shows(static_patches.readings, "dherin-static-one-block")
def readings(d, title, reading):
    """The trained networks, queries from all of the plane."""
    cell = d.sel(part="median", network="trained", span=2, K=200)
    return {
        "squared error to the labels, with the context": cell.task_icl,
        "without it, without a patch": cell.task_none,
        "without it, patched": cell.task,
        "squared distance to the answers with the context, fitted queries": cell.calibration,
        "the same, cross-validated": cell.held_out,
    }[reading]


@shows(static_patches.ranks, "dherin-static-deep")
def ranks(d, title, block):
    network = {"four blocks": "4 blocks", "ten blocks": "10 blocks"}[title]
    return d["rank"].sel(part="median", network=network).transpose("block").values[int(block) - 1]


@shows(modern_blocks.agreement, "dherin-gemma")
def same_tokens(d, title, precision):
    form, _, made = title.partition(", ")
    return of_networks(d.agreement.sel(form=form, made=made, precision=precision))


@shows(real_models.sizes, "dherin-model-classes")
def sizes(d, title, model):
    """The largest change of any model in float32; of the errors in bfloat16, over its own, the geometric mean."""
    what, _, of = title.partition(", ")
    if what == "size":
        return max(d["size"].sel(model=model, precision="float32", patch=of).values)
    ratios = d.share.sel(model=model, made=of.removeprefix("made ")).values.ravel()
    return ratios.prod(dtype=float) ** (1 / len(ratios))


@shows(real_models.behind, "dherin-model-capacity")
def behind(d, title, tokens):
    """Medians over the models of all three classes in which there is such a gain."""
    equations, one = (d.sel(rows=int(tokens), gain=gain) for gain in ("equations", "one factor"))
    found = np.isfinite(equations.gain_error.values)
    return {
        "a gain that keeps ρ exists in": f"{found.sum()} of {found.size}",
        "size, equations": np.median(equations.gain_size.values[found]),
        "size, one factor": np.median(one.gain_size.values),
    }[title]


@shows(real_models.repeated, "dherin-model-capacity")
def repeated(d, title, text, fit):
    """Medians over the models."""
    name = {"error of the logits": "error", "behind a block": "stream", "size over that of the weights": "size"}[title]
    ordered = sorted(d[f"repeat_{name}"].sel(text=text, fit=fit).values)
    return (ordered[4] + ordered[5]) / 2


@shows(real_models.fitted, "dherin-recall")
def fitted(d, title, model, way):
    """Means of the answers, but the median of the sizes, over networks and contexts."""
    cell = d.sel(model=model, way=way)
    if title == "size over that of the weights":
        return np.median(cell["size"].values)
    return cell.accuracy.sel(group=title).sum() / (3 * 40)
