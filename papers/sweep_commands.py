"""python -m papers sweep [SLUG ...] | merge FOLDER ...: sweeps on one machine, on a Dask cluster, or in shards."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from icl_lib import typed
from icl_lib.companion import PROFILES, PUBLISHED, content, digests, require_device, results, sweep, writing
from icl_lib.companion.sweep import Cell, Incomplete
from papers import BOOK, registry

SECONDS_TO_ANSWER = 8
MOST_SEEDS = 10_000
say = partial(print, flush=True)


def add_parsers(commands: argparse._SubParsersAction) -> None:
    """Add the two commands to the library's command line."""
    swept = commands.add_parser("sweep", help="run experiments over seeds, in parallel; continues where it was stopped")
    swept.add_argument("slugs", nargs="*", metavar="SLUG", help="all experiments unless named")
    swept.add_argument("--profile", default="full", choices=(*PROFILES, PUBLISHED))
    swept.add_argument("--seeds", type=seed_list, default=(0,), metavar="0-9", help="seeds and ranges, parted by commas")
    swept.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    change = "another value for a field of the declaration; may be repeated"
    swept.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help=change)
    where = swept.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=positive, metavar="N", help="processes at a time")
    where.add_argument("--dask", metavar="ADDRESS", help="the address of a Dask scheduler")
    swept.add_argument("--shard", default="1/1", metavar="I/N", help="every N-th cell, from the I-th")
    merged = commands.add_parser("merge", help="bring the cells of several sweeps together")
    merged.add_argument("folders", nargs="+", type=typed.path, metavar="FOLDER")
    for command in (swept, merged):
        default = BOOK.build / "sweep"
        command.add_argument("--out", type=typed.path, default=default, metavar="FOLDER", help="default: _build/sweep")


def seed(text: str) -> int:
    """Read one seed."""
    if not re.fullmatch(r"\d{1,400}", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no seed: write a whole number of at least 0, of 400 digits at most")
    return int(text)


def seed_list(text: str) -> tuple[int, ...]:
    """Read seeds such as ``0-9`` or ``0,3,5-7``."""
    found = [re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", part.strip()) for part in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} names no seeds: write for example 0-9 or 0,3,5-7")
    ranges = [range(int(first), int(last or first) + 1) for first, last in (match.groups() for match in found)]
    if not all(ranges):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} holds an empty range: write the smaller seed first")
    if sum(map(len, ranges)) > MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} names more than {MOST_SEEDS} seeds: sweep over them in parts")
    return tuple(dict.fromkeys(seed for each in ranges for seed in each))


def positive(text: str) -> int:
    """Read a positive number."""
    if not re.fullmatch(r"0*[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no positive number: write for example 2")
    return int(text)


def fraction(text: str) -> tuple[int, int]:
    """Read a shard such as ``2/8``; raises ValueError when there is none of this name."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"there is no shard {text[:40]}: write 1/8 to 8/8 for a sweep in eight shards")
    return int(match[1]), int(match[2])


@dataclass(frozen=True)
class Plan:
    """What a sweep was asked for; lies beside the cells, so that a merge knows which have to be there."""

    slugs: tuple[str, ...]
    profile: str
    seeds: tuple[int, ...]
    settings: tuple[str, ...]
    device: str

    def cells(self) -> list[Cell]:
        """Return all results to compute, in a fixed order."""
        experiments = [registry.experiment(slug).with_settings(self.profile, list(self.settings)) for slug in self.slugs]
        declared = [(each.slug, self.profile, each.declaration(self.profile)) for each in experiments]
        return [Cell(*each, seed, self.device) for each in declared for seed in self.seeds]

    def file(self, slug: str, seed: int) -> str:
        """Return the name of the file of one result; that of seed 0 is the name of a stored result."""
        return f"{slug}.{self.profile}{f'.seed{seed}' if seed else ''}.nc"

    def clashes(self, other: "Plan") -> bool:
        """Say whether two plans give the same file different contents."""
        same_files = self.profile == other.profile and {*self.slugs} & {*other.slugs} and {*self.seeds} & {*other.seeds}
        return bool(same_files) and (self.settings, self.device) != (other.settings, other.device)


def plans_in(folder: Path) -> list[Plan]:
    """Return the plans of the sweeps that were run into a folder; raises ValueError when one of them is damaged."""
    plans = []
    for file in sorted((folder / "plans").glob("[!.]*.json")):
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            plan = Plan(**{name: tuple(value) if isinstance(value, list) else value for name, value in found.items()})
            words = (*plan.slugs, *plan.settings, plan.profile, plan.device)
            if not all(type(each) is int and each >= 0 for each in plan.seeds) or not all(type(each) is str for each in words):
                raise TypeError("no plan")
            plans.append(plan)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{file} is damaged: remove it, and start its sweep again") from error
    return plans


def write_plans(plans: list[Plan], folder: Path) -> None:
    """Write plans into a folder; raises ValueError when the same result would be there with two settings."""
    every = [*plans, *plans_in(folder)]
    if any(one.clashes(other) for one in every for other in every):
        raise ValueError(f"{folder} would hold a result with two settings or of two devices: take another --out for one")
    for plan in plans:
        text = json.dumps(asdict(plan))
        path = folder / "plans" / f"{digests.of_text(text)[:16]}.json"
        writing.write_atomically(path, lambda file, text=text: file.write_text(text, encoding="utf-8"))


def write_complete(plan: Plan, folder: Path) -> list[str]:
    """Write every result whose cell is there; return the names of the cells that are not."""
    wanted, missing = plan.cells(), []
    for cell, name in zip(wanted, sweep.cell_names(wanted), strict=True):
        if (dataset := sweep.kept(name, folder)) is None:
            missing.append(name)
        else:
            results.save(dataset, folder / plan.file(cell.slug, cell.seed))
    say(f"{len(wanted) - len(missing)} of {len(wanted)} results are complete in {folder}.")
    return missing


def run(options: argparse.Namespace) -> int:
    """Run a sweep, or one shard of it, and write the results that are complete."""
    slugs = tuple(dict.fromkeys(options.slugs)) or tuple(registry.EXPERIMENTS)
    plan = Plan(slugs, options.profile, options.seeds, tuple(options.settings), options.device)
    number, count = fraction(options.shard)
    cells = plan.cells()[number - 1 :: count]
    try:
        with executor(options, cells) as running:
            write_plans([plan], options.out)
            sweep.run_sweep(cells, running, options.out, say)
        write_complete(plan, options.out)
    except Incomplete:
        write_complete(plan, options.out)
        raise
    except OSError as error:
        advice = "free space or take another --out, and start the same command again; finished cells are kept"
        raise Incomplete(f"{error.strerror or error}: {advice}") from error
    except KeyboardInterrupt:
        print("interrupted: finished cells are kept, and the same command continues", file=sys.stderr)
        return 130
    return 0


@contextmanager
def executor(options: argparse.Namespace, cells: list[Cell]) -> Iterator:
    """Yield what runs the cells: a pool of processes, or a Dask cluster; raises ValueError when there is none."""
    if options.dask is None:
        require_device(options.device)
        with sweep.local_pool(options.jobs or sweep.processes(cells)) as pool:
            yield pool
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("Dask is not installed: pip install -r requirements-dask.txt") from error
    try:
        client = Client(options.dask, timeout=SECONDS_TO_ANSWER)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {options.dask}: start one there or correct the address") from error
    with client:
        say(f"{len(client.scheduler_info()['workers'])} workers at {options.dask}.")
        yield client.get_executor()


def merge(options: argparse.Namespace) -> int:
    """Bring the cells of several folders together, and write the results that are complete; names what is missing."""
    for folder in options.folders:
        if not plans_in(folder):
            raise ValueError(f"{folder} holds no sweep: name folders that python -m papers sweep was given as --out")
    plans = list(dict.fromkeys(plan for folder in options.folders for plan in plans_in(folder)))
    write_plans(plans, options.out)
    names = list(dict.fromkeys(name for plan in plans for name in sweep.cell_names(plan.cells())))
    differing = [name for name in names if not gathered(name, options.folders, options.out)]
    missing = dict.fromkeys(name for plan in plans for name in write_complete(plan, options.out))
    if differing:
        raise Incomplete(f"these cells differ between folders, the first was taken: {', '.join(differing)}; compute them anew")
    if missing:
        listed = f"{len(missing)} of {len(names)} cells are missing, damaged or of other code: {', '.join(missing)}"
        raise Incomplete(f"{listed}; start the sweep again with --out {options.out}, it computes these alone")
    return 0


def gathered(name: str, folders: list[Path], out: Path) -> bool:
    """Keep a cell in ``out`` unless it is there, from the first folder with a sound file; False when two sound ones differ."""
    there = sweep.kept(name, out)
    sound = [dataset for dataset in (there, *(sweep.kept(name, folder) for folder in folders)) if dataset is not None]
    if sound and there is None:
        sweep.keep(name, sound[0], out)
    return len({content.of_dataset(dataset, sweep.OF_THE_RUN) for dataset in sound}) < 2
