"""`python -m book.build`: compute what has changed, and build the book. `./run book` calls it."""

import argparse
import errno
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from book import arguments, cache, render, workers
from book.cache import Executed
from book.layout import Layout
from book.problem import Problem
from book.progress import Progress
from book.stage import Stage
from icl_lib import registry

UNTOUCHED = "_build/html is as it was before."


def build(asked: argparse.Namespace, layout: Layout, progress: Progress) -> list[str]:
    """Do all that was asked; the names of notebooks that are shown without outputs."""
    names = arguments.notebook_names(layout.root)
    if not names:
        raise Problem("There are no notebooks; restore the folder notebooks from git.")
    selected = [asked.only] if asked.only else names
    if asked.fresh and asked.profile == "full":
        recompute(selected, layout, progress)
    made = bring_up_to_date(selected, asked, layout, progress)
    others = (cache.lookup(name, asked.profile, layout) for name in names if name not in made)
    executed = [*made.values(), *filter(None, others)]
    executed.sort(key=lambda one: names.index(one.name))
    quick = executed
    if asked.profile != "quick":
        quick = list(filter(None, (cache.lookup(name, "quick", layout) for name in names)))
    progress.begin("Jupyter Book", "is rendering the pages")
    missing = make_site(layout, executed, quick)
    progress.say(f"  {'pages':32} done in {progress.end('Jupyter Book'):.1f} s")
    return missing


def recompute(names: list[str], layout: Layout, progress: Progress) -> None:
    """Train the networks of these notebooks anew, then run their full-scale experiments into the stored results."""
    slugs = [slug for slug, experiment in registry.EXPERIMENTS.items() if experiment.notebook in names]
    networks = sorted({name for slug in slugs for name in registry.trainings_of(registry.EXPERIMENTS[slug].full)})
    if networks:
        progress.say(f"Training {len(networks)} networks, {workers.AT_A_TIME} at a time.")
        training = {name: [sys.executable, "-m", "icl_lib", "train", name] for name in networks}
        require_success(workers.run_all(training, layout.root, layout.child_environment(), progress))
    progress.say(f"Recomputing {len(slugs)} stored results, {workers.AT_A_TIME} at a time.")
    program = [sys.executable, "-m", "icl_lib", "run"]
    commands = {
        slug: [*program, slug, "--profile", "full", "--out", str(layout.stored_results / f"{slug}.full.nc")] for slug in slugs
    }
    require_success(workers.run_all(commands, layout.root, layout.child_environment(), progress))


def bring_up_to_date(names: list[str], asked: argparse.Namespace, layout: Layout, progress: Progress) -> dict[str, Executed]:
    """Execute those notebooks whose outputs no longer answer for their sources; all of them, by name."""
    profile = asked.profile
    found = {name: None if asked.fresh else cache.lookup(name, profile, layout) for name in names}
    due = [name for name, executed in found.items() if executed is None]
    kept = f", {len(names) - len(due)} unchanged" if len(due) < len(names) else ""
    progress.say(f"Executing {len(due)} of {len(names)} notebooks ({profile} profile{kept}).")
    keys = {name: cache.key(name, profile, layout) for name in due}
    places = {name: cache.workplace(layout) for name in due}
    program = [sys.executable, "-m", "book.execute"]
    commands = {name: [*program, name, profile, str(places[name])] for name in due}

    def keep(name: str, outcome: workers.Outcome) -> None:
        found[name] = cache.keep(name, profile, keys[name], outcome.seconds, places[name], layout)

    require_success(workers.run_all(commands, layout.root, layout.child_environment(), progress, keep))
    return found


def require_success(outcomes: dict[str, workers.Outcome]) -> None:
    failures = [f"{name}: {outcome.complaint}" for name, outcome in outcomes.items() if outcome.status]
    if failures:
        raise Problem("\n".join([*failures, UNTOUCHED]))


def make_site(layout: Layout, executed: list[Executed], quick: list[Executed]) -> list[str]:
    """Stage, render and publish."""
    source = layout.build / "site" / "src"
    missing = Stage(layout, source).fill(executed, quick)
    new = render.render(source, source.parent, layout.child_environment())
    render.offer_downloads(new, executed)
    render.publish(new, layout)
    return missing


@contextmanager
def alone(layout: Layout) -> Iterator[None]:
    """Keep a second build of the same checkout away; the lock goes with the process, however it ends."""
    layout.build.mkdir(exist_ok=True)
    with open(layout.build / "lock", "w") as lock:
        if os.name == "posix":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Problem("Another build of this book is running; wait for it to end.") from error
        render.recover(layout)
        try:
            yield
        finally:
            render.clear(layout)


def main(words: list[str]) -> int:
    layout = Layout(Path.cwd())
    asked = arguments.parse(words, layout.root)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started = time.monotonic()
    try:
        with alone(layout), Progress() as progress:
            missing = build(asked, layout, progress)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    except OSError as error:
        advice = "Free some space and run it again. " if error.errno == errno.ENOSPC else ""
        print(f"Stopped: {error.strerror or 'files could not be copied'}. {advice}{UNTOUCHED}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Stopped; the notebooks that were finished are kept. {UNTOUCHED}", file=sys.stderr)
        return 130
    if missing:
        print(f"Shown without outputs, because not executed: {', '.join(missing)}.")
    print(f"The book is ready after {time.monotonic() - started:.0f} s: open _build/html/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
