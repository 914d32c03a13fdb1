"""Sweeps: many cells, each a pure function of its declaration and seed, run by any executor and kept in one folder."""

import multiprocessing
import multiprocessing.connection  # so that the thread which waits for the parent imports nothing beside a cell
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
import xarray as xr
from threadpoolctl import threadpool_limits

from icl_lib.companion import results, weights
from icl_lib.companion.declaration import Declaration
from icl_lib.companion.experiment import run_declared

OF_THE_RUN = ("seconds", "created", "commit")
"""Attributes that differ between two runs of the same cell."""


class Incomplete(RuntimeError):
    """A sweep ended before all of its cells were there; those that were finished are kept."""


@dataclass(frozen=True)
class Cell:
    """One result to compute: a declaration with its seed and device, under its slug and profile."""

    slug: str
    profile: str
    declaration: Declaration
    seed: int
    device: str = "cpu"

    def run(self) -> xr.Dataset:
        """Compute the dataset, with its provenance as attributes."""
        return run_declared(self.slug, self.profile, self.declaration, self.seed, self.device)


def cell_names(cells: Sequence[Cell]) -> list[str]:
    """Return the names of cells, under which they are kept: slug, profile, seed and the identity of what is in them."""
    identities = (weights.origin(cell.declaration, cell.seed, cell.device)["identity"][:16] for cell in cells)
    return [f"{c.slug}.{c.profile}.seed{c.seed}.{own}" for c, own in zip(cells, identities, strict=True)]


# --- the folder ---------------------------------------------------------------------------------------------------


def cell_file(name: str, folder: Path | str) -> Path:
    """Return where a cell of this name is kept.

    >>> from pathlib import Path
    >>> from icl_lib.companion.sweep import cell_file
    >>> cell_file("toy-coin.quick.seed0.c0ffee", Path("sweep")).as_posix()
    'sweep/cells/toy-coin.quick.seed0.c0ffee.nc'
    """
    return Path(folder) / "cells" / f"{name}.nc"


def kept(name: str, folder: Path | str) -> xr.Dataset | None:
    """Return the kept dataset of a cell, or None when there is none, or its file is damaged or holds something else."""
    try:
        dataset = results.load(cell_file(name, folder))
    except results.StaleResult:
        return None
    return dataset if dataset.attrs.pop("cell", None) == name else None


def keep(name: str, dataset: xr.Dataset, folder: Path | str) -> xr.Dataset:
    """Write the dataset of a cell, atomically, and return it as it is read back; raises ValueError when that differs."""
    results.save(dataset.assign_attrs(cell=name), cell_file(name, folder))
    return kept(name, folder)


# --- running ------------------------------------------------------------------------------------------------------


def one_thread() -> None:
    """Compute on one thread from now on; for good, since a worker's other work wants the same."""
    torch.set_num_threads(1)
    threadpool_limits(1)


def run_cell(cell: Cell, name: str) -> xr.Dataset:
    """Compute a cell in a worker, on one thread; raises RuntimeError when the worker has other code than the caller."""
    one_thread()
    if cell_names([cell]) != [name]:
        raise RuntimeError("the worker has other code or another torch: give it the same checkout and requirements")
    return cell.run()


def run_sweep(
    cells: Iterable[Cell],
    executor: Executor | None,
    folder: Path | str,
    say: Callable[[str], None] = lambda line: None,
) -> list[xr.Dataset]:
    """Return the datasets of the cells, in their order; those that the folder keeps already are not computed again.

    executor    anything with ``submit`` that returns futures of ``concurrent.futures``; a pool of processes when None,
                for which a script calls this below ``if __name__ == "__main__":``, since each process imports the script.
                What runs a cell computes on one thread from then on, this process too if it runs cells itself
    say         takes one line for every finished cell

    A finished cell is written at once, by this process alone: workers need no disk in common, and a sweep that was
    killed continues. Raises Incomplete, after all others are finished, when cells fail; it names them.
    """
    cells, folder = list(cells), Path(folder)
    names = cell_names(cells)
    done = {name: dataset for name in names if (dataset := kept(name, folder)) is not None}
    due = {name: cell for name, cell in zip(names, cells, strict=True) if name not in done}
    say(f"{len(due)} cells to compute, {len(done)} are there.")
    with nullcontext(executor) if executor else local_pool(processes(cells)) as running:
        failures = _run_due(due, running, folder, done, say)
    if failures:
        raise Incomplete(_complaint(failures, len(names))) from next(iter(failures.values()))
    return [done[name] for name in names]


def _run_due(due: dict[str, Cell], executor: Executor, folder: Path, done: dict, say) -> dict[str, Exception]:
    failures, began = {}, time.monotonic()
    futures = {executor.submit(run_cell, cell, name): name for name, cell in due.items()}
    try:
        for count, future in enumerate(as_completed(futures), 1):
            name, outcome = futures[future], _settled(future, futures[future], folder)
            (failures if isinstance(outcome, Exception) else done)[name] = outcome
            took = "FAILED" if name in failures else f"{outcome.attrs['seconds']} s"
            left = (time.monotonic() - began) / count * (len(due) - count)
            say(f"  {name}  {took}  {count} of {len(due)}, about {left:.0f} s left")
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return failures


def _settled(future: Future, name: str, folder: Path) -> xr.Dataset | Exception:
    try:
        dataset = future.result()
    except Exception as error:
        return error
    try:
        return keep(name, dataset, folder)
    except OSError:  # no cell can be kept: the sweep ends
        raise
    except Exception as error:
        return error


def _complaint(failures: dict[str, Exception], total: int) -> str:
    reasons: dict[str, list[str]] = {}
    for name, error in failures.items():
        reasons.setdefault(f"{type(error).__name__}: {error}".splitlines()[0], []).append(name)
    listed = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items())
    return f"{len(failures)} of {total} cells failed, the others are kept: {listed}"


# --- the pool of processes ----------------------------------------------------------------------------------------


def processes(cells: Sequence[Cell]) -> int:
    """Return how many processes to use: one a processor that this process may use, a single one for cells on a GPU."""
    if any(cell.device == "cuda" for cell in cells):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of fresh processes; on an interrupt they end at once, without finishing their cells."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A parent that is killed leaves its workers waiting for work forever: they hold the queue open themselves.
    multiprocessing.parent_process().join()
    os._exit(1)
