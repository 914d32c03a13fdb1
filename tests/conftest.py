"""In the test run the shapes and types in our signatures are checked, at the first calls of a function in every test."""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import cache, partial, wraps
from types import CodeType

import jaxtyping
import pytest
from beartype import BeartypeConf, beartype

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as in PEP 484

FLOORS = ("companion", "measure", "models", "patches", "tasks", "train")  # seeds checks its arguments itself
CALLS = 10
"""So many calls of a function are checked in a test; what a loop does after them is not, and takes a sixth of the time."""
_calls: Counter[CodeType] = Counter()


def _at_first_calls(checks: Callable) -> Callable:
    """Return the decorator that checks a class as ``checks`` does, and a function at its first calls, decorated when called."""

    def decorate(function, *, typechecker):
        if isinstance(function, type):
            return checks(function, typechecker=typechecker)
        checked = cache(lambda: checks(function, typechecker=typechecker))

        @wraps(function)
        def call(*arguments, **named):
            _calls[function.__code__] += 1
            chosen = function if _calls[function.__code__] > CALLS else checked()
            return chosen(*arguments, **named)

        return call

    return lambda *, typechecker: partial(decorate, typechecker=typechecker)


jaxtyping.jaxtyped = _at_first_calls(jaxtyping.jaxtyped)  # the name that the hook writes into every module
jaxtyping.install_import_hook([*(f"icl_lib.{floor}" for floor in FLOORS), "papers"], "conftest.typechecked")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that hold long checks, so that no worker is left with one at the end.

    The first file about the small book builds it; the others come last of these, so that no worker waits for it.
    """
    long = {item.path for item in items if item.get_closest_marker("long")}
    small = [item.path for item in items if item.path in long and hasattr(item.getparent(pytest.Module).obj, "toy_book")]
    items.sort(key=lambda item: (item.path not in long, item.path in small and item.path != small[0]))


def pytest_runtest_setup() -> None:
    _calls.clear()


@cache
def _stored(slug: str):
    from icl_lib.companion import results  # after the hook above
    from papers import registry

    experiment = registry.experiment(slug)
    return experiment.expect(results.stored(experiment))


@pytest.fixture
def stored() -> Callable:
    """The stored full result of a slug, with what is expected beside what was measured."""
    return lambda slug: _stored(slug).copy(deep=True)


@pytest.fixture
def displayed(monkeypatch) -> list:
    """What is displayed."""
    from icl_lib.companion import showing

    found = []
    monkeypatch.setattr(showing, "display", found.append)
    return found


@pytest.fixture(scope="session")
def browsing():
    """What runs an act on a browser, the same for all tests; each tab that it opens has a profile of its own."""
    from playwright.async_api import async_playwright

    from book.builder.pdf import FLAGS, browser

    with asyncio.Runner() as loop:
        driver = loop.run(async_playwright().start())
        chromium = loop.run(driver.chromium.launch(executable_path=browser(), args=FLAGS))
        yield lambda act, *arguments, **named: loop.run(act(chromium, *arguments, **named))
        loop.run(chromium.close())
        loop.run(driver.stop())
