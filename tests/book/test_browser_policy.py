"""The site under its content-security policy, from files and from a server: all works, and nothing is refused."""

import asyncio
import functools
import http.server
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import html
from test_browser import PREVIEWED, TYPESET
from visits import AT_A_TIME, NEEDS, PATIENCE, SITE, pages

pytestmark = NEEDS
LISTEN = """
window.refused = [];
document.addEventListener("securitypolicyviolation", (found) => {
  window.refused.push(`${found.effectiveDirective}: ${found.blockedURI} ${found.sample}`);
});
"""


PLACED = "claim-Z17j"
"""A place far down the page with previews."""
CONTROLS = ":is(input:checked, input[type=range], [role=slider])"
SERVED = pytest.mark.parametrize("root", ["http"], indirect=True)
"""What comes out alike from files and from a server is looked at once."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module", params=["file", "http"])
def root(request):
    """The address of the site, as files or from a server."""
    if request.param == "file":
        yield SITE.as_uri()
        return
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def _visited(chromium, addresses: list[str], act) -> list[str]:
    said, waiting = [], [*addresses]

    async def go() -> None:
        tab = await chromium.new_page(viewport={"width": 1280, "height": 900})
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda line: line.type in ("error", "warning") and told.append(line.text))
        tab.on("pageerror", lambda error: told.append(str(error)))
        await tab.add_init_script(LISTEN)
        while waiting:
            address, told = waiting.pop(), []
            await tab.goto(address)
            await tab.evaluate(TYPESET)
            await act(tab)
            told.extend(await tab.evaluate("() => window.refused"))
            said.extend(f"{address}: {line}" for line in told)
        await tab.close()

    await asyncio.gather(*[go() for _ in range(min(AT_A_TIME, len(addresses)))])
    return said


@pytest.fixture
def visited(browsing):
    """What the browser complained of on some pages, and after what was done on each."""
    return functools.partial(browsing, _visited)


def explorers() -> list[Path]:
    """The notebooks' pages with explorers."""
    return [page for page in SITE.glob("notebooks/*.html") if "data-explorer=" in page.read_text(encoding="utf-8")]


def kinds() -> list[str]:
    """The smallest of the other pages that ask for the same scripts, and for pictures or none."""
    found = {}
    for page in sorted({*pages()} - {*explorers()}, key=lambda page: -page.stat().st_size):
        tree = html.parse(str(page))
        scripts = sorted(address.rpartition("/")[2] for address in tree.xpath("//script/@src"))
        found[bool(tree.xpath("//main//img")), *scripts] = page
    return [page.relative_to(SITE).as_posix() for page in found.values()]


@SERVED
def test_no_page_needs_what_the_policy_refuses(root, visited):
    """Nor do those with explorers, below; from files ``test_no_page_shows_a_fault`` looks for the same, on every page."""
    assert 5 < len(kinds()) < len(pages())

    async def act(tab):
        assert await tab.locator("meta[http-equiv='Content-Security-Policy']").count() == 1

    assert visited([f"{root}/{page}" for page in kinds()], act) == []


def test_formulas_are_styled_and_so_are_those_that_come_later(root, visited):
    sizes = "() => [...document.querySelectorAll('mjx-container mjx-c')].filter((c) => !c.closest('mjx-assistive-mml'))"
    bare = f"{sizes}.filter((c) => getComputedStyle(c, '::before').content === 'none').length"

    async def act(tab):
        assert await tab.evaluate(f"{sizes}.length") > 100 and await tab.evaluate(bare) == 0
        await tab.evaluate(
            """() => { const p = document.createElement("p"); p.id = "later"; p.className = "math";
            p.textContent = "\\\\(\\\\mathbb{Q} \\\\color{#010203}{w}\\\\)";
            document.querySelector("main").append(p); return MathJax.typesetPromise([p]); }"""
        )
        assert await tab.evaluate(bare) == 0
        colours = "() => [...document.querySelectorAll('#later *')].map((e) => getComputedStyle(e).color)"
        assert "rgb(1, 2, 3)" in await tab.evaluate(colours)

    assert visited([f"{root}/{PREVIEWED}"], act) == []


PRINTED = """addEventListener("DOMContentLoaded", () => {
  const unset = () => document.querySelectorAll("main .math:not(:has(mjx-container))").length;
  window.unset = [unset()];
  dispatchEvent(new Event("beforeprint"));
  window.unset.push(unset());
});"""


@SERVED
def test_formulas_that_wait_for_their_turn_are_set_before_they_are_printed(root, visited):
    async def act(tab):
        await tab.add_init_script(PRINTED)
        await tab.reload()
        waiting, printed = await tab.evaluate("() => window.unset")
        assert waiting > printed == 0
        await tab.evaluate(TYPESET)
        twice = "() => document.querySelectorAll('main .math > mjx-container ~ mjx-container').length"
        assert await tab.evaluate(twice) == 0

    assert visited([f"{root}/{PREVIEWED}"], act) == []


FIRST = """(() => {
  const isSet = (formula) => formula.querySelector("mjx-container") !== null;
  const formulas = () => [...document.querySelectorAll("main .math")];
  const shown = () => formulas().filter((formula) => formula.checkVisibility() && formula.getBoundingClientRect().width > 0);
  let inside = []; // before any is set: a set one is lower, and others come up into the window
  let settings;
  Object.defineProperty(window, "MathJax", { get: () => settings, set: (given) => {
    const ready = given.startup?.pageReady;
    if (ready) given.startup.pageReady = () => {
      inside = shown().filter((formula) => formula.getBoundingClientRect().top < innerHeight);
      return ready();
    };
    settings = given;
  } });
  new MutationObserver((_, observer) => {
    const set = formulas().filter(isSet).length;
    if (!set) return;
    observer.disconnect();
    window.first = { set, inside: inside.length, next: shown().findIndex((each) => !isSet(each)) };
  }).observe(document, { childList: true, subtree: true });
})();"""


@SERVED
@pytest.mark.parametrize(("height", "few"), [(300, True), (3000, False)])
def test_formulas_in_the_window_are_set_before_all_others_and_a_few_where_it_has_none(root, visited, height, few):
    async def act(tab):
        await tab.set_viewport_size({"width": 390, "height": height})
        await tab.add_init_script(FIRST)
        await tab.reload()
        first = await tab.evaluate("() => window.first")
        assert (first["inside"] == 0) is few, first
        assert first["next"] == first["set"] >= 1, first
        assert first["set"] <= 10 if few else first["set"] >= first["inside"], first

    assert visited([f"{root}/{PREVIEWED}"], act) == []


@SERVED
def test_a_place_that_an_address_names_stays_where_it_is_while_formulas_are_set(root, visited):
    async def act(tab):
        await tab.wait_for_load_state()
        place = "() => document.querySelector(':target').getBoundingClientRect().top"
        assert 0 <= await tab.evaluate(place) < 450

    assert visited([f"{root}/{PREVIEWED}#{PLACED}"], act) == []


def test_popovers_theme_and_copy_buttons_work(root, visited):
    async def act(tab):
        link, box = tab.locator("main a[data-preview^='preview']").first, tab.locator("#icl-preview")
        await link.focus()
        await link.hover()
        await box.wait_for(state="visible")
        await tab.keyboard.press("Escape")
        before = await tab.evaluate("() => document.documentElement.dataset.mode")
        await tab.locator("button.theme-switch-button:visible").first.click()
        assert await tab.evaluate("() => document.documentElement.dataset.mode") != before
        await tab.evaluate("() => { for (const fold of document.querySelectorAll('main details')) fold.open = true; }")
        button = tab.locator("main button.copybtn").first
        await button.hover()
        await button.click()
        await tab.locator("main button.copybtn.success").first.wait_for()

    assert visited([f"{root}/{PREVIEWED}"], act) == []


QUESTIONS = {
    "Gamma": "Γ",
    "covariate shift": "notebooks/zhang_4_2_shifts.html#covariate-shift",
    "D32": "notebooks/dherin_4_4_finetuning.html#claim-D32",
    "does order matter": "book/answers.html#does-the-order-of-the-examples-matter",
    "patch longer context size": "book/answers.html#why-does-the-change-of-weights-settle",
    "prunning": "notebooks/li_3_4_pruning.html#",
}
"""What is typed, the last with an error, and what the first place found has in its heading or address."""


def test_the_search_finds(root, visited):
    async def act(tab):
        (question,) = parse_qs(urlsplit(tab.url).query)["q"]
        first = tab.locator("#search-results li").first
        await first.locator("p").wait_for()
        link = first.locator("a")
        assert QUESTIONS[question] in await link.inner_text() + (await link.get_attribute("href"))
        assert await first.locator("mark, mjx-container").count()
        await link.click()
        await tab.wait_for_load_state()
        assert await tab.evaluate("() => document.getElementById(decodeURIComponent(location.hash.slice(1)))")

    assert visited([f"{root}/search.html?q={question}" for question in QUESTIONS], act) == []


@SERVED
def test_explorers_move(root, visited):
    named = explorers()

    async def act(tab):
        figure = tab.locator("figure[data-explorer]").first
        shown = "(figure) => figure.querySelector('svg').outerHTML + figure.innerText"
        before = await figure.evaluate(shown)
        for control in await figure.locator(CONTROLS).all():
            await control.focus()
            await tab.keyboard.press("ArrowRight")
        assert await figure.evaluate(shown) != before

    assert named and visited([f"{root}/notebooks/{page.name}" for page in named], act) == []
