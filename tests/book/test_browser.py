"""The built site in a browser, as readers open it: from files, at two widths and in two schemes, by keyboard and by touch."""

import asyncio
import importlib.util
import re
from collections import defaultdict
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from book.build.pdf import BROWSERS, FLAGS, browser

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
AT_A_TIME = 4
PATIENCE = 120_000  # milliseconds, for a machine that has other things to do
LOCAL = ("file:", "data:", "blob:")
WIDTHS = (360, 1280)
HEAVY = 300_000
PREVIEWED = "notebooks/zhang_4_2_shifts.html"
TYPESET = "async () => { await window.MathJax?.startup?.promise; document.dispatchEvent(new Event('toggle')); }"
SETTLED = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  const still = Promise.all(document.getAnimations().map((change) => change.finished.catch(frame)));
  await Promise.race([still, new Promise((done) => setTimeout(done, 1000))]);
  await frame();
}"""
FOUND = """() => ({
  links: [...document.querySelectorAll("a[href], img[src], link[href], script[src]")].map((e) => e.href || e.src),
  ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
  raw: [...document.querySelectorAll("span.math, div.math")].filter((e) => !e.querySelector("mjx-container")).length,
  refused: document.querySelectorAll("mjx-merror, [data-mjx-error]").length,
  pictures: [...document.querySelectorAll("main img")].filter((e) => !e.alt).map((e) => e.src),
  code: document.querySelectorAll("script:not([src]):not([type='application/json']), [onclick]").length,
})"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
AXE = """async (runOnly) => (
  await axe.run({ exclude: ["mjx-container"] }, { runOnly, preload: false, resultTypes: ["violations"] })  // MathJax's own
).violations.map(
  (found) => `${found.id} (${found.nodes.length}) ${found.nodes[0].target} ${found.nodes[0].any[0]?.message}`)"""
THEME = "(scheme) => document.documentElement.dataset.theme === scheme"
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},  # no other rule sees colours
}

NEEDS = [
    pytest.mark.skipif(
        not browser(), reason=f"no browser: none of {', '.join(BROWSERS)} is on PATH (apt-get install chromium)"
    ),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site in _build/html; ./run book makes it"),
]
pytestmark = NEEDS


def pages() -> list[Path]:
    return [
        *sorted(SITE.glob("book/*.html")),
        *sorted(SITE.glob("notebooks/*.html")),
        SITE / "search.html",
        SITE / "genindex.html",
    ]


def axe_source() -> str:
    """The script of axe-core that a wheel brought."""
    package = Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    return (package / "axe.min.js").read_text(encoding="utf-8")


class Visits:
    """What every page of the site showed in the browser: findings by property, then by page."""

    def __init__(self):
        self.seen = defaultdict(lambda: defaultdict(list))
        self.links: dict[Path, list[str]] = {}
        self.ids: dict[Path, set[str]] = {}

    def note(self, kind: str, page: Path, *findings: object) -> None:
        self.seen[kind][page.relative_to(SITE).as_posix()].extend(findings)

    def of(self, kind: str) -> dict[str, list]:
        return {page: found for page, found in self.seen[kind].items() if found}

    async def all(self) -> "Visits":
        from playwright.async_api import async_playwright

        self.axe, self.turn = axe_source(), asyncio.Semaphore(AT_A_TIME)
        async with async_playwright() as driver:
            self.browser = await driver.chromium.launch(executable_path=browser(), args=FLAGS)
            await asyncio.gather(*map(self.visit, pages()))
            await self.browser.close()
        return self

    async def visit(self, page: Path) -> None:
        async with self.turn:
            tab = await self.browser.new_page(viewport={"width": WIDTHS[1], "height": 900})
            tab.set_default_timeout(PATIENCE)
            tab.on("request", lambda told: told.url.startswith(LOCAL) or self.note("asked", page, told.url))
            tab.on("requestfailed", lambda told: self.note("failed", page, told.url))
            tab.on("pageerror", lambda error: self.note("errors", page, str(error)))
            tab.on("console", lambda told: told.type in ("error", "warning") and self.note("errors", page, told.text))
            await tab.goto(page.as_uri())
            await tab.evaluate(TYPESET)
            await self.look(page, tab)
            await tab.evaluate(self.axe)
            for scheme, rules in RULES.items():
                await tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                await tab.wait_for_function(THEME, arg=scheme)
                await tab.evaluate(SETTLED)
                self.note(f"axe {scheme}", page, *await tab.evaluate(AXE, rules))
            await tab.close()

    async def look(self, page: Path, tab) -> None:
        """Everything that does not depend on the scheme."""
        found = await tab.evaluate(FOUND)
        self.links[page], self.ids[page] = found["links"], set(found["ids"])
        self.note("mathematics", page, *[f"{found[kind]} {kind}" for kind in ("raw", "refused") if found[kind]])
        self.note("pictures", page, *found["pictures"])
        self.note("code", page, *[found["code"]] * bool(found["code"]))
        for width in WIDTHS:
            await tab.set_viewport_size({"width": width, "height": 900})
            await tab.evaluate(SETTLED)
            over = await tab.evaluate(OVERFLOW)
            self.note("sideways", page, *[f"{over} px at {width}"] * (over > 0))
        await tab.set_viewport_size({"width": WIDTHS[1], "height": 900})


@pytest.fixture(scope="module")
def visits() -> Visits:
    return asyncio.run(Visits().all())


def test_every_page_was_visited(visits):
    assert len(visits.links) == len(pages()) > 10


@pytest.mark.parametrize("kind", ["asked", "failed", "errors", "mathematics", "pictures", "code", "sideways"])
def test_no_page_shows_a_fault(visits, kind):
    """Nothing from outside, nothing missing, no error, no bare TeX, no picture without words, no inline code, no cut page."""
    assert visits.of(kind) == {}


@pytest.mark.parametrize("scheme", RULES)
def test_axe_finds_nothing(visits, scheme):
    assert visits.of(f"axe {scheme}") == {}


def test_every_link_leads_somewhere(visits):
    broken = []
    for page, links in visits.links.items():
        for link in links:
            address, anchor = urldefrag(link)
            if urlsplit(address).scheme == "file":
                target = Path(unquote(urlsplit(address).path))
                there = target.exists() and (not anchor or target not in visits.ids or unquote(anchor) in visits.ids[target])
                broken += [] if there else [f"{page.name} -> {link.rpartition('html/')[2]}"]
    assert sorted(set(broken)) == []


def test_pages_and_site_are_light():
    heavy = {page.name: page.stat().st_size for page in pages() if page.stat().st_size > HEAVY}
    assert heavy == {}
    assert sum(file.stat().st_size for file in SITE.rglob("*") if file.is_file()) < 36e6


@asynccontextmanager
async def opened(address: str, **settings):
    """A page in a browser of its own."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        started = await driver.chromium.launch(executable_path=browser(), args=FLAGS)
        tab = await started.new_page(**settings)
        tab.set_default_timeout(PATIENCE)
        await tab.goto(address)
        yield tab
        await started.close()


async def with_tab(act, **settings):
    async with opened((SITE / PREVIEWED).as_uri(), **settings) as tab:
        await tab.evaluate(TYPESET)
        await act(tab)


def test_a_preview_opens_and_closes_by_keyboard():
    async def act(tab):
        link, box = tab.locator("main a[data-preview^='preview']").first, tab.locator("#icl-preview")
        await link.evaluate("(link) => link.previousElementSibling?.focus()")
        await tab.keyboard.press("Tab")
        await link.focus()
        await box.wait_for(state="visible")
        assert len(re.sub(r"\s", "", await box.inner_text())) > 10
        await tab.keyboard.press("Escape")
        await box.wait_for(state="hidden")

    asyncio.run(with_tab(act, viewport={"width": 1280, "height": 900}))


def test_the_first_tap_shows_and_the_second_goes():
    async def act(tab):
        link, box = tab.locator("main a[data-preview][href*='.html#']").first, tab.locator("#icl-preview")
        await link.scroll_into_view_if_needed()
        await link.tap()
        await box.wait_for(state="visible")
        assert tab.url.endswith(PREVIEWED)
        await tab.wait_for_function("() => !document.querySelector('#icl-preview .math:not(:has(mjx-container))')")
        await link.tap()
        await tab.wait_for_url(lambda url: not url.endswith(PREVIEWED))

    asyncio.run(with_tab(act, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True))
