"""Try one plan on one copy, in a process of its own: what it imports of ours comes from the copy."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout

LIMIT = 300
"""Seconds after which a fault counts as one that never ends."""
NEVER = "never ends"
IMPORTED = [
    __name__,
    "h5netcdf",
    "jaxtyping",
    "matplotlib.figure",
    "pytest",
    "scipy.optimize",
    "scipy.stats",
    "torch",
    "xarray",
]


def work(copy: str, stored: tuple[str, ...], tests: tuple[str, ...], quick: tuple[str, ...]) -> int:
    """Print the first catch, ``KIND: WHAT``, or nothing; the exit status is 0 either way."""
    end_in_time()
    os.chdir(copy)
    sys.path.insert(0, copy)
    os.environ["PYTHONPATH"] = copy
    no_digest_counts()
    for caught in _catches(stored, tests, quick):
        print(caught, flush=True)
        break
    return 0


def end_in_time() -> None:
    """Let this process say that a fault never ends, and leave, after ``LIMIT`` seconds."""
    signal.signal(signal.SIGALRM, lambda *_: os._exit(print(NEVER, flush=True) or 0))
    signal.alarm(LIMIT)


def no_digest_counts() -> None:
    """Let stored results and weights, which answer for the right code, stand for the wrong one: a digest is no catch."""
    from icl_lib.companion import results

    results.difference = lambda *_: None


def _catches(stored: tuple[str, ...], tests: tuple[str, ...], quick: tuple[str, ...]) -> Iterator[str]:
    for slug in stored:
        yield from (f"a claim in full: {each}" for each in contradicted(slug, "full"))
    if tests:
        yield from (f"a unit test: {each}" for each in failed(tests))
    for slug in quick:
        yield from (f"a claim in quick: {each}" for each in contradicted(slug, "quick"))


def contradicted(slug: str, profile: str) -> Iterator[str]:
    """Yield the claims that `./run check` would call contradicted."""
    from icl_lib.companion import results
    from papers import registry
    from papers.check_command import agrees

    experiment = registry.experiment(slug)
    try:
        measured = results.stored(experiment) if profile == "full" else experiment.measure(profile, 0)
        dataset = experiment.expect(measured)
        for claim in registry.claims_of(slug):
            if not agrees(judged := claim.judge(dataset), profile):
                yield f"{claim.id} {judged.verdict}, its control {judged.control_verdict}"
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


def failed(tests: tuple[str, ...]) -> Iterator[str]:
    """Yield the first of these tests that fails."""
    first = _First()
    run_tests(["-x", *tests], first)
    if first.name:
        yield first.name


def run_tests(words: Iterable[str], plugin: object) -> None:
    """Run tests in this process, silently, with a plugin."""
    import pytest

    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words], plugins=[plugin])
