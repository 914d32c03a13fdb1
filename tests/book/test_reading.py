"""Reading copies: nothing of MyST and no SVG is left in them, and their numbers are those of the pages."""

import base64
import io
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from lxml import html
from PIL import Image

from book.builder import raster, reading
from book.builder.commonmark import plain
from book.builder.layout import UP
from book.builder.resolved import Place, Resolved, resolved
from book.builder.shown import plain_output
from book.builder.site import Page

ROOT = Path(__file__).resolve().parents[2]
LEFT = re.compile(r"\{[\w:]+\}`|^[> ]*(?:`{3,}|:{3,}) *\{|\(eq-|^[> ]*:\w+: |data:,", re.MULTILINE)
"""What a reading copy must not hold: roles, directives, labels, options, broken pictures."""
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def places() -> Resolved:
    """One equation and one theorem on another page, of which the second stands below a heading."""
    known = {
        "eq-a": Place("(20)", "notebooks/other.html", "equation-eq-a"),
        "thm-b": Place("Theorem 3", "notebooks/own.html", "thm-b"),
        "eq-n": Place("(4)", "book/notation.html", "equation-eq-n"),
    }
    titles = {"notebooks/other.html": "The other", "book/how_to_read.html": "How to read"}
    works = {"a2024": "[A et al. (2024)](https://arxiv.org/abs/1)", "b2023": "[B (2023)]({bibliography})"}
    return Resolved("own", ROOT, UP, known, titles, {"thm-b": "What follows", "eq-a": "On $x$"}, works)


@pytest.mark.parametrize(
    ("cell", "copy"),
    [
        ("By {eq}`eq-a`.", "By [(20)](other.ipynb)."),
        ("By {eq}`eq-n`.", "By [(4)](../../book/notation.html#equation-eq-n)."),
        ("{prf:ref}`thm-b` and {prf:ref}`this <thm-b>`", "[Theorem 3](#What-follows) and [this](#What-follows)"),
        ("{doc}`other`, {doc}`there <other>`", "[The other](other.ipynb), [there](other.ipynb)"),
        ("{doc}`../book/how_to_read`", "[How to read](../../book/how_to_read.html)"),
        ("the [front page](../book/index.md)", "the [front page](../../book/index.html)"),
        (
            "{cite}`a2024` {cite:t}`a2024`",
            "[A et al. (2024)](https://arxiv.org/abs/1) [A et al. (2024)](https://arxiv.org/abs/1)",
        ),
        ("{cite:p}`b2023`", "([B (2023)](../../book/bibliography.html))"),
        ("So\n\n$$\na=b .\n$$ (eq-a)", "So\n\n$$\na=b . \\tag{20}\n$$"),
        ("1. So\n\n   $$a$$ (eq-a)", "1. So\n\n   $$a \\tag{20}$$"),
        (
            "````{prf:theorem} Of $x$\n:label: thm-b\n\nIt is\n\n$$\na\n=b\n$$ (eq-a)\n````\nThen",
            "> **Theorem 3 (Of $x$).**\n>\n> It is\n>\n> $$ a =b \\tag{20} $$\n\nThen",
        ),
        ("```{prf:lemma}\n:label: thm-b\nSo.\n```", "> **Theorem 3.**\n>\n> So."),
        ("```{prf:proof}\nBy $a\n=b$.\n```", "> **Proof.**\n>\n> By $a =b$."),
        (":::{dropdown} More\nA\n\n* b\n:::", "<details>\n<summary>More</summary>\n\nA\n\n* b\n\n</details>"),
        ("````{note} Two\n```{warning}\nOne.\n```\n````", "> **Two**\n>\n> > **Warning**\n> >\n> > One."),
        ("```sh\n{eq}`eq-a`\n```", "```sh\n{eq}`eq-a`\n```"),
    ],
)
def test_each_construct_becomes_plain_markdown(cell, copy):
    assert plain(cell, places()) == copy


def test_included_code_has_the_numbers_of_the_page(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text('A = 1\n\n\ndef f():\n    """See (eq-a)."""\n\n\nB = 2\nC = 3\n')
    page = replace(places(), root=tmp_path)
    (tmp_path / "notebooks").mkdir()
    whole = "```{{literalinclude}} ../lib/a.py\n:language: python\n{}\n```"
    function = plain(whole.format(":pyobject: f"), page)
    assert function == '`lib/a.py`\n\n```python\ndef f():\n    """See (20)."""\n```'
    assert plain(whole.format(":start-at: B\n:end-before: C"), page) == "`lib/a.py`\n\n```python\nB = 2\n```"


@pytest.mark.parametrize("cell", ["```{unheard}\n```", "{eq}`eq-unheard`", "{unheard}`x`"])
def test_what_is_not_known_is_no_reading_copy(cell):
    with pytest.raises(ValueError, match="own: .* unheard|own: .* eq-unheard"):
        plain(cell, places())


def test_a_fence_ends_and_a_blank_behind_its_end_is_no_matter():
    assert plain("```{note} Here\ninside\n``` \noutside", places()).endswith("\n\noutside")
    with pytest.raises(ValueError, match="own: ```{note} Here has no end: write ``` on a line of its own"):
        plain("```{note} Here\ninside", places())


def test_an_explorer_is_found_on_the_page():
    told = plain("```{explorer} zhang-error\n```", places())
    assert told.startswith("> **") and "(../../notebooks/own.html#explore-zhang-error)" in told


def test_numbers_and_titles_are_those_of_the_pages():
    article = """<article class="bd-article"><div class="math" id="equation-eq-x-l"><span class="eqno">(7)<a>#</a></span></div>
    <div class="proof lemma" id="lem-y"><p><span class="caption-number">Lemma 2 </span> (Of z)</p></div></article>"""
    page = Page("notebooks/one.html", html.document_fromstring(f"<title>Zhang 1 One — Book</title>{article}"))
    cells = ["# 1 One", "## First\n\n$$\na\n$$ (eq-x-L)", "## Second\n\n```{prf:lemma} Of z\n:label: lem-y\nZ.\n```"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(cell) for cell in cells])
    known = replace(resolved({page.path: page}, {"one": notebook}, ROOT, UP), name="two")
    assert known.link("eq-x-L") == "[(7)](one.ipynb#First)" and known.link("lem-y") == "[Lemma 2](one.ipynb#Second)"
    assert known.page("one") == "[1 One](one.ipynb)"
    assert known.cited("vonoswald2023transformers") == "[von Oswald et al. (2023)](https://arxiv.org/abs/2212.07677)"


CARD = """<div class="icl-cards"><article class="icl-card"><p class="icl-head"><b>Z1</b> <span>found here</span>
<span class="verdict verdict-holds">holds</span><small> (judged in full)</small></p>
<p class="icl-says">That <span class="math notranslate">\\(a_1\\)</span> is 1*.</p><!--⟨--><svg class="icl-strip">
<path class="band" d=""/><path class="edge" d="M120.0 3V23"/><path class="miss" d="M222.5 8.0l5 5z"/>
<path class="spread" d="M70.0 13.0H91.0"/><circle class="dot" cx="80.5"/></svg><!--⟩-->
<p class="icl-found"><span><!--⟨-->0.1<!--⟩--></span> <span>allowed 1</span></p><details><summary>how it is judged</summary>
<dl><dt>kind</dt><dd>a rate <a href="../book/how_to_read.html#codes">[V]</a></dd></dl></details></article></div>"""
MINUTE = """<section class="icl-minute"><p class="icl-minute-title">In one minute</p><dl><dt>It says</dt>
<dd>All (<a class="icl-chip" href="#claim-Z1">Z1 holds</a>, <a href="other.html#claim-Z2">Z2 fails</a>).</dd></dl>
<p class="icl-tally">1 of 2.</p></section>"""


def shown(markup: str) -> list[dict]:
    data = {"text/html": markup, "text/plain": "as it was"}
    return [output.data for output in plain_output(nbformat.v4.new_output("display_data", data), places().address)]


def test_cards_and_boxes_are_markdown():
    (card,), (minute,) = shown(CARD), shown(MINUTE)
    assert card["text/markdown"].split("\n\n") == [
        "**Z1** · found here · **holds** · (judged in full)",
        "That $a_1$ is 1\\*.",
        "number <!--⟨-->0.1<!--⟩--> · allowed 1 · <!--⟨-->`├──────━●━──┤·········◇·`<!--⟩-->",
        "<details>\n<summary>how it is judged</summary>",
        "- **kind**: a rate [\\[V\\]](../../book/how_to_read.html#codes)",
        "</details>",
    ]
    assert minute["text/markdown"].split("\n>\n") == [
        "> **In one minute**",
        "> **It says** All (**Z1 holds**, [Z2 fails](other.ipynb)).",
        "> 1 of 2.",
    ]
    assert card["text/plain"] == minute["text/plain"] == "as it was"


def test_a_table_has_no_class_and_a_stream_stays():
    (table,) = shown('<!--⟨--><div class="icl-table"><table><tr><td>1</td></tr></table></div><!--⟩-->')
    assert table["text/html"] == "<!--⟨--><div><table><tr><td>1</td></tr></table></div><!--⟩-->"
    stream = nbformat.v4.new_output("stream", text="⟨1⟩\n")
    assert list(plain_output(stream, places().address)) == [stream]


DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
width="20pt" height="10pt" viewBox="0 0 20 10">
<defs><path id="tick" d="M 0 0 L 4 0 L 4 4 L 0 4 z"/>
<clipPath id="left"><rect x="0" y="0" width="10" height="10"/></clipPath></defs>
<path d="M 0 0 L 20 0 L 20 10 L 0 10 z" style="fill: #0b62a4" clip-path="url(#left)"/>
<g transform="translate(12 3)"><use xlink:href="#tick" x="1" y="1" style="fill: #b4460a"/></g></svg>"""


def test_a_drawing_becomes_the_pixels_it_describes():
    file, width = raster.png(base64.b64encode(DRAWING.encode()).decode())
    picture = Image.open(io.BytesIO(base64.b64decode(file)))
    assert (picture.size, picture.mode, width) == ((36, 18), "P", 27)
    colours = {
        place: "#{:02x}{:02x}{:02x}".format(*picture.convert("RGB").getpixel(place)) for place in [(5, 5), (27, 11), (25, 2)]
    }
    assert colours == {(5, 5): "#0b62a4", (27, 11): "#b4460a", (25, 2): "#ffffff"}


def test_what_a_drawing_holds_beyond_paths_is_refused():
    with pytest.raises(ValueError, match="<text>"):
        raster.png(base64.b64encode(DRAWING.replace("</svg>", "<text/></svg>").encode()).decode())


@pytest.mark.parametrize("address", ["https://github.com/owner/name", "https://gitlab.com/owner/name", ""])
def test_a_copy_installs_itself_on_colab_where_its_repository_is_on_github(address):
    cells = [nbformat.v4.new_markdown_cell("# Title"), nbformat.v4.new_code_cell("seed = 0")]
    copy = reading.reading_copy(nbformat.v4.new_notebook(cells=cells), places(), address)
    nbformat.validate(copy)
    added = [cell for cell in copy.cells if "%pip" in cell.source]
    assert len(copy.cells) - len(added) == 2 and [*added] == copy.cells[1:2] * ("github" in address)
    for cell in added:
        assert cell.source.endswith(f"%pip install --quiet git+{address}") and cell.metadata.cellView == "form"
        assert InteractiveShell.instance().run_cell(cell.source).success  # which does nothing here


class Anything(dict):
    """A place for any label."""

    def get(self, label: str) -> Place:
        return Place("(1)", "notebooks/a.html", label)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_the_book_can_be_copied(path):
    """Whatever its labels are numbered."""
    page = replace(places(), name=path.stem, places=Anything(), titles=defaultdict(str), works=defaultdict(str))
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            copy = plain(cell.source, page)
            assert not LEFT.findall(copy)
            assert copy.count("<details>") == copy.count("</details>")
