"""Numbers taken from papers and slides stand in one place each: what docstrings and pages quote of them is compared with it."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from papers.ahn import published as ahn
from papers.dherin import published as dherin
from papers.lenses import published as lenses
from papers.li import published as li
from papers.regression import published as garg

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "slides": li,
    "authors' plot": li,
    "The plot": li,
    "Garg et al.": garg,
    "otes on the paper": dherin,
    "otes on v4": dherin,
    "Ahn et al.'s code": ahn,
}
"""Words that announce a number of others, and the module that holds it."""
DECIMAL = re.compile(r"(?<![\d.])\d*\.\d+%?(?!\d)")
QUOTE = re.compile(r"(?:slides have|[Ii]n the plot it|[Oo]n the slides it) ((?:[^.;]|\.\d)*)")
"""What a page says of the slides, to the end of the sentence."""
CODE = [path for path in sorted((ROOT / "papers").rglob("*.py")) if path.name != "published.py"]


def numbers(kept) -> Iterator[float]:
    """Yield all numbers of a table, keys too."""
    if isinstance(kept, dict):
        yield from (one for pair in kept.items() for each in pair for one in numbers(each))
    elif isinstance(kept, tuple):
        yield from (one for each in kept for one in numbers(each))
    elif isinstance(kept, int | float):
        yield float(kept)


def held(module) -> set[float]:
    """Return the numbers of a module, without what is made of them."""
    return {one for name, kept in vars(module).items() if name.isupper() and name != "QUOTED" for one in numbers(kept)}


def strangers(text: str, module, claim: str = "") -> list[str]:
    """Return the decimals of a text that neither the module holds nor its ``QUOTED`` makes of what it holds."""
    made, told = getattr(module, "QUOTED", {}).get(claim, ()), held(module)
    return [each for each in DECIMAL.findall(text) if _value(each) not in told and not any(_reads(each, one) for one in made)]


def _value(text: str) -> float:
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _reads(text: str, value: float) -> bool:
    digits = len(text.partition(".")[2])
    return f"{value:.{digits}f}" == f"{float(text.rstrip('%')):.{digits}f}"


def quoting(docstring: str) -> Iterator[tuple[str, object]]:
    """Yield the parts of sentences that quote others."""
    for part in re.split(r"(?<=[.;])(?<!al\.)\s+|\s(?=\()", " ".join(docstring.split())):
        for words, module in SOURCES.items():
            if words in part and "Lasso's" not in part:
                yield part, module
                break


def documented(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name, ast.get_docstring(node) or ""


@pytest.mark.parametrize(
    "path", [path for path in CODE if path.name.startswith("claims")], ids=lambda path: "/".join(path.parts[-3:])
)
def test_what_claims_quote_is_held(path):
    found = {
        name: odd for name, text in documented(path) for part, module in quoting(text) if (odd := strangers(part, module, name))
    }
    assert not found, f"not in published.py: {found}"


def test_what_pages_quote_is_held():
    pages = [*(ROOT / "notebooks").glob("li_*.ipynb"), *(ROOT / "book").glob("*.md")]
    quotes = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".ipynb":
            cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
            text = "\n".join("".join(cell["source"]) for cell in cells)
        if page.stem != "errata":
            quotes += [(page.stem, quote) for quote in QUOTE.findall(text)]
    assert len(quotes) >= 5 and not [(page, odd) for page, quote in quotes if (odd := strangers(quote, li))]


def copied(tree: ast.AST, told: set[float]) -> list[int]:
    """Return the lines of lists and tables that hold two or more numbers of others with two digits or more."""
    rows = [node for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict)]
    kept = [(row.lineno, row.values if isinstance(row, ast.Dict) else row.elts) for row in rows]
    return [line for line, ones in kept if len({one.value for one in ones if _rare(one, told)}) > 1]


def _rare(node: ast.AST, told: set[float]) -> bool:
    plain = isinstance(node, ast.Constant) and type(node.value) is float and node.value in told
    return plain and len(f"{node.value:.2g}".lstrip("0.").replace(".", "")) > 1 and node.value < 0.1


@pytest.mark.parametrize("path", CODE, ids=lambda path: "/".join(path.parts[-3:]))
def test_no_code_holds_them_a_second_time(path):
    told = held(li) | held(garg) | held(lenses)
    assert copied(ast.parse(path.read_text(encoding="utf-8")), told) == []


def test_a_copy_is_found():
    assert copied(ast.parse("x = [0.038, 0.047]"), held(li)) == [1]
    assert copied(ast.parse("x = {8: 0.038, 20: 0.047}"), held(li)) == [1]
    assert strangers("the slides have 0.038 and 0.049", li) == ["0.049"]
    assert strangers("the slides have ratios of 0.27 and 0.15", li, "L17c") == ["0.15"]
