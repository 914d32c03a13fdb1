"""`./run check`: experiments run and their claims judged; what contradicts the record, and what the data leave open."""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator

from tqdm import tqdm

from icl_lib.companion import FAILS, HOLDS, UNDECIDED, Experiment, Judgement, require_device
from icl_lib.needed import require_beside
from papers import registry, renewal

PROGRESS = "{n}/{total} after {elapsed}, {remaining} to go"
OFTEN = 10
"""Seconds after which one who sees no terminal is told how far it is."""


def run(options: argparse.Namespace) -> int:
    """Run experiments and judge their claims; 1 when one contradicts the record, each of which is named."""
    require_device(options.device)
    if options.settings and not options.slugs:
        raise ValueError("--set changes a field of an experiment: name the experiment")
    experiments = [registry.asked(slug, options.profile, options.settings) for slug in options.slugs]
    experiments = experiments or [
        each.with_settings(options.profile, options.settings) for each in registry.EXPERIMENTS.values()
    ]
    for experiment in experiments:  # what one of them lacks is told before the first is run
        require_beside(experiment.slug, *experiment.needs)
    renewal.announce(renewal.alike([experiment.slug for experiment in experiments], options), options.settings)
    rows, wrong = 0, {}
    for experiment in counted(experiments):
        began = time.perf_counter()
        dataset = experiment.run(options.profile, options.seed, options.device)
        seconds = time.perf_counter() - began
        for claim in registry.claims_of(experiment.slug):
            judgement = claim.judge(dataset)
            tell(_row(judgement, seconds), options.json, rows == 0)
            rows += 1
            if said := remark(judgement, options.profile, bool(options.settings)):
                tqdm.write(f"{claim.id}: {said}", file=sys.stderr)
            if found := contradiction(judgement, options.profile, bool(options.settings)):
                wrong[claim.id] = found
    if options.json:
        print("\n]" if rows else "[]")
    for claim_id, found in wrong.items():
        print(f"{claim_id} contradicts the record: {found}", file=sys.stderr)
    return 1 if wrong else 0


def counted(experiments: list[Experiment]) -> Iterator[Experiment]:
    """Yield experiments, and say on the error stream how many are done: a line on a terminal, else one now and then."""
    began = told = time.monotonic()
    bar = tqdm(experiments, bar_format=PROGRESS, disable=None, leave=False)
    for done, experiment in enumerate(bar):
        if bar.disable and (now := time.monotonic()) - told > OFTEN:
            told = now
            print(f"{done} of {len(experiments)} results after {now - began:.0f} s", file=sys.stderr, flush=True)
        yield experiment


def tell(row: dict[str, object], as_json: bool, first: bool) -> None:
    """Print a row as soon as it is known; rows in JSON are the entries of one list."""
    if as_json:
        tqdm.write(("[\n" if first else ",\n") + json.dumps(row, indent=2), end="")
    else:
        tqdm.write(" ".join(f"{key}={value}" for key, value in row.items()))
    sys.stdout.flush()


def contradiction(judgement: Judgement, profile: str, own_settings: bool = False) -> str:
    """Return how a judgement contradicts what is recorded, or nothing.

    In quick, undecided contradicts nothing, nor is it contradicted. A near miss has to fail, but for those that the data cannot
    tell: undecided in quick, of a sampled formula in quick, or in settings of the reader's own.
    """
    quick, near = profile == "quick", judgement.control_verdict
    verdict, recorded = judgement.verdict, judgement.claim.recorded
    if verdict != recorded and not (quick and UNDECIDED in (verdict, recorded)):
        return f"{verdict}, recorded: {recorded}"
    told_apart = near == FAILS or own_settings or (quick and (near == UNDECIDED or math.isfinite(judgement.resolution)))
    return "" if told_apart else f"its near miss {_said(near)}, and has to fail"


def remark(judgement: Judgement, profile: str, own_settings: bool = False) -> str:
    """Return what a reader has to know of a judgement that contradicts nothing: a near miss that these data do not reject."""
    near = judgement.control_verdict
    if near == FAILS or contradiction(judgement, profile, own_settings):
        return ""
    finer = ", those of --profile full may" if profile == "quick" else ""
    return f"its near miss {_said(near)}; these data cannot tell it from the claim{finer}"


def _said(verdict: str) -> str:
    return verdict if verdict in (HOLDS, FAILS) else f"is {verdict}"


def _row(judgement: Judgement, seconds: float) -> dict[str, object]:
    return {
        "claim": judgement.claim.id,
        "verdict": judgement.verdict,
        "control_verdict": judgement.control_verdict,
        "value": judgement.value if math.isfinite(judgement.value) else None,  # for which JSON has no number
        "margin": judgement.margin,
        "seconds": round(seconds, 2),
    }
