"""The explorers in a browser: their values against the library's, their address, and their picture without a script."""

import asyncio
import math
from importlib import import_module

import pytest
from visits import NEEDS, SITE, opened

from book.explorers import explorer

pytestmark = NEEDS
NAMES = sorted(path.stem for path in explorer.HERE.glob("*.js") if path.stem != "explorer")
MODULES = [import_module(f"book.explorers.{name}") for name in NAMES]
each_explorer = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.EXPLORER.name)
VALUES = """([name, states]) => {
  const figure = document.querySelector(`figure[data-explorer="${name}"]`);
  const facts = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  return states.map((state) => iclExplorers.named[name].values(state, facts));
}"""
SHOWN = """(name) => {
  const figure = document.querySelector(`figure[data-explorer="${name}"]`);
  return {
    picture: figure.querySelector("svg[viewBox]").getBoundingClientRect().width,
    reading: figure.querySelector("[data-part=reading]").textContent,
    live: figure.classList.contains("live"),
  };
}"""


def page_of(name: str) -> str:
    """The address of the page that has an explorer."""
    (page,) = [path for path in SITE.glob("notebooks/*.html") if f'data-explorer="{name}"' in path.read_text(encoding="utf-8")]
    return page.as_uri()


def seen(address: str, script: str, argument: object, **settings) -> object:
    """What a script gives on a page."""

    async def visit():
        async with opened(address, **settings) as tab:
            return await tab.evaluate(script, argument)

    return asyncio.run(visit())


@each_explorer
def test_the_script_has_the_values_of_the_library(module):
    one, cases = module.EXPLORER, list(module.cases())
    found = seen(page_of(one.name), VALUES, [one.name, [state for state, _ in cases]])
    compared = 0
    for (state, expected), values in zip(cases, found, strict=True):
        for name, value in expected.items():
            if math.isfinite(value):
                assert abs(values[name] - value) <= one.tolerance * max(1, abs(value)), (name, state)
                compared += 1
    assert compared >= len(cases)


@each_explorer
def test_an_address_is_a_view_and_the_start_is_there_without_a_script(module):
    one, address = module.EXPLORER, page_of(module.EXPLORER.name)
    start = one.parts(one.start)["reading"]["text"]
    bare = seen(address, SHOWN, one.name, java_script_enabled=False)
    assert (bare["reading"], bare["live"]) == (start, False) and bare["picture"] > 200
    state = next(each for each in one.settings(9) if one.parts(each)["reading"]["text"] != start)
    told = {name: value if isinstance(value, str | float | int) else ",".join(map(str, value)) for name, value in state.items()}
    query = "&".join(f"{name}={value}" for name, value in told.items())
    view = seen(f"{address}#explore-{one.name}?{query}", SHOWN, one.name)
    assert view["live"] and view["reading"] != start
