"""Compute what has changed, and build the book."""

import argparse
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from book.builder import arguments, cache, published, published_at, render, workers
from book.builder.cache import Executed
from book.builder.identities import Identities
from book.builder.layout import MARK, Layout
from book.builder.problem import Problem
from book.builder.settings import require_in_contents, require_settings
from book.citation.record import Record

UNTOUCHED = "_build/html is as it was before."
ADVICE = {
    **dict.fromkeys(render.FULL, "Free some space and run it again. "),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "Copy the book to where you may write, and run it there. "),
}
"""What to do when files cannot be written."""


def build(asked: argparse.Namespace, layout: Layout) -> None:
    """Do all that was asked, and say which notebooks are shown without outputs."""
    names = arguments.notebook_names(layout.root)
    if not names:
        raise Problem("There are no notebooks; restore the folder notebooks from git.")
    require_in_contents(names, layout.root)
    published_at.address(layout.root)  # a wrong one is told before minutes have gone
    selected = [asked.only] if asked.only else names
    if asked.fresh and asked.profile == "full":
        recompute(selected, layout)
    made = bring_up_to_date(selected, asked, layout)
    others = (cache.lookup(name, asked.profile, layout) for name in names if name not in made)
    executed = [*made.values(), *filter(None, others)]
    executed.sort(key=lambda one: names.index(one.name))
    judge_stored(executed, layout)
    quick = executed
    if asked.profile != "quick":
        quick = list(filter(None, (cache.lookup(name, "quick", layout) for name in names)))
    inputs = published.made_from(layout, executed, quick)
    if published.is_made_from(layout, inputs):
        print("No page would change: nothing that the book is made from has.", flush=True)
    else:
        print("Rendering the pages.", flush=True)
        began = time.monotonic()
        make_site(layout, executed, quick, inputs, Record.of(layout.root))
        print(f"  {'pages':32} done in {time.monotonic() - began:.1f} s", flush=True)
    if missing := sorted({*names} - {one.name for one in executed}):
        print(f"Shown without outputs, because not executed: {', '.join(missing)}.", flush=True)


def recompute(names: list[str], layout: Layout) -> None:
    """Train the networks of these notebooks anew, then compute their full-scale results anew into the stored ones."""
    from papers import registry  # seconds, with all the library; only here does a build need it

    slugs = [slug for slug, experiment in registry.EXPERIMENTS.items() if experiment.notebook in names]
    networks = {name for slug in slugs for name in registry.trainings_of(registry.EXPERIMENTS[slug].full)}
    renew([*sorted(networks), *slugs], layout)


def renew(names: list[str], layout: Layout) -> None:
    """Compute these networks and results anew into the stored ones; stopped, the same call goes on."""
    program = [sys.executable, "-m", "papers", "renew", "--all", "--jobs", str(workers.AT_A_TIME), *names]
    if names and subprocess.run(program, cwd=layout.root, env=layout.child_environment()).returncode:
        raise Problem("Not all was computed anew, see above; the same command goes on.")


def bring_up_to_date(
    names: list[str], asked: argparse.Namespace, layout: Layout, judge: tuple[str, ...] = arguments.PROFILES
) -> dict[str, Executed]:
    """Execute those notebooks whose outputs no longer answer for their sources; all of them, by name.

    What the claims say in the profiles of `judge` is noted beside those that are executed.
    """
    profile = asked.profile
    found = {name: None if asked.fresh else cache.lookup(name, profile, layout) for name in names}
    due = [name for name, executed in found.items() if executed is None]
    kept = f", {len(names) - len(due)} unchanged" if len(due) < len(names) else ""
    print(f"Executing {len(due)} of {len(names)} notebooks ({profile} profile{kept}).", flush=True)
    if not due:
        return found
    from book.builder import execute  # with papermill, which a build that executes nothing does without

    env = layout.child_environment()
    workers.prepare(execute.IMPORTED, env)
    origins = {name: cache.origin(name, profile, layout) for name in due}
    places = {name: cache.workplace(layout) for name in due}
    tasks = {name: (execute.work, (name, profile, str(places[name]), judge)) for name in due}

    def keep(name: str, outcome: workers.Outcome) -> None:
        found[name] = cache.keep(name, profile, origins[name], outcome.seconds, places[name], layout)

    workers.require_success(workers.run_all(tasks, layout.root, env, execute.IMPORTED, keep))
    return found


def judge_stored(executed: list[Executed], layout: Layout) -> None:
    """Judge the stored results beside notebooks that were executed without it, two rooms at a time."""
    due = [one for one in executed if workers.CAN_FORK and not (one.folder / cache.NOTE.format("full")).exists()]
    if due:
        from book.builder import execute, judged  # seconds, with all the library

        print(f"Judging the stored results of {len(due)} notebooks.", flush=True)
        tasks = {one.name: (judged.work, (one.name, str(one.folder), "full")) for one in due}
        workers.require_success(workers.run_all(tasks, layout.root, layout.child_environment(), execute.IMPORTED))


def make_site(layout: Layout, executed: list[Executed], quick: list[Executed], inputs: str, record: Record) -> None:
    """Stage, render and publish; `inputs` as `published.made_from` gives it, `record` is what pages cite."""
    from book.builder import finish, raster, shown  # seconds: they judge every claim, so they import all the library
    from book.builder.stage import Stage

    source = layout.build / "site" / "src"
    stage = Stage(layout, source, record)
    os.environ.update(layout.child_environment())
    with workers.beside() as pool:
        drawn = pool.submit(shown.draw_ahead, [one.notebook for one in executed])
        stage.fill(executed, quick)
        light = pool.submit(finish.light_files, stage.files)
        new = render.render(source, source.parent)
        raster.DRAWN.update(drawn.result())
    for folder in stage.files.iterdir():
        folder.rename(new / folder.name)
    render.offer_downloads(new, executed)
    finish.finish(new, Identities(layout, executed, quick).of, record, published_at.address(layout.root), light.result())
    (new / MARK).write_text(inputs, encoding="utf-8")
    render.publish(new, layout)


@contextmanager
def alone(layout: Layout) -> Iterator[None]:
    """Keep a second build of the same checkout away; the lock goes with the process, however it ends."""
    layout.build.mkdir(parents=True, exist_ok=True)
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


def answer(work: Callable[[Layout], int | None], untouched: str, place: str = ".") -> int:
    """Do the work of a command, `alone` in a place; its exit status. Whatever stops it is told, with what is untouched."""
    for stop in (signal.SIGINT, signal.SIGTERM):  # a background job is handed a SIGINT that is ignored
        signal.signal(stop, signal.default_int_handler)
    try:
        require_settings(Path.cwd())
        with alone(Layout(Path.cwd() / place)):
            return work(Layout(Path.cwd())) or 0
    except Problem as problem:
        print(problem, untouched, sep="\n", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Stopped: {in_words(error)}{untouched}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Stopped; the notebooks that were finished are kept. {untouched}", file=sys.stderr)
        return 130


def in_words(error: OSError) -> str:
    """What went wrong with a file, and what to do; of many that could not be copied, what went wrong with one."""
    code = error.errno or next((code for code in ADVICE if os.strerror(code) in str(error)), None)
    what = os.strerror(code) if code else "files could not be copied"
    return f"{what}{f' ({error.filename})' if error.filename else ''}. {ADVICE.get(code, '')}"


def main(words: list[str]) -> int:
    started, asked = time.monotonic(), arguments.parse(words, Path.cwd())

    def work(layout: Layout) -> None:
        build(asked, layout)
        print(f"The book is ready after {time.monotonic() - started:.0f} s: open _build/html/index.html")

    return answer(work, UNTOUCHED)
