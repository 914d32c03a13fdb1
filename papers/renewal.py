"""Renewal: what is outdated among shipped networks and stored results is computed again, and compared with what was there."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from icl_lib.companion import digests, origins, results, weights, writing
from icl_lib.companion.sweep import Incomplete, local_pool, one_thread
from icl_lib.typed import unknown
from papers import BOOK, registry

ROUNDING = {4: 1e-5, 8: 1e-9}
"""Largest difference that counts as rounding, as a share of a variable's largest entry, by the bytes of a number."""
PATIENCE = 5
"""Seconds for which a command may be silent."""
NOTHING = 1e-12
"""Entries up to here are rounding themselves."""


@dataclass(frozen=True)
class Network:
    """The weights of a shipped training with one seed."""

    training: str
    seed: int = 0

    @property
    def path(self) -> Path:
        """Where it is stored."""
        return BOOK.weights(self.training, self.seed)

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.stem

    def reason(self) -> str | None:
        """Return why it is outdated, or None."""
        return weights.outdated(self.path, registry.TRAININGS[self.training], self.seed)

    def attributes(self) -> Mapping[str, str]:
        """Return the provenance of the stored file, empty when there is none."""
        return weights.attributes(self.path) or {}

    def renew(self, device: str) -> str:
        """Train, replace the stored file and say how the new weights compare with the old ones."""
        old = weights.read(self.path)[0] if self.attributes() else {}
        training, began = registry.TRAININGS[self.training], time.perf_counter()
        made_from = results.provenance(self.training, "weights", origins.origin(training, self.seed, device), BOOK)
        new = training.train(self.seed, device)
        made_from["seconds"] = f"{time.perf_counter() - began:.2f}"
        weights.save_weights(new, made_from, self.path)
        return compared({k: v.numpy() for k, v in old.items()}, {k: v.cpu().float().numpy() for k, v in new.items()})


@dataclass(frozen=True)
class Result:
    """The stored measurements of an experiment."""

    name: str

    @property
    def path(self) -> Path:
        """Where they are stored."""
        return BOOK.result(self.name)

    def reason(self) -> str | None:
        """Return why they are outdated, or None."""
        try:
            results.stored(registry.EXPERIMENTS[self.name])
        except results.StaleResult as error:
            return str(error)
        return None

    def attributes(self) -> Mapping[str, str]:
        """Return the provenance of the stored file, empty when there is none."""
        try:
            return results.attributes(self.path)
        except results.StaleResult:
            return {}

    def variables(self) -> Mapping[str, xr.Variable]:
        """Return the stored variables, none when there is no file or it is not what was written."""
        try:
            return results.load(self.path).variables
        except results.StaleResult:
            return {}

    def renew(self, device: str) -> str:
        """Measure, replace the stored file, and say how numbers compare with the old ones and verdicts with the record."""
        experiment = registry.EXPERIMENTS[self.name]
        old = self.variables()
        measured = experiment.measure("full", 0, device)
        dataset = experiment.expect(measured)
        judged = [claim.judge(dataset) for claim in registry.claims_of(self.name)]
        results.save(measured, self.path)
        other = [f"{j.claim.id} {j.verdict}, recorded: {j.claim.recorded}" for j in judged if j.verdict != j.claim.recorded]
        other += [f"{j.claim.id}'s control {j.control_verdict}" for j in judged if j.control_verdict != "fails"]
        numbers = compared({k: v.values for k, v in old.items()}, {k: v.values for k, v in measured.variables.items()})
        return f"{numbers}; " + (f"VERDICTS: {'; '.join(other)}" if other else "verdicts as recorded")


Item = Network | Result


def compared(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> str:
    """Return whether the arrays that both have are equal to the bit, within rounding, or changed, and which."""
    both = [name for name in new if name in old]
    if not both:
        return "new"
    apart = {name: distance(old[name], new[name]) for name in both}
    changed = {name: far for name, far in apart.items() if far > ROUNDING.get(new[name].dtype.itemsize, 0)}
    worst = max(apart.values())
    gone = [name for name in old if name not in new]
    text = "equal to the bit" if worst == 0 else f"within rounding ({worst:.1e} of the largest entry)"
    if changed:
        text = "CHANGED: " + ", ".join(f"{name} by {far:.1e}" for name, far in sorted(changed.items(), key=lambda one: -one[1]))
    return text + (f"; no longer stored: {', '.join(gone)}" if gone else "")


def distance(old: np.ndarray, new: np.ndarray) -> float:
    """Return the largest difference of two arrays over the largest entry; infinite when they cannot be compared."""
    if old.shape != new.shape or old.dtype.kind not in "fiub" or new.dtype.kind not in "fiub":
        return 0.0 if old.shape == new.shape and (old.astype(str) == new.astype(str)).all() else np.inf
    if np.array_equal(old, new, equal_nan=old.dtype.kind == "f"):
        return 0.0
    if (np.isnan(old.astype(float)) != np.isnan(new.astype(float))).any():
        return np.inf
    largest = max(np.nanmax(abs(each.astype(float))) for each in (old, new))
    return float(np.nanmax(abs(old.astype(float) - new)) / largest) if largest > NOTHING else float(NOTHING)


def items(names: list[str]) -> tuple[list[Item], list[Item]]:
    """Return the named networks and results, or all there are; raises ValueError for a name that is neither."""
    networks = [Network(name, seed) for name in registry.TRAININGS for seed in range(registry.runs(name))]
    known = {network.name for network in networks} | {*registry.EXPERIMENTS}
    if others := [name for name in names if name not in known]:
        raise ValueError(unknown("result or shipped network", others[0], sorted(known)))
    networks = [network for network in networks if not names or network.name in names]
    return networks, [Result(slug) for slug in registry.EXPERIMENTS if not names or slug in names]


def renew(names: list[str], device: str, jobs: int, everything: bool, say: Callable[[str], None]) -> None:
    """Compute what is outdated among the named, or among all: networks first, then results, the cheapest first.

    What is finished is stored at once, so that a renewal that was stopped goes on where it was. ``everything``: also what
    is up to date; asked for again with the same names, it goes on as well. Raises Incomplete when something failed, after
    all the rest is done.
    """
    failures, finished = [], Finished.of(names, device) if everything else None
    for kind, asked in zip(("networks", "results"), items(names), strict=True):
        took = {item: seconds(item) for item in asked if (finished and item not in finished) or item.reason()}
        due = dict(sorted(took.items(), key=lambda one: one[1]))
        earlier = f" ({len(asked) - len(due)} done before it was stopped)" if finished and len(due) < len(asked) else ""
        minutes = sum(due.values()) / 60 / jobs
        say(f"{len(due)} of {len(asked)} {kind} to compute{earlier}, about {minutes:.0f} minutes with {jobs} at a time.")
        failures += _run(due, device, jobs, say, finished)
    if failures:
        raise Incomplete(f"{len(failures)} failed, what was stored of them is as it was: {'; '.join(failures)}")
    if finished:
        finished.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Finished:
    """What a renewal of everything has done so far, as long as it is not through: files by name, with their SHA-256."""

    path: Path

    @classmethod
    def of(cls, names: list[str], device: str) -> "Finished":
        """Return the note of a renewal; other names or another device have another."""
        asked = digests.of_json([sorted(names), device])
        return cls(BOOK.build / "renewed" / f"{asked[:24]}.json")

    def files(self) -> dict[str, str]:
        """Return the noted digests, none when there is no note."""
        return writing.read_json(self.path, dict) or {}

    def __contains__(self, item: "Item") -> bool:
        return self.files().get(item.path.name) == digests.of_file(item.path)

    def add(self, item: "Item") -> None:
        """Note a file as it is now."""
        writing.write_json(self.path, self.files() | {item.path.name: digests.of_file(item.path)})


def listed(names: list[str], say: Callable[[str], None]) -> None:
    """Say what is outdated, why, and how long it took when it was computed."""
    due = [(item.name, seconds(item), reason) for asked in items(names) for item in asked if (reason := item.reason())]
    for name, took, reason in due:
        say(f"{name}  ({took:.0f} s)  {reason}")
    say(f"{len(due)} outdated, {sum(took for _, took, _ in due) / 60:.0f} core-minutes.")


def alike(slugs: list[str], options: Namespace) -> list[Item]:
    """Return the stored results that runs are like: those of the same settings at full scale."""
    return [Result(slug) for slug in slugs] if options.profile == "full" and not options.settings else []


def announce(kept: list[Item], settings: Sequence[str] = ()) -> None:
    """Say on the error stream how long these may take, when it is long enough to wonder or, with own settings, unknown."""
    if settings:
        print("How long this takes with your settings is not known; Ctrl-C stops it.", file=sys.stderr, flush=True)
    expected = sum(map(seconds, kept))
    if expected > PATIENCE:
        told = f"{expected:.0f} s" if expected < 120 else f"{expected / 60:.0f} minutes"
        print(f"About {told}, which is what the stored files took.", file=sys.stderr, flush=True)


def seconds(item: Item) -> float:
    """Return how long an item took when its stored file was made, 0 where there is none."""
    return float(item.attributes().get("seconds", 0))


def _run(due: Mapping[Item, float], device: str, jobs: int, say: Callable[[str], None], finished: Finished | None) -> list[str]:
    """Compute items, known with the seconds they took before, say one line for each, and return what failed."""
    failures, left = [], sum(due.values())
    with local_pool(jobs) as pool:
        futures = {pool.submit(_alone, item, device): (item, seconds) for item, seconds in due.items()}
        for done, future in enumerate(as_completed(futures), 1):
            item, expected = futures[future]
            left -= expected
            if error := future.exception():
                failures.append(f"{item.name} ({type(error).__name__}: {error})")
                text = f"FAILED with {type(error).__name__}: {error}"
            else:
                text = "{:.0f} s, {}".format(*future.result())
                if finished:
                    finished.add(item)
            say(f"  {item.name}: {text} ({done} of {len(due)}, about {left / 60 / jobs:.0f} minutes left)")
    return failures


def _alone(item: Item, device: str) -> tuple[float, str]:
    one_thread()
    began = time.perf_counter()
    text = item.renew(device)
    return time.perf_counter() - began, text
