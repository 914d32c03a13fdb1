"""What the pages of the built site show in a browser: opened from files, at two widths and in two schemes."""

import asyncio
import importlib.util
import shutil
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from book.builder.pdf import BROWSERS, browser

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
SCREENSHOTS = ROOT / "_build" / "screenshots"
ASKED = Path(__file__).with_suffix(".js")
AT_A_TIME = 3
PATIENCE = 120_000  # milliseconds, for a machine that has other things to do
LOCAL = ("file:", "data:", "blob:")
VIEWS = {1280: "light", 360: "dark"}
WIDEST, HIGH = 1280, 2000
THEME = "(scheme) => document.documentElement.dataset.theme === scheme"
COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules of axe that see colours. They come out alike at every width, the others in every scheme."""
NARROW = ["scrollable-region-focusable", "region"]
"""The rules that may come out otherwise on a phone."""
STRUCTURE = "(colours) => visit.axe(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], colours, false)"
SOME = "(rules) => visit.axe(rules, {}, false)"
CONTRAST = "(rules) => visit.axe(rules, {}, true)"

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
        self.tab, self.found, self.page = tab, found, SITE
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
        """Look at a page in every view as it opens, then at both widths with everything unfolded."""
        self.page = page
        await self.tab.goto(page.as_uri())
        await self.ask("visit.settle()")
        await self.read()
        for width, scheme in VIEWS.items():
            await self.view(width, scheme)
            await self.photograph(f"{width}.{scheme}")
        await self.ask("visit.unfold()")
        for width in VIEWS:
            await self.view(width)
            over = await self.ask("visit.overflow()")
            self.note("sideways", *[f"{over} px at {width}"] * (over > 0))
            self.note("narrow code", *await self.ask("visit.columns()"))
            self.note("fitting", *[f"{fault} at {width}" for fault in await self.ask("visit.fitting()")])
            tails = await self.ask("visit.tails()")
            self.found.tails += tails["count"]
            self.note("off the line", *tails["off"])
        await self.tab.emulate_media(media="print")
        self.note("print", *await self.ask("visit.printed()"))
        await self.tab.emulate_media(media="screen")
        await self.ask("visit.settle()")
        await self.ask("visit.boxes()")
        await self.check()

    async def view(self, width: int, scheme: str | None = None) -> None:
        if self.tab.viewport_size["width"] != width:
            await self.tab.set_viewport_size({"width": width, "height": HIGH})
        if scheme:
            await self.tab.emulate_media(color_scheme=scheme)
            await self.tab.wait_for_function(THEME, arg=scheme)
        await self.ask("visit.settle", width)

    async def read(self) -> None:
        """Everything that no view changes."""
        found = await self.ask("visit.found()")
        self.found.links[self.page], self.found.ids[self.page] = found["links"], set(found["ids"])
        self.note("mathematics", *[f"{found[kind]} {kind}" for kind in ("raw", "refused") if found[kind]])
        self.note("pictures", *found["pictures"])
        self.note("code", *[found["code"]] * bool(found["code"]))
        self.note("policy", *found["against"], *["no policy, or two"] * (found["policies"] != 1))

    async def photograph(self, name: str) -> None:
        target = SCREENSHOTS / self.page.relative_to(SITE).with_suffix(f".{name}.jpeg")
        await self.tab.screenshot(path=target, type="jpeg", quality=60)

    async def check(self) -> None:
        """Let axe see the structure at both widths, and the colours in both schemes."""
        narrow = await self.ask(SOME, NARROW)
        await self.view(WIDEST)
        wide = await self.ask(STRUCTURE, {rule: {"enabled": False} for rule in COLOURS})
        self.note("structure", *[f"{fault} on a phone" for fault in narrow], *wide)
        for scheme in reversed(VIEWS.values()):
            await self.view(WIDEST, scheme)
            self.note(f"contrast {scheme}", *await self.ask(CONTRAST, COLOURS))


async def visit_all(chromium) -> Found:
    """Visit every page, the largest first."""
    found, waiting = Found(), sorted(pages(), key=lambda page: page.stat().st_size)
    shutil.rmtree(SCREENSHOTS, ignore_errors=True)

    async def go() -> None:
        tab = await chromium.new_page(viewport={"width": WIDEST, "height": HIGH}, reduced_motion="reduce")
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
