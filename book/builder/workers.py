"""Tasks in processes of their own, a few at a time, watched line by line.

On Linux every process is a fork of one that has imported the large libraries, for torch alone takes longer to import than
most cells to run.
"""

import gc
import io
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path

from tqdm import tqdm

from book.builder.problem import Problem

AT_A_TIME = 2
"""As many as the cores that are counted on; a third notebook beside two takes more from their caches than it gives."""
STATE = "state: "  # a line a task prints to say how far it is
Task = tuple[Callable[..., int], tuple]
"""A function of a module, and its arguments; what it returns is its status, 0 where it went well."""
CAN_FORK = sys.platform == "linux"  # elsewhere a process that has imported graphics libraries may not survive a fork


@dataclass(frozen=True)
class Outcome:
    """How one task ended."""

    status: int
    seconds: float
    lines: tuple[str, ...]

    @property
    def complaint(self) -> str:
        """What the task said last; of one that was killed, or said nothing, how it ended."""
        if self.status < 0:
            return f"it was killed by signal {-self.status}, perhaps for want of memory."
        return self.lines[-1] if self.lines else f"it ended with status {self.status}, perhaps for want of memory."


def prepare(imported: list[str], env: dict[str, str]) -> None:
    """Let the process that tasks are forked from import these modules, while this one goes on."""
    os.environ.update(env)  # a library reads the number of its threads when it is imported
    if CAN_FORK:
        forkserver.set_forkserver_preload(imported)
        forkserver.ensure_running()


def run_all(
    tasks: dict[str, Task],
    cwd: Path,
    env: dict[str, str],
    imported: list[str],
    succeeded: Callable[[str, Outcome], None] = lambda name, outcome: None,
    at_a_time: int = AT_A_TIME,
) -> dict[str, Outcome]:
    """Run every task, also after one has failed, and call `succeeded`, one at a time, as soon as one has not.

    The modules in `imported` are there before a task begins. An interrupt ends all tasks.
    """
    if not tasks:
        return {}
    prepare(imported, env)
    context = multiprocessing.get_context("forkserver" if CAN_FORK else "spawn")
    children: list[multiprocessing.Process] = []
    stopped, one_at_a_time = threading.Event(), threading.Lock()

    def run_one(name: str) -> Outcome:
        said, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_begin, args=(theirs, cwd, *tasks[name]))
        began = time.monotonic()
        child.start()  # which waits for what is imported first
        children.append(child)
        if stopped.is_set():
            child.kill()
        theirs.close()
        lines, status = _follow(said, partial(running.say, name))
        child.join()
        outcome = Outcome(child.exitcode if status is None else status, time.monotonic() - began, tuple(lines))
        if not outcome.status:
            with one_at_a_time:
                succeeded(name, outcome)
        running.end(name, outcome)
        return outcome

    with _Running(len(tasks)) as running, ThreadPoolExecutor(at_a_time) as pool:
        try:
            return dict(zip(tasks, pool.map(run_one, tasks), strict=True))
        except BaseException:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.kill()
            raise


def require_success(outcomes: Mapping[str, Outcome]) -> None:
    """Raise a Problem that names the tasks that failed."""
    if failures := [f"{name}: {outcome.complaint}" for name, outcome in outcomes.items() if outcome.status]:
        raise Problem("\n".join(failures))


@contextmanager
def beside() -> Iterator[Executor]:
    """A process for what is done beside this one, a task after the other; whatever stops this one ends it.

    On Linux it has all that was imported when its first task came.
    """
    context = multiprocessing.get_context("fork" if CAN_FORK else "spawn")
    with ProcessPoolExecutor(1, context, initializer=_beside) as pool:
        try:
            yield pool
        except BaseException:
            for child in multiprocessing.active_children():
                child.kill()
            raise


class _Running:
    """A line for every task that has ended; on a terminal one below them for those under way, with an estimate."""

    def __init__(self, number: int):
        shown = "{n}/{total} after {elapsed}, {remaining} to go{postfix}"
        self._bar = tqdm(total=number, bar_format=shown, file=sys.stdout, disable=None, leave=False)
        self._states: dict[str, str] = {}
        self._lock = threading.Lock()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._bar.close()

    def say(self, name: str, state: str) -> None:
        """Show how far a task is."""
        with self._lock:
            self._states[name] = state
            self._bar.set_postfix_str(" · ".join(f"{name} {state}" for name, state in self._states.items()))

    def end(self, name: str, outcome: Outcome) -> None:
        """Print how a task ended."""
        verb = "FAILED after" if outcome.status > 0 else "stopped after" if outcome.status else "done in"
        with self._lock:
            self._states.pop(name, None)
            self._bar.update()
            tqdm.write(f"  {name:32} {verb} {outcome.seconds:.1f} s", file=sys.stdout)
            sys.stdout.flush()


class _Said(io.TextIOBase):
    """What a task prints, sent to its parent line by line."""

    def __init__(self, parent: Connection):
        self._parent = parent

    def write(self, text: str) -> int:
        for line in text.splitlines():
            if line.strip():
                self._parent.send(line.rstrip())
        return len(text)


def _begin(parent: Connection, cwd: Path, work: Callable[..., int], arguments: tuple) -> None:
    """Run a task here; all that it prints goes to the parent, and last its status.

    A thread that starts a child polls all children, and of two threads that read one exit status the second gets 255.
    """
    sys.stdout = sys.stderr = _Said(parent)
    _apart()
    os.chdir(cwd)
    parent.send(work(*arguments))


def _apart() -> None:
    """Let Ctrl-C reach the parent alone, which then ends this process."""
    if os.name == "posix":
        os.setsid()


def _beside() -> None:
    gc.freeze()  # what was imported stays: no collection need look through it
    _apart()
    end_with_parent()


def end_with_parent() -> None:
    """Leave as soon as the process that started this one is gone, also when it was killed and can say nothing."""

    def watch() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _follow(said: Connection, state: Callable[[str], None]) -> tuple[list[str], int | None]:
    """Return what a task prints until its end, and its status if it comes to say one; how far it is is said at once."""
    lines, status = [], None
    with said, suppress(EOFError):
        while True:
            heard = said.recv()
            if isinstance(heard, int):
                status = heard
            elif heard.startswith(STATE):
                state(heard.removeprefix(STATE))
            else:
                lines.append(heard)
    return lines, status
