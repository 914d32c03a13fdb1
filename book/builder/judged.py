"""What the claims say about the results of an executed notebook: judged once, and kept beside it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import xarray as xr

from book.builder.cache import NOTE, Executed
from book.builder.problem import Problem
from icl_lib.companion import Experiment, Judgement, digests, origins, results, writing
from papers import BOOK, registry


def of(one: Executed, profile: str) -> dict[str, dict]:
    """Every claim on what an executed notebook left, or in full on the stored results of its room, by slug.

    They are judged again where a stored result is another than then, or the note itself. Raises Problem when a stored
    result is not what was written.
    """
    return _noted(one, profile)["results"]


def require_sound(executed: Iterable[Executed], stored: Iterable[Path]) -> None:
    """Raise Problem when a stored result is not what was written, whatever it answers for; those that were judged are."""
    known = {file: digest for one in executed for file, digest in _noted(one, "full")["stored"].items()}
    for path in stored:
        if known.get(path.name) != digests.of_file(path):
            with told():
                results.load(path, BOOK)


def _noted(one: Executed, profile: str) -> dict[str, dict]:
    path = one.folder / NOTE.format(profile)
    found = writing.read_json(path, dict) or {}
    whole = found.pop("digest", None) == digests.of_json(found)
    if not whole or any(digests.of_file(BOOK.store / file) != digest for file, digest in found["stored"].items()):
        found = judge(one.name, one.folder, profile)
    return found


def judge(name: str, folder: Path, profile: str) -> dict[str, dict]:
    """Judge the results of the notebook ``name`` that was executed into ``folder``, or those stored; note it there."""
    own = [experiment for experiment in registry.EXPERIMENTS.values() if experiment.notebook == name]
    if profile == "full":
        weights = {name for each in own for name in registry.trainings_of(each.full)}  # a result answers for them, too
        files = [*(f"{each.slug}.full.nc" for each in own), *(f"weights/{name}.safetensors" for name in sorted(weights))]
        stored = {file: digests.of_file(BOOK.store / file) for file in files}  # before they are read
        datasets, entry = [full_dataset(experiment) for experiment in own], _with_slack
    else:
        datasets, entry = [results.load(path) for path in sorted((folder / "results").glob("*.quick.nc"))], _entry
        stored = {}
    judged = {dataset.attrs["slug"]: _judged(dataset, entry) for dataset in datasets if dataset is not None}
    found = {"results": judged, "stored": stored}
    writing.write_json(folder / NOTE.format(profile), found | {"digest": digests.of_json(found)})
    return found


def work(name: str, folder: str, *profiles: str) -> int:
    """Judge in a process of its own; print a problem in one line, return an exit status."""
    try:
        for profile in profiles:
            judge(name, Path(folder), profile)
    except Problem as problem:
        print(problem, flush=True)
        return 1
    return 0


def full_dataset(experiment: Experiment) -> xr.Dataset | None:
    """The stored measurements with what is expected of them, if they still answer for the code."""
    try:
        with told():
            return experiment.expect(results.stored(experiment))
    except results.StaleResult:
        return None


@contextmanager
def told() -> Iterator[None]:
    """Tell the reader when a file is not what was written."""
    try:
        yield
    except results.Damaged as error:
        raise Problem(f"{error}.") from error


def _judged(dataset: xr.Dataset, kept: Callable[[Judgement], dict]) -> dict:
    claims = {claim.id: kept(claim.judge(dataset)) for claim in registry.claims_of(dataset.attrs["slug"])}
    return {"declaration": dataset.attrs["declaration"], "trained": origins.trained(dataset.attrs), "claims": claims}


def _with_slack(judgement: Judgement) -> dict[str, object]:
    """What is kept of a claim about a stored result: slack besides, for which quick data are too coarse."""
    return _entry(judgement) | {"slack": _number(judgement.slack)}


def _number(value: float) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None


def _entry(judgement: Judgement) -> dict[str, object]:
    return {
        "verdict": judgement.verdict,
        "control": judgement.control_verdict,
        "value": judgement.value,
        "two_se": judgement.two_se,
        "margin": judgement.margin,
        "positive": judgement.positive_verdict,
        "resolution": judgement.resolution if np.isfinite(judgement.resolution) else None,
        "near": bool(judgement.near),
        "rounding": judgement.claim.rounding,
    }
