"""Drawings as files: one for both themes, and light."""

from lxml import html

from book.builder import drawings

LIGHT = """<?xml version="1.0"?><!DOCTYPE svg><svg width="9pt" viewBox="0 0 9 9"><metadata>m</metadata>
<path d="M 10 20.5
L 10.25 20
L 9 20.004
C 1 2 3 4 5 6
z
" style="stroke: #0b62a4; fill: #ffffff"/></svg>"""


def test_one_drawing_serves_both_themes(tmp_path):
    (tmp_path / "a-light.svg").write_text(LIGHT)
    (tmp_path / "a-dark.svg").write_text(LIGHT.replace("#0b62a4", "#6cb6ff"))
    (tmp_path / "b-light.svg").write_text(LIGHT)
    (tmp_path / "b-dark.svg").write_text(LIGHT.replace("20.5", "21"))
    assert drawings.one_for_both(tmp_path) == {"a"}
    assert {file.name for file in tmp_path.iterdir()} == {"a.svg", "b-light.svg", "b-dark.svg"}
    text = (tmp_path / "a.svg").read_text()
    assert ":root{--c0:#0b62a4}#dark:target{--c0:#6cb6ff}" in text and "stroke:var(--c0);fill:#ffffff" in text
    assert 'd="M10 20.5l.25-.5-1.25 0c-8-18-6-16-4-14z"' in text and "metadata" not in text
    page = html.fragment_fromstring('<p><img src="../figures/a-dark.svg"><img src="../figures/b-dark.svg"></p>')
    drawings.point_to({"a"}, page)
    assert page.xpath(".//@src") == ["../figures/a.svg#dark", "../figures/b-dark.svg"]


MARKS = """<svg id="dark"><g id="line2d_1"><defs><path id="m123" d="M0 1" style="stroke: #ffffff"/></defs>
<g clip-path="url(#p9)"><use xlink:href="#m123" x="1.23456" y="2" style="fill: #ffffff"/>
<use xlink:href="#m123" x="3.5" y="4.999999" style="fill: #ffffff"/></g></g><!-- 80 --><clipPath id="p9"/></svg>"""


def test_a_drawing_tells_once_what_its_marks_share():
    assert drawings.compact(MARKS) == (
        '<svg id="dark"><g><defs><path id="b" d="M0 1" style="stroke:#ffffff"/></defs>'
        '<g clip-path="url(#a)" style="fill:#ffffff"><use href="#b" x="1.23" y="2"/><use href="#b" x="3.5" y="5"/></g></g>'
        '<clipPath id="a"/></svg>'
    )


def test_a_style_that_stands_in_a_drawing_twice_is_a_class():
    twice = '<path d="M1 2l3 4" style="{}"/>' * 2 + '<path d="M1 2l3 4" style="fill:none"/>'
    assert drawings.compact(f"<svg>{twice.format('stroke: #0b62a4; fill: none', 'stroke: #0b62a4; fill: none')}</svg>") == (
        "<svg><style>.a{stroke:#0b62a4;fill:none}</style>"
        '<path d="M1 2l3 4" class="a"/><path d="M1 2l3 4" class="a"/><path d="M1 2l3 4" style="fill:none"/></svg>'
    )


def test_a_glyph_that_is_moved_to_a_place_has_that_place():
    moved = '<use xlink:href="#g" transform="translate({})"/>'
    drawing = "".join(moved.format(each) for each in ("63.618 0", "1.5 -2", "3 4) scale(0.7"))
    assert drawings.compact(f'<svg><path id="g"/>{drawing}</svg>') == (
        '<svg><path id="a"/><use href="#a" x="63.62"/><use href="#a" x="1.5" y="-2"/>'
        '<use href="#a" transform="translate(3 4) scale(0.7)"/></svg>'
    )


def test_paths_that_are_cut_alike_are_cut_in_one_group():
    path = '<path d="M1 2l3 4" clip-path="url(#p{})"/>'
    cut = '<clipPath id="p1"/><clipPath id="p2"/>'
    together, apart = path.format(1) * 3, path.format(1) * 2 + path.format(2)
    plain = '<path d="M1 2l3 4"/>'
    assert f'<g clip-path="url(#a)">{plain * 3}</g>' in drawings.compact(f"<svg>{together}{cut}</svg>")
    assert "<g" not in drawings.compact(f"<svg>{apart}{cut}</svg>")
