"""What the build puts at the marks of the front pages."""

from types import SimpleNamespace

from book.build import front

FIGURE = """<figure><picture><source media="(max-width: 600px)" srcset="narrow"><img src="wide"></picture>
<figcaption>Left: one. Right: another.</figcaption><p class="icl-provenance">seed 0</p></figure>"""


def test_a_figure_beside_its_text_is_the_narrow_one_and_its_caption_says_above_and_below(tmp_path):
    (tmp_path / "index.md").write_text("Before\n\n<!-- figure toy -->\n\nAfter\n")
    front.fill(tmp_path, {"toy": FIGURE}, SimpleNamespace(rows=[]))
    page = (tmp_path / "index.md").read_text()
    assert page.startswith("Before\n") and page.endswith("After\n")
    assert 'media="all"' in page and "seed 0" not in page
    assert "Above: one. Below: another." in page
