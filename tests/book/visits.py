"""What the pages of the built site show in a browser: opened from files, at two widths and in two schemes."""

import asyncio
import importlib.util
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from book.builder.pdf import BROWSERS, browser

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
ASKED = Path(__file__).with_suffix(".js")
AT_A_TIME = 3
PATIENCE = 120_000  # milliseconds, for a machine that has other things to do
LOCAL = ("file:", "data:", "blob:")
WIDTHS, HIGH = (1280, 360), 2000
DARK = "dark"
THEME = "(scheme) => document.documentElement.dataset.theme === scheme"
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe that see colours. They come out alike at every width, the others in every scheme."""
NARROW = ["scrollable-region-focusable", "region"]
"""The rules that may come out otherwise on a phone."""
SCHEMES = {"light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"], DARK: COLOURS}
"""What axe is asked in which scheme."""
AXE = "(rules) => visit.axe(rules)"

NEEDS = [
    pytest.mark.skipif(
        not browser(), reason=f"no browser: none of {', '.join(BROWSERS)} is on PATH (apt-get install chromium)"
    ),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site in _build/html; ./run book makes it"),
]


def pages() -> list[Path]:
    """Every page but the one that only leads to the front page."""
    return sorted({*SITE.glob("*.html"), *SITE.glob("book/*.html"), *SITE.glob("notebooks/*.html")} - {SITE / "index.html"})


def axe_source() -> str:
    """The script of axe-core that a wheel brought."""
    package = Path(importlib.util.find_spec("axe_playwright_python").origin).parent
    return (package / "axe.min.js").read_text(encoding="utf-8")


class Found:
    """What every page showed: findings by property, then by page."""

    def __init__(self):
        self.seen = defaultdict(lambda: defaultdict(list))
        self.links: dict[Path, list[str]] = {}
        self.ids: dict[Path, set[str]] = {}
        self.tails = 0

    def note(self, kind: str, page: Path, *findings: object) -> None:
        self.seen[kind][page.relative_to(SITE).as_posix()].extend(findings)

    def of(self, kind: str) -> dict[str, list]:
        return {page: found for page, found in self.seen[kind].items() if found}


class Visitor:
    """One tab, which visits page after page: each is loaded and typeset once, and looked at in every view."""

    def __init__(self, tab, found: Found):
        self.tab, self.found, self.page, self.scheme = tab, found, SITE, DARK
        tab.set_default_timeout(PATIENCE)
        tab.on("request", lambda told: told.url.startswith(LOCAL) or self.note("asked", told.url))
        tab.on("requestfailed", lambda told: self.note("failed", told.url))
        tab.on("pageerror", lambda error: self.note("errors", str(error)))
        tab.on("console", lambda told: told.type in ("error", "warning") and self.note("errors", told.text))

    def note(self, kind: str, *findings: object) -> None:
        self.found.note(kind, self.page, *findings)

    async def ask(self, question: str, argument: object = None) -> object:
        return await self.tab.evaluate(question, argument)

    async def visit(self, page: Path) -> None:
        """Open a page in the dark and unfold it, look at it at both widths, then with axe on a phone, on paper, and wide."""
        self.page = page
        await self.tab.goto(page.as_uri())
        await self.ask("visit.settle()")
        await self.read()
        await self.ask("visit.unfold()")
        for width in WIDTHS:
            await self.view(width)
            await self.measure(width)
        await self.ask("visit.boxes()")
        self.note("structure", *[f"{fault} on a phone" for fault in await self.ask(AXE, NARROW)])
        await self.tab.emulate_media(media="print")
        self.note("print", *await self.ask("visit.printed()"))
        await self.tab.emulate_media(media="screen")
        await self.check()

    async def view(self, width: int, scheme: str = DARK) -> None:
        if self.tab.viewport_size["width"] != width:
            await self.tab.set_viewport_size({"width": width, "height": HIGH})
        if self.scheme != scheme:  # else all styles would be found anew
            await self.tab.emulate_media(color_scheme=scheme)
            await self.tab.wait_for_function(THEME, arg=scheme)
            self.scheme = scheme
        await self.ask("visit.settle", width)

    async def read(self) -> None:
        """Everything that no view changes."""
        found = await self.ask("visit.found()")
        self.found.links[self.page], self.found.ids[self.page] = found["links"], set(found["ids"])
        self.note("mathematics", *[f"{found[kind]} {kind}" for kind in ("raw", "refused") if found[kind]])
        self.note("pictures", *found["pictures"])
        self.note("code", *[found["code"]] * bool(found["code"]))
        self.note("policy", *found["against"], *["no policy, or two"] * (found["policies"] != 1))

    async def measure(self, width: int) -> None:
        """Everything that depends on the width."""
        over = await self.ask("visit.overflow()")
        self.note("sideways", *[f"{over} px at {width}"] * (over > 0))
        self.note("narrow code", *await self.ask("visit.columns()"))
        self.note("fitting", *[f"{fault} at {width}" for fault in await self.ask("visit.fitting()")])
        tails = await self.ask("visit.tails()")
        self.found.tails += tails["count"]
        self.note("off the line", *tails["off"])

    async def check(self) -> None:
        """Let axe see all of the wide page in the first scheme, and its colours in the other, in which the next page opens."""
        for scheme, rules in SCHEMES.items():
            await self.view(WIDTHS[0], scheme)
            faults = await self.ask(AXE, rules)
            self.note(f"contrast {scheme}", *[fault for fault in faults if fault.split()[0] in COLOURS])
            self.note("structure", *[fault for fault in faults if fault.split()[0] not in COLOURS])


async def visit_all(chromium) -> Found:
    """Visit every page, the largest first."""
    found, waiting = Found(), sorted(pages(), key=lambda page: page.stat().st_size)

    async def go() -> None:
        wide = {"width": WIDTHS[0], "height": HIGH}
        tab = await chromium.new_page(viewport=wide, color_scheme=DARK, reduced_motion="reduce")
        await tab.add_init_script(path=ASKED)
        await tab.add_init_script(axe_source())
        visitor = Visitor(tab, found)
        while waiting:
            await visitor.visit(waiting.pop())
        await tab.close()

    await asyncio.gather(*[go() for _ in range(AT_A_TIME)])
    return found


async def opened(chromium, address: str, act: Callable[..., Awaitable], **settings) -> object:
    """What an act on a page gives."""
    tab = await chromium.new_page(**settings)
    tab.set_default_timeout(PATIENCE)
    try:
        await tab.goto(address)
        return await act(tab)
    finally:
        await tab.close()
