"""Try checks on a change of a function, in a process of its own, until one notices."""

import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType

STORED, QUICK, TEST, WRITTEN = "stored", "quick", "test", "written"
"""Claims on stored and on quick results, tests, and tests that compare with numbers that the code gave before."""
BY_TEST, BY_WRITTEN = "a unit test", "a number written down"
Check = tuple[float, str, str]
"""Its seconds, its kind and its name: the slug of a result, or the id of a test."""
BUDGET = 60.0
"""Seconds that the checks tried on one change may take together, the cheapest first."""
BATCH = 3.0
"""Seconds of tests that are started together."""
LIMIT = 300
"""Seconds after which a change counts as one that never ends."""
NEVER = "never ends"
IMPORTED = [
    *(__name__, "h5netcdf", "jaxtyping", "matplotlib.figure", "papers.registry", "pytest", "scipy.optimize", "scipy.stats"),
]


def work(root: str, file: str, function: str, wrong: str, checks: list[Check]) -> int:
    """Print what notices that a function has the code of other source, ``KIND: WHAT``, or nothing; return 0 either way."""
    end_in_time()
    sys.path.insert(0, root)
    no_digest_counts()
    importlib.import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    exchange(str(Path(root, file)), function, wrong)
    written = [(seconds, TEST, name) for seconds, kind, name in checks if kind == WRITTEN]
    others = [check for check in checks if check[1] != WRITTEN]
    for caught in chain(catches(others), catches(written, BY_WRITTEN)):
        print(caught, flush=True)
        break
    return 0


def end_in_time() -> None:
    """Let this process say that a change never ends, and leave, after ``LIMIT`` seconds."""

    def leave(*_) -> None:
        print(NEVER, flush=True)
        os._exit(0)

    signal.signal(signal.SIGALRM, leave)
    signal.alarm(LIMIT)


def exchange(path: str, function: str, wrong: str) -> None:
    """Give a function, wherever it is held, and the functions it has made before, the codes that they have in other source."""
    every = {each.co_qualname: each for each in _codes(compile(wrong, path, "exec"))}
    codes = {name: code for name, code in every.items() if name == function or name.startswith(f"{function}.<locals>.")}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename == path and each.__code__.co_qualname in codes:
            other = codes[each.__code__.co_qualname]
            if other.co_freevars == each.__code__.co_freevars:  # else the old function has no cells for it
                each.__code__ = other


def _codes(of: CodeType) -> Iterator[CodeType]:
    """Yield the codes of all functions in a module's or a class's code."""
    for each in of.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def no_digest_counts() -> None:
    """Let stored results and weights, which answer for the right code, stand for the wrong one: a digest is no catch."""
    from icl_lib.companion import results

    results.difference = lambda *_: None


def catches(checks: list[Check], by_test: str = BY_TEST) -> Iterator[str]:
    """Yield what contradicts, in the order of the checks; tests that follow each other are started together."""
    spent, tests = 0.0, []
    began = time.monotonic()
    for seconds, kind, name in [*checks, (0.0, "", "")]:
        if tests and (kind != TEST or spent + seconds > BATCH):
            yield from (f"{by_test}: {each}" for each in failed(tests))
            spent, tests = 0.0, []
        if not kind or time.monotonic() - began > BUDGET:
            return
        if kind == TEST:
            spent, tests = spent + seconds, [*tests, name]
            continue
        profile = "full" if kind == STORED else "quick"
        yield from (f"a claim in {profile}: {each}" for each in contradicted(name, profile))


def contradicted(slug: str, profile: str) -> Iterator[str]:
    """Yield the claims that `./run check` would call contradicted."""
    from icl_lib.companion import results
    from papers import registry
    from papers.check_command import contradiction

    experiment = registry.experiment(slug)
    try:
        measured = results.stored(experiment) if profile == "full" else experiment.measure(profile, 0)
        dataset = experiment.expect(measured)
        for claim in registry.claims_of(slug):
            if contradiction(judged := claim.judge(dataset), profile):
                yield f"{claim.id} {judged.verdict}, its control {judged.control_verdict}"
    except ImportError:  # no fault does that: something is missing here
        raise
    except Exception as error:  # the fault may break anything
        yield f"{slug} ends in {type(error).__name__}"


class _First:
    """Pytest's plugin that keeps the first failure."""

    name = ""

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid.removeprefix("tests/")

    def pytest_collectreport(self, report) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid.removeprefix('tests/')} cannot be imported"


def failed(tests: Iterable[str]) -> Iterator[str]:
    """Yield the first of these tests that fails."""
    first = _First()
    run_tests(["-x", *tests], first)
    if first.name:
        yield first.name


def run_tests(words: Iterable[str], plugin: object) -> None:
    """Run tests in this process, silently, with a plugin; what their conftest puts into place is taken away after them.

    A finder that a package has put there meanwhile stays: setuptools takes those of Python away that know versions.
    """
    import jaxtyping
    import pytest

    checks, finders = jaxtyping.jaxtyped, list(sys.meta_path)
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words], plugins=[plugin])
    jaxtyping.jaxtyped = checks
    sys.meta_path[:] = [each for each in sys.meta_path if each in finders or not type(each).__module__.startswith("jaxtyping")]
