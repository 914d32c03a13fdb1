"""Tables of this part, cell by cell."""

from math import atan, comb, erfc, pi, sqrt

import numpy as np

from papers.li.s1_introduction import figures as introduction
from papers.li.s3_2_data_and_tasks import figures as data_and_tasks
from papers.li.s3_3_generalization import figures as generalization
from papers.li.s3_3_how_many_steps import figures as how_many_steps
from papers.li.s3_4_pruning import figures as pruning
from papers.li.s5_experiments import figures as experiments
from tests.papers.tables import shows


@shows(introduction.parts, "li-nonlinearity")
def parts(d, title, network):
    """Means over the networks; hinge and error are those of long prompts over all tasks at the smallest share."""
    cell = d.sel(variant=network)
    least = cell.sel(alpha=min(d.alpha.values))
    return {
        "step size": cell.eta,
        "steps to ½": cell.half.sum() / d.sizes["seed"],
        "feature part": cell.response.sum() / d.sizes["seed"],
        "hinge, small α′": least.hinge_alpha.sum() / d.sizes["seed"],
        "error, small α′": least.error_alpha.sum() / d.sizes["seed"],
        "hinge, small S₁": cell.hinge_S_1.sel(S_1=min(d.S_1.values)).sum() / d.sizes["seed"],
    }[title]


@shows(data_and_tasks.mass, "li-unseen-tasks")
def mass(d, title, tasks):
    return {"attention on the query's pattern, unseen tasks": d.mass.sel(set=tasks).sum() / d.sizes["seed"]}[title]


@shows(data_and_tasks.missed, "li-first-push")
def missed(d, title, tasks):
    """The stored distance, relative to the size of the map, model by model."""
    return {"relative distance from the grown push": d.miss.sel(set=tasks).sum() / d.sizes["seed"]}[title]


@shows(generalization.ratios, "li-coefficient-sum")
def ratios(d, title, setting):
    """Of a model: its mean feature response over its mean size of a label response; then the mean over models."""
    cell = d.sel(setting=setting)
    beta, q, M1 = {"A": (2, 1, 6), "B": (4, 0.5, 6)}[setting]
    measured = cell.feature_response.values.mean(-1) / abs(cell.label_response.values).mean(-1)
    return {"feature over label response": measured.mean(), "the same if rows were aligned": beta**2 / (M1 * q**2)}[title]


@shows(how_many_steps.exponents, "li-small-steps")
def exponents(d, title, letter):
    """Fitted again to the steps between the hinges 0.9 and 0.1, model by model, and to the stated law."""
    cells = d.cell_letter.values == {"α": "alpha", "β": "beta", "η": "eta", "M₁": "M1"}[letter]
    time = d.time.values[0, cells]  # of a cell, level and model
    counted = {
        "measured": time[:, list(d.level).index(0.1)] - time[:, list(d.level).index(0.9)],
        "stated": d.stated.values[cells],
    }
    return np.polyfit(np.log(d.cell_value.values[cells]), np.log(counted[title]), 1)[0].mean()


@shows(pruning.silent, "li-magnitudes")
def silent(d, title, share):
    """Setting A; the shares that have a formula on the page are computed by it, with b = |mean pattern| = 2 / sqrt(6)."""
    models, main = d.sizes["seed"], d.sel(setting="A")
    means, v = atan(2 / sqrt(6)) / pi, np.linspace(0, 9, 90001)
    normal, below = np.exp(-(v**2) / 2) / sqrt(2 * pi), np.vectorize(erfc)(v / sqrt(8)) / 2
    return {
        "initialisation: silent on the two means": d.silent_means.sum() / models,
        "initialisation: silent on the two means, by the formula": means,
        "initialisation: silent on all inputs": d.silent_inputs.sum() / models,
        "initialisation: silent on all inputs, by the formula": 2 * np.trapezoid(normal * below**6, v),
        "end: by the push on the means": min(means + 1 / 4, 1 / 2),
        "end: by the push on all inputs": d.pushed_inputs_theory,
        "end: rows trained one by one": main.silent_alone,
        "end: silent, measured": main.silent.sum() / models,
        "end: small, measured": main.small.sum() / models,
    }[{"share of the rows": share}[title]]


@shows(pruning.ends_small, "li-magnitudes")
def ends_small(d, title, heard):
    """Of the rows of all models together."""
    small, rows = (name.sel(kind=heard).values for name in (d.rows_small, d.rows))
    return {"rows": rows.sum(), "share that ends small": small.sum() / rows.sum()}[title]


@shows(pruning.mixed, "li-pruning-reasons")
def mixed(d, title, setting):
    cell, models = d.sel(setting=setting), d.sizes["seed"]
    return {
        "prompts that activate both labels": cell.mixed.sum() / models,
        "error, whole": cell.error.sel(order="random", R=0).sum() / models,
        "40% deleted, largest first": cell.error.sel(order="largest first", R=0.4).sum() / models,
        "40%, at random": cell.error.sel(order="random", R=0.4).sum() / models,
    }[title]


@shows(pruning.by_share, "li-pruning-shares")
def by_share(d, title, alpha):
    """The vote law is that of section 3.2, at 14 examples."""
    right, half = 1 - float(alpha), 7
    if title == "vote law":
        return (sum(comb(14, k) * right ** (14 - k) for k in range(half + 1, 15)) + comb(14, half) * right**half / 2) / 2**14
    return d.error.sel(alpha=float(alpha), deleted=title).sum() / d.sizes["seed"]


@shows(experiments.separation, "li-decoder-neurons")
def separation(d, title, layer):
    cell, models = d.sel(layer=int(layer)), d.sizes["seed"]
    if title == "share that grows":
        return cell.grown.sum() / models
    return cell.separation.sel(stage=title.removeprefix("separation, ")).sum() / models


@shows(experiments.changed, "li-classical-reasons")
def changed(d, title, variant):
    """Errors are means over models of 300 prompts each; where none was seen in all, half an error is put in its place."""
    errors = d.error.sel(variant=variant).sum("seed") / d.sizes["seed"]
    learners = errors.sel(learner=d.learner != "ICL")
    factors = np.maximum(learners, 0.5 / (300 * d.sizes["seed"])) / d.slides.sel(learner=learners.learner)
    return {
        "least ratio of a learner's error to the model's, shortest prompts": min(
            learners.sel(l=6).values / errors.sel(l=6, learner="ICL").item()
        ),
        "mean factor to the slides' errors": np.exp(abs(np.log(factors)).mean()),
    }[title]
