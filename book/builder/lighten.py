"""Pages and pictures without what no reader sees."""

import gzip
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from lxml.html import HtmlElement

from book.builder import icons
from book.builder.pages import GENERATED
from book.builder.site import Page, by_class

SPARE = ("**/*.map", "**/*.ttf", "locales", "webpack-macros.html", "sbt-webpack-macros.html", "vendor/fontawesome/*/js")
SPARE += (
    "vendor/fontawesome/*/webfonts/*.woff2",
    "sphinx-thebe.*",
    *(f"mathjax/input/tex/extensions/{name}.js" for name in ("all-packages", "amscd", "bussproofs", "empheq", "mathtools")),
    *(f"mathjax/input/tex/extensions/{name}.js" for name in ("mhchem", "physics")),
    *(f"mathjax/output/chtml/fonts/woff-v2/MathJax_{name}.woff" for name in ("Fraktur-*", "SansSerif-*", "Script-*")),
    *(
        f"mathjax/output/chtml/fonts/woff-v2/MathJax_{name}.woff"
        for name in ("Calligraphic-Bold", "Typewriter-*", "Math-Regular")
    ),
    "sphinx_highlight.js",
)
"""What no page asks for, below `_static`: sources of minified files, translations, icons as scripts."""
BUILD = ".buildinfo"
"""What Sphinx notes of its settings, the folder of its theme among them, for a next build that begins from nothing here."""
PLAIN = ("", "n", "nn", "nb", "bp", "mi", "mf", "p", "w", "o", "pre", "sig-param", "sig-return-icon", "sig-return-typehint")
"""What Pygments and Sphinx call names, numbers, punctuation, blanks and operators; they have no colour of their own."""
ALIKE = {"s1": "s", "s2": "s", "sd": "s", "se": "s", "si": "s", "sa": "s"}
"""Kinds of strings, with the shorter name of their colour."""
NUMBER = re.compile(r"-?\d+\.\d{5,}(e[-+]\d+)?")
DIGITS = 5
LARGE = 50_000
"""Bytes from which on a table is offered packed."""


def plain_formulas(page: Page) -> None:
    """Take from formulas the words for translators and for colours; on the ledger they weigh as much as fifty claims."""
    for formula in by_class(page.tree, "nohighlight"):
        formula.set("class", formula.get("class").replace(" notranslate", "").replace(" nohighlight", ""))


def plain_code(page: Page) -> None:
    """Unwrap the parts of shown code and of signatures that need no colour of their own: two thirds of a page's weight."""
    for code in by_class(page.tree, "highlight", "sig"):
        for span in code.xpath(".//span"):
            kind = span.get("class", "")
            if kind in PLAIN:
                span.drop_tag()
            elif kind in ALIKE:
                span.set("class", ALIKE[kind])


def drop_spare(static: Path) -> None:
    """Remove files that no page asks for."""
    for pattern in SPARE:
        for path in list(static.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def shorten(numbers: Path) -> None:
    """Write a table's numbers with five digits; the NetCDF file beside it has them all."""
    text = numbers.read_text(encoding="utf-8")
    numbers.write_text(NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text), encoding="utf-8")


def light_tables(data: Path) -> set[str]:
    """Shorten the tables of a folder and pack the large ones; the names of all that are packed."""
    for table in sorted(data.glob("*.csv")):
        shorten(table)
        if table.stat().st_size >= LARGE:
            table.with_name(f"{table.name}.gz").write_bytes(gzip.compress(table.read_bytes(), mtime=0))
            table.unlink()
    return {path.name.removesuffix(".gz") for path in data.glob("*.csv.gz")}


def point_to(packed: set[str], tree: HtmlElement) -> None:
    """Let links to tables that were packed lead there, and say so."""
    for link in tree.xpath("//a[contains(@href, '.csv')]"):
        if link.get("href").rpartition("/")[2] in packed:
            link.set("href", f"{link.get('href')}.gz")
            link.text = f"{link.text} (gzip)"


def without_rows(page: Path) -> None:
    """Leave of the source of a large page that the build wrote where its rows are offered: they are no source of anything."""
    text = page.read_text(encoding="utf-8")
    if text.startswith(GENERATED) and len(text) > LARGE:
        page.write_text(
            f"{GENERATED}The build writes this page; its rows are in `ledger.json` and `ledger.csv`.\n", encoding="utf-8"
        )


def lighten(site: Path, pages: Collection[Page]) -> None:
    """Make the files beside the pages lighter."""
    icons.keep_shown(site / "_static", pages)
    drop_spare(site / "_static")
    (site / BUILD).unlink(missing_ok=True)
    for page in (site / "_sources").rglob("*.md"):
        without_rows(page)
