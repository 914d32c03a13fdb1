"""Calibration of the formulas: deviations in standard errors over many seeds, which theory says are those of Student's t."""

import argparse

import numpy as np
from scipy.special import stdtr

from icl_lib.companion import FAILS, Agreement, Claim, results, writing
from papers import BOOK, registry, sweep_commands

STORED = BOOK.store / "calibration.json"
PROFILE, BINS = "quick", 20


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser("calibrate", help="how often formulas fail over many seeds; continues where it was stopped")
    command.add_argument("--seeds", type=sweep_commands.seed_list, default=tuple(range(1, 51)), metavar="1-50")
    command.add_argument("--jobs", type=sweep_commands.positive, default=2, metavar="N", help="processes at a time")


def sampled() -> dict[str, list[Claim]]:
    """Return the claims that compare samples with an exact expectation, by experiment."""
    found: dict[str, list[Claim]] = {}
    for slug, experiment in registry.EXPERIMENTS.items():
        formulas = [claim for claim in registry.claims_of(slug) if claim.kind == "formula"]
        if formulas:
            dataset = experiment.expect(results.stored(experiment))
            chosen = [claim for claim in formulas if _has_errors(claim.check(dataset))]
            found |= {slug: chosen} if chosen else {}
    return found


def _has_errors(found) -> bool:
    return isinstance(found, Agreement) and bool(np.isfinite(found.resolution))


def run(options: argparse.Namespace) -> int:
    """Measure every sampled formula with every seed in the quick profile, and write how the deviations are spread."""
    claims, folder = sampled(), BOOK.build / "calibration"
    plan = sweep_commands.Plan(tuple(claims), PROFILE, options.seeds, settings=(), device="cpu")
    status = sweep_commands.run(argparse.Namespace(**vars(plan), jobs=options.jobs, dask=None, shard="1/1", out=folder))
    if status:
        return status
    shares, rows = [], []
    for slug, chosen in claims.items():
        experiment = registry.experiment(slug)
        datasets = [experiment.expect(results.load(folder / plan.file(slug, seed))) for seed in options.seeds]
        for claim in chosen:
            found = [claim.check(dataset) for dataset in datasets]
            shares.append(np.concatenate([stdtr(each.blocks - 1, each.deviations) for each in found]))
            rows.append(_row(claim, found) | {"identity": experiment.origin(PROFILE, 0)["identity"]})
    counts = np.histogram(np.concatenate(shares), BINS, (0, 1))[0].tolist()
    content = {"commit": results.commit(BOOK), "seeds": len(options.seeds), "histogram": counts, "claims": rows}
    writing.write_json(STORED, content)
    failed = sum(row["failed"] for row in rows)
    print(
        f"{len(rows)} formulas with {len(options.seeds)} seeds: {failed} of {len(rows) * len(options.seeds)} verdicts fail; "
        f"{STORED.relative_to(BOOK.root)} is written."
    )
    return 0


def _row(claim: Claim, found: list[Agreement]) -> dict[str, object]:
    """Return cells, the root mean square of the deviations in standard errors, and how often the formula fails."""
    deviations = np.concatenate([each.deviations for each in found])
    failed = sum(each.verdict(np.inf) == FAILS for each in found)
    return {
        "claim": claim.id,
        "experiment": claim.experiment,
        "cells": found[0].deviations.size,
        "rms": round(float((deviations**2).mean() ** 0.5), 3),
        "mean": round(float(deviations.mean()), 3),
        "largest": round(float(abs(deviations).max()), 2),
        "quantile": round(found[0].quantile, 2),
        "failed": failed,
    }
