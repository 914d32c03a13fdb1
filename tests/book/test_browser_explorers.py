"""The explorers in a browser: their values against the library's, their address, and their picture without a script."""

import math
from importlib import import_module

import pytest
from moved import settings
from visits import NEEDS, SITE, opened

from book.explorers import explorer

pytestmark = NEEDS
NAMES = sorted(path.stem for path in explorer.HERE.glob("*.js") if path.stem != "explorer")
MODULES = [import_module(f"book.explorers.{name}") for name in NAMES]
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
MOVED = """([name, handle]) => {
  const at = document.querySelector(`figure[data-explorer="${name}"] [data-handle="${handle}"]`).getBoundingClientRect();
  return [at.x + at.width / 2, at.y + at.height / 2, scrollY];
}"""
EMPTY = """(name) => {
  const { x, y, width, height } = document.querySelector(`figure[data-explorer="${name}"] .picture`).getBoundingClientRect();
  const places = [...Array(400).keys()].map((k) => [x + (width * (k % 20)) / 20, y + (height * Math.floor(k / 20)) / 20]);
  return places.find(([x, y]) => y > 150 && y < 600 && !document.elementFromPoint(x, y)?.closest(".handle"));
}"""
CENTRE = "(picture) => picture.scrollIntoView({ block: 'center', behavior: 'instant' })"
PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


def page_of(name: str) -> str:
    """The address of the page that has an explorer."""
    (page,) = [path for path in SITE.glob("notebooks/*.html") if f'data-explorer="{name}"' in path.read_text(encoding="utf-8")]
    return page.as_uri()


@pytest.fixture(scope="module", params=MODULES, ids=lambda module: module.EXPLORER.name)
def seen(request, browsing):
    """An explorer's module, what its page shows without a script and at the address of a view, and its values there."""
    module, one = request.param, request.param.EXPLORER
    start = one.parts(one.start)["reading"]["text"]
    state = next(each for each in settings(one, 9) if one.parts(each)["reading"]["text"] != start)
    told = {name: value if isinstance(value, str | float | int) else ",".join(map(str, value)) for name, value in state.items()}
    view = f"{page_of(one.name)}#explore-{one.name}?{'&'.join(f'{name}={value}' for name, value in told.items())}"
    states = [one.start, *settings(one, 40)]

    async def shown(tab):
        return await tab.evaluate(SHOWN, one.name)

    async def worked(tab):
        return await shown(tab), await tab.evaluate(VALUES, [one.name, states])

    bare = browsing(opened, page_of(one.name), shown, java_script_enabled=False)
    return module, bare, *browsing(opened, view, worked), states


def test_the_script_has_the_values_of_the_library(seen):
    module, _, _, found, states = seen
    one, compared = module.EXPLORER, 0
    for state, values in zip(states, found, strict=True):
        for name, value in module.values(state).items():
            if math.isfinite(value):
                assert abs(values[name] - value) <= one.tolerance * max(1, abs(value)), (name, state)
                compared += 1
    assert compared >= len(found)


def test_an_address_is_a_view_and_the_start_is_there_without_a_script(seen):
    module, bare, view, *_ = seen
    start = module.EXPLORER.parts(module.EXPLORER.start)["reading"]["text"]
    assert (bare["reading"], bare["live"]) == (start, False) and bare["picture"] > 200
    assert view["live"] and view["reading"] != start


async def drag(tab, start: tuple[float, float], way: tuple[int, int]) -> None:
    """Put a finger down, move it twelve times and lift it, as a screen reports it."""
    screen = await tab.context.new_cdp_session(tab)
    for step in range(13):
        place = {"x": start[0] + step * way[0], "y": start[1] + step * way[1]}
        kind = "touchMove" if step else "touchStart"
        await screen.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place]})
        await tab.wait_for_timeout(16)
    await screen.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    await tab.wait_for_timeout(100)


POINTS = [(module.EXPLORER.name, each) for module in MODULES for each in module.EXPLORER.controls if each.kind == "point"]


@pytest.mark.parametrize("name, point", POINTS, ids=lambda one: getattr(one, "name", one))
def test_a_finger_drags_a_point_and_scrolls_the_page_beside_it(name, point, browsing):
    async def act(tab):
        await tab.evaluate("() => window.MathJax?.startup?.promise")
        await tab.locator(f"figure[data-explorer={name}] .picture").evaluate(CENTRE)
        moved = []
        for way in [(4, 0), (-4, 0), (0, 4), (0, -4)]:
            before = await tab.evaluate(MOVED, [name, point.name])
            await drag(tab, before[:2], way)
            after = await tab.evaluate(MOVED, [name, point.name])
            moved.append([round((new - old) / 12 / 4) for new, old in zip(after[:2], before[:2], strict=True)])
            assert after[2] == before[2], "the page was scrolled"
        bare, here = await tab.evaluate(EMPTY, name), await tab.evaluate("scrollY")
        await drag(tab, bare, (0, -4))
        return moved, await tab.evaluate("scrollY") - here

    moved, scrolled = browsing(opened, page_of(name), act, **PHONE)
    assert moved == [[1, 0], [-1, 0], [0, 1], [0, -1]] and scrolled > 20
