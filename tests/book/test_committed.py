"""Committed outputs stay where a machine alone makes them differ, and their links lead to what is in the checkout."""

import base64
import configparser
import io
import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image, ImageDraw

from book.builder import committed, outputs

ROOT = Path(__file__).resolve().parents[2]
SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="60pt" height="40pt" viewBox="0 0 60 40">
<path d="M 5 {} L 55 9.5" style="fill: none; stroke: #0b62a4; stroke-width: 1.6"/></svg>"""
FIGURE = """<figure class="icl-figure" id="fig-risk" data-slug="zhang-risk">
<!--⟨--><picture><img alt="Risk." src="data:image/svg+xml;base64,{}"></picture><!--⟩-->
<figcaption>Risk, <!--⟨-->{}<!--⟩--> at <em>N</em> = 8.</figcaption><!-- provenance --></figure>"""


def shown(height: float = 20.0, number: str = "0.25", printed: str = "⟨1⟩ of 2\n", alt: str = "Risk.") -> nbformat.NotebookNode:
    """An executed notebook with a line of text, in two pieces, and a figure."""
    drawn = base64.b64encode(SVG.format(height).encode()).decode()
    data = {"text/html": FIGURE.format(drawn, number), "text/plain": f"Picture('risk', 'zhang-risk'): ⟨{alt}⟩"}
    made = [new_output("stream", text=text) for text in (printed[:2], printed[2:])]
    cell = new_code_cell("show(RISK)", id="a", execution_count=1, outputs=[*made, new_output("display_data", data)])
    return new_notebook(cells=[cell], metadata={"papermill": {"duration": 1.5}})


def write(path, **told):
    nbformat.write(shown(**told), path)
    return path


def test_a_figure_is_a_picture_and_a_caption_with_its_marks(tmp_path):
    committed.show(notebook := shown(), tmp_path)
    stream, picture, caption = notebook.cells[0].outputs
    assert stream.text == "⟨1⟩ of 2\n"
    assert picture.data.keys() == {"image/png", "text/plain"} and picture.metadata["image/png"].alt == "Risk."
    assert picture.data["text/plain"] == "Picture('risk', 'zhang-risk'): ⟨Risk.⟩"
    assert caption.data == {
        "text/markdown": "Risk, <!--⟨-->0.25<!--⟩--> at *N* = 8.",
        "text/plain": "Risk, ⟨0.25⟩ at N = 8.",
    }


@pytest.mark.parametrize(
    ("told", "moved", "other"),
    [
        ({}, False, False),
        ({"height": 20.01}, False, False),
        ({"number": "0.26"}, False, False),
        ({"printed": "⟨3⟩ of 2\n"}, False, False),
        ({"alt": "Risk 5e-16."}, False, False),
        ({"alt": "Risk falls."}, False, True),
        ({"number": "0.26"}, True, True),
        ({"height": 21.0}, False, True),
        ({"printed": "⟨1⟩ of 3\n"}, False, True),
    ],
)
def test_outputs_are_written_anew_where_more_differs_than_a_machine_may_change(tmp_path, told, moved, other):
    path, folder = tmp_path / "one.ipynb", tmp_path / "executed"
    folder.mkdir()
    nbformat.write(new_notebook(), path)
    assert outputs.replaced(path, write(folder / "one.ipynb"), moved=False)
    before = path.read_bytes()
    assert outputs.replaced(path, write(folder / "one.ipynb", **told), moved) == other == (path.read_bytes() != before)
    assert b"papermill" not in before


def test_outputs_of_another_source_are_not_kept():
    before, fresh = shown(), shown(number="0.26")
    committed.keep(before, fresh)
    assert fresh.cells == before.cells
    fresh = shown(number="0.26")
    fresh.cells[0].source = "show(ERROR)"
    committed.keep(before, fresh)
    assert "0.26" in fresh.cells[0].outputs[-1].data["text/html"]


def test_numbers_of_two_machines_do_not_stand_beside_each_other():
    before, fresh = shown(), shown(number="0.26")
    for notebook, told in ((before, "a model"), (fresh, "two models")):
        notebook.cells.append(new_code_cell("time()", id="time", outputs=[new_output("stream", text=f"⟨3⟩ s for {told}\n")]))
    committed.keep(before, fresh)
    assert "0.26" in fresh.cells[0].outputs[-1].data["text/html"]


def picture(size: tuple[int, int], *dots: tuple[int, int]) -> str:
    drawn = Image.new("RGB", size, "white")
    for x, y in dots:
        ImageDraw.Draw(drawn).ellipse((x - 4, y - 4, x + 4, y + 4), "#b4460a")
    drawn.save(file := io.BytesIO(), format="PNG")
    return base64.b64encode(file.getvalue()).decode()


def test_a_marker_that_moved_or_is_gone_makes_another_picture():
    one = picture((400, 300), (40, 40), (350, 200))
    assert committed.near(one, one)
    others = [((400, 300), (40, 40), (351, 200)), ((400, 300), (40, 40)), ((400, 304), (40, 40), (350, 200))]
    assert not any(committed.near(one, picture(*other)) for other in others)


def test_links_lead_to_what_lies_in_the_checkout(tmp_path):
    notebooks = tmp_path / "notebooks"
    for folder, file in (("notebooks", "other.ipynb"), ("book", "how_to_read.md")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).touch()
    assert committed.beside(notebooks, "notebooks/other.html", "claim-Z1") == "other.ipynb"
    assert committed.beside(notebooks, "book/how_to_read.html", "codes") == "../book/how_to_read.md#codes"
    assert committed.beside(notebooks, "book/how_to_read.html", "") == "../book/how_to_read.md"
    assert committed.beside(notebooks, "book/ledger.html", "") == committed.beside(notebooks, "notebooks/gone.html", "") == ""
    links = '<a href="../book/ledger.html">all</a> <a href="other.html#a">one</a>'
    told = f'<div class="icl-cards"><article><p>{links}</p></article></div>'
    (output,) = committed.plain_output(
        new_output("display_data", {"text/html": told, "text/plain": ""}), lambda *page: committed.beside(notebooks, *page)
    )
    assert output.data["text/markdown"] == "all [one](other.ipynb)"


def test_what_a_machine_may_change_is_what_the_comparison_cuts_out():
    rule = configparser.RawConfigParser()
    rule.read(Path(__file__).parents[1] / "nbval_sanitize.cfg")
    text = "<!--⟨-->1<!--⟩--> of ⟨2\n3⟩ 4"
    assert re.sub(rule["machine"]["regex"], "", text) == committed.MARKED.sub("", text) == "<!----> of  4"
