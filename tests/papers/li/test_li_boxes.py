"""The numbers of the boxes of Li et al., by a second route."""

import numpy as np
from boxes import PERCENT, Number, by_second_routes, mean


def nonlinearity(d):
    length = int(d.short.values.max())
    soft, linear = (
        np.array([mean(d.error_short.sel(variant=f"{attention}, {mlp}", short=length)) for mlp in ("ReLU", "linear")])
        for attention in ("softmax", "linear")
    )
    by_variant = d.error.mean("seed").values
    shortest = d.error_short.isel(short=0)
    return {
        "worst": Number(by_variant.max(), {"one seed": float(d.error.max()) + 1e-4}, PERCENT, least=1e-4),
        "l": Number(length, {"the shortest": int(d.short.values.min())}),
        "factor": Number(
            np.floor((soft / linear).min()),
            {
                "inverted": (linear / soft).min(),
                "the shortest": mean(shortest.sel(variant="softmax, ReLU")) / mean(shortest.isel(variant=-1)),
            },
        ),
    }


def li_training(d):
    hinge = d.hinge_training.sel(tasks="cyclic 3").mean("seed").values
    steps = [int(step) for step, value in zip(d.step.values, hinge, strict=True) if value < 0.5]
    error = d.error_training.mean("seed").transpose("step", ...).values
    return {
        "step": Number(
            steps[0], {"the one before": max(s for s in d.step.values if s < steps[0]), "the last": d.step.values[-1]}
        ),
        "error": Number(error[-1].max(), {"at the beginning": error[0].max()}, PERCENT, least=1e-4),
    }


def unseen_tasks(d):
    error = d.error.mean("seed").values
    covers = d.covers.values.astype(bool)
    good, bad = error[covers], error[~covers]
    return {
        "covered": Number(good.max(), {"in the mean": good.mean(), "the violating": bad.max()}, PERCENT, least=1e-4),
        "least": Number(bad.min(), {"the most": bad.max(), "all": error.min()}, PERCENT),
        "most": Number(bad.max(), {"the least": bad.min(), "in the mean": bad.mean()}, PERCENT),
    }


def coefficient_sum(d):
    half = d.sel(S_1=0.5)
    kept, scaled = (half[name].mean("seed").values for name in ("error", "error_rescaled"))
    hinge = {S_1: d.hinge.sel(S_1=S_1).mean("seed").values for S_1 in (0.5, 0.9)}
    return {
        "hinge": Number(hinge[0.9].max(), {"the least": hinge[0.9].min(), "at 0.5": hinge[0.5].max()}),
        "kept": Number(kept.max(), {"rescaled": scaled.max()}, PERCENT, least=1e-4),
        "scaled": Number(scaled.max(), {"the least": scaled.min(), "at one length": kept.max()}, PERCENT),
    }


def iterations(d):
    start = d.isel(start=0).mean("seed")
    times, slope = start.time, start.slope
    share = np.mean((times.sel(level=0.9) / times.sel(level=0.1)).values)
    ratio, late = (np.mean((times.sel(level=level) / start.escape_theory).values) for level in (0.5, 0.1))
    found = {letter: float(slope.sel(phase="to 0.1", letter=letter)) for letter in ("beta", "M1")}
    stated = {letter: float(d.slope_stated.sel(letter=letter)) for letter in ("beta", "M1")}
    slips = {name: {"the other letter": found["M1" if name == "beta" else "beta"], "stated": stated[name]} for name in found}
    return {
        "share": Number(share, {"what is left": 1 - share, "inverted": 1 / share}, PERCENT),
        "ratio": Number(ratio, {"inverted": 1 / ratio, "at the end": late}),
        "beta": Number(found["beta"], slips["beta"]),
        "M1": Number(found["M1"], slips["M1"]),
        "beta_stated": Number(stated["beta"], {"found": found["beta"], "of the other letter": stated["M1"]}),
        "M1_stated": Number(stated["M1"], {"found": found["M1"], "of the other letter": stated["beta"]}),
    }


def pruning(d):
    cell = d.sel(domain="out of domain", order="random")
    hinge, error = (cell[name].mean("seed") for name in ("hinge", "error"))
    R = 0.8
    both = {"hinge": hinge, "error": error}
    ends = {name: [float(each.sel(R=at, method="nearest")) for at in (0, R)] for name, each in both.items()}
    other = d.sel(domain=[name for name in d.domain.values if name != "out of domain"][0], order="random").mean("seed")
    return {
        "R": Number(R, {"what is left": 1 - R}, PERCENT),
        "before": Number(ends["hinge"][0], {"after": ends["hinge"][1]}),
        "after": Number(ends["hinge"][1], {"before": ends["hinge"][0], "all": float(hinge.isel(R=-1))}),
        "error_before": Number(ends["error"][0], {"after": ends["error"][1], "in domain": float(other.error.sel(R=0))}),
        "error_after": Number(ends["error"][1], {"all": float(error.isel(R=-1)), "the hinge loss": ends["hinge"][1]}),
    }


def attention(d):
    mass = {key: d.mass.sel(split="unseen tasks", setting=key).mean("seed").values for key in ("A", "B")}
    new = d.mass.sel(split=[name for name in d.split.values if name != "unseen tasks"][0], setting="A").mean("seed").values
    return {
        "start": Number(mass["A"][0], {"the end": mass["A"][-1]}),
        "A": Number(mass["A"][-1], {"the start": mass["A"][0], "setting B": mass["B"][-1]}),
        "B": Number(mass["B"][-1], {"the start": mass["B"][0], "setting A": new[-1]}),
    }


def decoder(d):
    length = int(d.l.values.max())
    errors = d.error.mean("seed")
    error = float(errors.sel(domain="in", alpha=0.8, l=length))
    other = [name for name in d.domain.values if name != "in"][0]
    slips = {
        "the shortest": float(errors.sel(domain="in", alpha=0.8).isel(l=0)),
        "the other domain": float(errors.sel(domain=other, alpha=0.8, l=length)),
        "the least share": float(errors.sel(domain="in", l=length).isel(alpha=-1)),
    }
    same = {name for name, value in slips.items() if abs(value - error) < 1e-4}
    return {
        "l": Number(length, {"the shortest": int(d.l.values.min())}),
        "error": Number(error, {name: value for name, value in slips.items() if name not in same}, PERCENT),
    }


ROUTES = {
    "li-nonlinearity": nonlinearity,
    "li-training": li_training,
    "li-unseen-tasks": unseen_tasks,
    "li-coefficient-sum": coefficient_sum,
    "li-iterations": iterations,
    "li-pruning": pruning,
    "li-attention": attention,
    "li-decoder": decoder,
}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
