"""The font of icons: what the pages show is in it and nothing else is, so that it does not hold up the first formula."""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont
from lxml import html
from visits import SITE

from book.builder import icons, lighten
from book.builder.site import read_site

OF_THEME = next(Path(pydata_sphinx_theme.__file__).parent.glob("theme/*/static/vendor/fontawesome"))
LIST, XMARK, SUN, GITHUB, BELL, ANGLE, MOON = 0xF03A, 0xF00D, 0xF185, 0xF09B, 0xF0F3, 0xF107, 0xF186
BUILT = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site in _build/html; ./run book makes it")
ADDRESS = re.compile(r"url\(([^)]*)\)")
SIGNS = re.compile(r'([^{}]*)\{content:"\\(\w+)"')
HEAVIEST = 10_000


@pytest.fixture
def static(tmp_path):
    """The theme's icons, with a script and another style sheet that ask for some."""
    folder = tmp_path / "site" / "_static"
    shutil.copytree(OF_THEME, folder / "vendor" / "fontawesome")
    (folder / "theme.css").write_text(f':root{{--bell:"{chr(BELL)}"}}.x:after{{content:"\\f107"}}', encoding="utf-8")
    (folder / "theme.js").write_text('icon.className = "fa-solid fa-xmark";', encoding="utf-8")
    return folder


def kept(static: Path, *classes: str) -> tuple[str, dict[str, set[int]]]:
    """The style sheet and the characters of each font, once the pages show elements of these classes."""
    tree = html.fragment_fromstring("".join(f'<i class="{each}"></i>' for each in classes), create_parent=True)
    lighten.lighten(static.parent, [SimpleNamespace(tree=tree)])
    return there(static)


def there(static: Path) -> tuple[str, dict[str, set[int]]]:
    (sheet,) = static.glob(icons.SHEET)
    rules = sheet.read_text(encoding="utf-8")
    fonts = {font.resolve() for font in static.rglob("webfonts/*")}
    assert {(sheet.parent / address).resolve() for address in ADDRESS.findall(rules)} == fonts
    return rules, {font.stem.split("-")[1]: {*TTFont(font).getBestCmap()} for font in fonts}


def test_the_font_has_the_icons_of_pages_scripts_and_style_sheets_alone(static):
    rules, fonts = kept(static, "fa-solid fa-list fa-lg", "fas fa-sun", "moon fa-moon")
    assert fonts == {"solid": {LIST, SUN, XMARK, BELL, ANGLE}}
    assert all(
        name in rules for name in (".fa-list:before", ".fa-sun:before", ".fa-xmark:before", ".fa-lg{", ".fa-solid,.fas{")
    )
    assert not any(name in rules for name in (".fa-moon", ".fa-bell", ".fa-2x", "keyframes"))
    assert rules.startswith("/*!") and "license" in rules


def test_a_font_that_only_some_books_need_comes_with_its_icons(static):
    rules, fonts = kept(static, "fab fa-github", "fa-solid fa-list")
    assert fonts.keys() == {"brands", "solid"} and fonts["brands"] == {GITHUB} and LIST in fonts["solid"]
    assert ".fa-github:before" in rules


def test_the_same_icons_make_the_same_font(tmp_path):
    whole = next(OF_THEME.rglob("fa-solid-*.ttf"))
    for name in ("one.ttf", "two.ttf"):
        icons.subset(shutil.copy(whole, tmp_path / name), {LIST, SUN})
    one, two = (tmp_path / name for name in ("one.woff", "two.woff"))
    assert one.read_bytes() == two.read_bytes()
    with TTFont(whole) as theirs, TTFont(one) as ours:
        assert ours["glyf"][ours.getBestCmap()[SUN]].xMax == theirs["glyf"][theirs.getBestCmap()[SUN]].xMax


@BUILT
def test_every_icon_of_the_book_has_its_sign():
    rules, fonts = there(SITE / "_static")
    signs = {name: int(sign, 16) for names, sign in SIGNS.findall(rules) for name in icons.NAME.findall(names)}
    shown = icons.names(SITE / "_static", read_site(SITE).values()) - {"fa-solid", "fa-lg"}
    assert len(shown) > 10 and shown <= signs.keys() and {signs[name] for name in shown} <= set().union(*fonts.values())


@BUILT
def test_icons_are_light():
    files = [file for kind in ("css/*", "webfonts/*") for file in (SITE / "_static" / "vendor").glob(f"fontawesome/*/{kind}")]
    assert len(files) > 1 and sum(file.stat().st_size for file in files) < HEAVIEST
