"""The built site in a browser, as readers open it: from files, at two widths and in two schemes, by keyboard and by touch."""

import re
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from visits import NEEDS, SCHEMES, SITE, Found, opened, pages, visit_all

from papers import registry

pytestmark = NEEDS
HEAVY = 320_000
PREVIEWED = "notebooks/zhang_4_2_shifts.html"
TYPESET = "() => window.MathJax?.startup?.promise"


@pytest.fixture(scope="module")
def visits(browsing) -> Found:
    return browsing(visit_all)


def test_every_page_was_visited(visits):
    assert len(visits.links) == len(pages()) > 10


KINDS = ["asked", "failed", "errors", "mathematics", "pictures", "code", "policy", "sideways", "structure"]
KINDS += ["narrow code", "off the line", "fitting", "print"]


@pytest.mark.parametrize("kind", [*KINDS, *(f"contrast {scheme}" for scheme in SCHEMES)])
def test_no_page_shows_a_fault(visits, kind):
    """Nothing from outside, nothing missing, no error, no bare TeX, no picture without words, no inline code, nothing against
    the policy, no cut page, nothing that axe finds, no column of code under twelve characters, no comma of a formula off its
    line, no formula cut or upright in the contents, nothing beyond its card, no fold too low for a finger, no title missing in
    print."""
    assert visits.of(kind) == {}


def test_what_touches_formulas_was_looked_at(visits):
    assert visits.tails > 100


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
    assert heavy.pop("ledger.html", 0) < 900 * len(registry.CLAIMS)  # as long as there are claims
    assert heavy == {}
    site = sum(file.stat().st_size for file in SITE.rglob("*") if file.is_file())
    assert site < 1.2e6 * len([*(SITE / "notebooks").glob("*.html")])


def with_tab(browsing, act, **settings):
    async def typeset(tab):
        await tab.evaluate(TYPESET)
        await act(tab)

    browsing(opened, (SITE / PREVIEWED).as_uri(), typeset, **settings)


def test_a_preview_opens_and_closes_by_keyboard(browsing):
    async def act(tab):
        link, box = tab.locator("main a[data-preview^='preview']").first, tab.locator("#icl-preview")
        await link.evaluate("(link) => link.previousElementSibling?.focus()")
        await tab.keyboard.press("Tab")
        await link.focus()
        await box.wait_for(state="visible")
        assert len(re.sub(r"\s", "", await box.inner_text())) > 10
        await tab.keyboard.press("Escape")
        await box.wait_for(state="hidden")

    with_tab(browsing, act, viewport={"width": 1280, "height": 900})


def test_the_first_tap_shows_and_the_second_goes(browsing):
    async def act(tab):
        link, box = tab.locator("main a[data-preview][href*='.html#']").first, tab.locator("#icl-preview")
        await link.scroll_into_view_if_needed()
        await link.tap()
        await box.wait_for(state="visible")
        assert tab.url.endswith(PREVIEWED)
        await tab.wait_for_function("() => !document.querySelector('#icl-preview .math:not(:has(mjx-container))')")
        await link.tap()
        await tab.wait_for_url(lambda url: not url.endswith(PREVIEWED))

    with_tab(browsing, act, viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)


def test_a_screen_without_our_colours_shows_pictures_on_the_ground_they_were_drawn_for(browsing):
    async def act(tab):
        grounds = await tab.evaluate(
            """() => [...document.querySelectorAll("figure.icl-figure img")].filter((part) => part.checkVisibility())
                .map((part) => [part.className, getComputedStyle(part).backgroundColor])"""
        )
        assert {*map(tuple, grounds)} == {("only-light", "rgb(255, 255, 255)")}

    for scheme in SCHEMES:
        with_tab(browsing, act, viewport={"width": 390, "height": 800}, forced_colors="active", color_scheme=scheme)


LETTERS = """() => {
  const letters = document.querySelector("details.icl-letters");
  const inner = (part) => { const { left, right } = part.getBoundingClientRect(); return [left, right]; };
  return { open: letters.open, place: inner(letters), text: inner(document.querySelector("article p.icl-kicker")),
    fold: inner(document.querySelector("details.sd-dropdown:not(.icl-letters)")),
    room: document.documentElement.clientWidth, page: document.documentElement.scrollWidth };
}"""
STAY = """() => { const letters = document.querySelector("details.icl-letters");
  const place = letters.getBoundingClientRect().top + scrollY;
  return [0, 1500].map((way) => { scrollTo({ top: place + 1500 + way, behavior: "instant" });
    const { top, bottom } = letters.getBoundingClientRect(); return top > 0 && bottom < innerHeight; }); }"""


@pytest.mark.parametrize(("width", "beside"), [(1920, True), (1600, True), (1599, False), (1280, False)])
def test_letters_are_open_in_the_margin_of_a_wide_screen(browsing, width, beside):
    async def act(tab):
        found = await tab.evaluate(LETTERS)
        (left, right), (begins, ends) = found["place"], found["text"]
        assert found["open"] is beside and found["page"] == found["room"]
        assert ends < left < right < found["room"] if beside else found["fold"] == [left, right] and begins <= left
        assert await tab.evaluate(STAY) == [beside, beside]
        await tab.emulate_media(media="print")
        assert await tab.evaluate("() => getComputedStyle(document.querySelector('.icl-letters')).float") == "none"

    with_tab(browsing, act, viewport={"width": width, "height": 900})
