"""python -m papers list | compute | figure | check | train | renew | sweep | merge | calibrate | patch"""

import argparse
import json
import sys
import time
import warnings
from functools import partial

from icl_lib import typed
from icl_lib.companion import PROFILES, PUBLISHED, require_device, results, weights
from icl_lib.companion.sweep import Incomplete
from papers import BOOK, calibration, check_command, figure_command, patch_command, registry, renewal, sweep_commands

TOO_LARGE = (MemoryError, OverflowError, RecursionError)
"""What is no fault of the code; with settings of the reader's own, nothing that goes wrong is taken for one."""


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    main_parser = typed.Parser(prog=BOOK.command, description="Experiments and claims of the book.")
    commands = main_parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="experiments with their claims")
    listing.add_argument("--json", action="store_true")
    compute = commands.add_parser("compute", help="compute one result, and print it or write it")
    compute.add_argument("slug")
    compute.add_argument("--out", type=partial(typed.file, suffix=".nc"), help="NetCDF file to write")
    figure = commands.add_parser("figure", help="draw one figure anew, open it, and judge its claims")
    figure.add_argument("slug")
    figure.add_argument("--out", type=partial(typed.file, suffix=".svg"), help="SVG file to write; then nothing is opened")
    check = commands.add_parser("check", help="run experiments and judge their claims")
    check.add_argument("slugs", nargs="*", metavar="SLUG", help="experiments, as ./run list names them; all unless named")
    check.add_argument("--json", action="store_true", help="print rows of JSON")
    for command in (compute, figure, check):
        scale = "quick, in seconds, unless another is named; full, as on the page; published, as in the paper, where declared"
        command.add_argument("--profile", default="quick", choices=(*PROFILES, PUBLISHED), help=scale)
        command.add_argument("--seed", type=sweep_commands.seed, default=0, help="of all that is drawn; 0 unless named")
        anew = "train the networks whose weights are shipped anew, with this seed; otherwise they are the shipped ones"
        command.add_argument("--train-seed", type=sweep_commands.seed, default=0, metavar="SEED", help=anew)
        command.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
        change = "another value for a field of the declaration; may be repeated"
        command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help=change)
    train = commands.add_parser("train", help="train networks anew and replace their shipped weights")
    shipped, published = (", ".join(names) for names in (registry.TRAININGS, registry.PUBLISHED_TRAININGS))
    which = f"all that are shipped unless named: {shipped}; for a GPU: {published}"
    train.add_argument("names", nargs="*", metavar="NAME", help=which)
    train.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    renew = commands.add_parser("renew", help="compute what is outdated: networks, then results; goes on where it was stopped")
    renew.add_argument("names", nargs="*", metavar="NAME", help="networks and results; all that are stored unless named")
    extent = renew.add_mutually_exclusive_group()
    extent.add_argument("--all", action="store_true", help="also what is up to date")
    extent.add_argument("--list", action="store_true", help="say what is outdated, and compute nothing")
    renew.add_argument("--jobs", type=sweep_commands.positive, default=2, metavar="N", help="processes at a time")
    renew.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    sweep_commands.add_parsers(commands)
    calibration.add_parser(commands)
    patch_command.add_parser(commands)
    return main_parser


def list_experiments(options: argparse.Namespace) -> int:
    """Print every experiment with its claims."""
    rows = [
        {
            "slug": e.slug,
            "paper": e.paper,
            "section": e.section,
            "notebook": f"notebooks/{e.notebook}.ipynb",
            "claims": [{"id": c.id, "kind": c.kind, "confidence": c.confidence} for c in registry.claims_of(e.slug)],
        }
        for e in registry.EXPERIMENTS.values()
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        lines = [(row["slug"], f"{row['paper']} {row['section']}", row["notebook"]) for row in rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line, row in zip(lines, rows, strict=True):
            told = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
            print("  ".join([*told, " ".join(claim["id"] for claim in row["claims"])]).rstrip())
    return 0


def run_experiment(options: argparse.Namespace) -> int:
    """Run one experiment; write its dataset, or print it."""
    experiment = registry.asked(options.slug, options.profile, options.settings)
    renewal.announce(renewal.alike([experiment.slug], options), options.settings)
    dataset = experiment.run(options.profile, options.seed, options.device)
    if options.out:
        results.save(dataset, options.out)
        print(f"{options.slug} ({options.profile}, seed {options.seed}): {dataset.attrs['seconds']} s, {options.out}")
    else:
        print(dataset)
    return 0


def train_networks(options: argparse.Namespace) -> int:
    """Train networks with seed 0: shipped ones anew; those at a paper's scale unless they are in ``_build/weights``."""
    require_device(options.device)
    for training in [registry.training(name) for name in options.names or registry.TRAININGS]:
        began = time.perf_counter()
        if training.name in registry.TRAININGS:
            require_clean_commit()
            network = renewal.Network(training.name)
            renewal.announce([network])
            said = network.renew(options.device)
        else:
            make = partial(training.train, 0, options.device)
            weights.obtain_weights(training.name, training, 0, options.device, make)
            said = "kept in _build/weights"
        print(f"{training.name}: {time.perf_counter() - began:.2f} s, {said}", flush=True)
    return 0


def renew_stored(options: argparse.Namespace) -> int:
    """Compute what is outdated, or list it."""
    require_device(options.device)
    say = partial(print, flush=True)
    if options.list:
        renewal.listed(options.names, say)
        return 0
    require_clean_commit()
    renewal.renew(options.names, options.device, options.jobs, options.all, say)
    return 0


def require_clean_commit() -> None:
    """Raise ValueError when files differ from the commit that what is stored now would name; outside of git it names none."""
    if results.commit(BOOK).endswith("+"):
        raise ValueError("files of the library differ from the last commit: commit them, so that results can name their code")


COMMANDS = {
    "list": list_experiments,
    "compute": run_experiment,
    "figure": figure_command.run,
    "check": check_command.run,
    "train": train_networks,
    "renew": renew_stored,
    "sweep": sweep_commands.run,
    "calibrate": calibration.run,
    "merge": sweep_commands.merge,
    "patch": patch_command.run,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; bad input gives one sentence and exit status 2."""
    options = parser().parse_args(arguments)
    weights.TRAINING_SEED.set(getattr(options, "train_seed", 0))
    if getattr(options, "settings", None):
        warnings.simplefilter("ignore", RuntimeWarning)  # of numbers that grow too large, which is told in a sentence
    try:
        status = COMMANDS[options.command](options)
        print(end="", flush=True)
        return status
    except (ValueError, results.StaleResult) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except Incomplete as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # who read the output has gone: nothing to be told
    except OSError as error:
        place = getattr(options, "out", None) or error.filename
        place = f" ({place})" if place else ""
        print(f"error: {error.strerror or error}{place}: free space or write elsewhere; nothing was written", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing half-finished was written", file=sys.stderr)
        return 130
    except Exception as error:
        if not (getattr(options, "settings", None) or isinstance(error, TOO_LARGE) or "not enough memory" in str(error)):
            raise
        told = " ".join(str(error).split())[:160] or "it is too large"
        print(f"error: this cannot be computed here ({type(error).__name__}): {told}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
