"""What the search looks through: the parts of a page, each with its own words."""

import json

import pytest
from lxml import html

from book.builder import search
from book.builder.site import Page

PAGE = """<html><head><title>4.1 One — Book</title></head><body><main><article class="bd-article">
<section id="one"><h1>One<a class="headerlink" href="#one">#</a></h1><p>All is <span class="math">\\(a^2\\)</span>.</p><p>Or
10<sup>−3</sup>.</p><pre>code = 1</pre><details class="icl-made"><summary>how</summary>made</details>
<div class="proof theorem admonition" id="thm"><p class="admonition-title"><span>Theorem 1</span> (Small)</p>
<section><p>It is so.</p></section></div><div class="proof admonition" id="proof"><p>Proof. By hand.</p></div>
<article class="icl-card" id="claim-Z1" data-claim="Z1"><p class="icl-head"><b>Z1</b> <span>found here</span></p>
<p class="icl-says">One is one.</p><details><summary>how it is judged</summary>strictly</details></article>
<section id="two"><h2>Two</h2><p>More.</p></section></section>
<template><p>elsewhere</p></template></article></main></body></html>"""


@pytest.fixture
def pages() -> dict[str, Page]:
    scripts = "".join(f'<script src="{name}"></script>' for name in ("searchindex.js", "_static/searchtools.js", "own.js"))
    found = PAGE.replace("<article", '<article id="x"').replace("4.1 One", "Search").replace("<head>", f"<head>{scripts}")
    own = PAGE.replace("<head>", '<head><script src="../settings.js"></script><script src="../_static/mathjax/m.js"></script>')
    return {
        path: Page(path, html.document_fromstring(text))
        for path, text in (("search.html", found), ("notebooks/li_1.html", own))
    }


def test_a_part_has_its_own_words_and_its_own_address(pages):
    rows = {place: (heading, text) for place, heading, text in search.sections(pages["notebooks/li_1.html"])}
    assert rows == {
        "one": ("One", "All is \\(a^2\\). Or 10⁻³. Proof. By hand."),
        "thm": ("Theorem 1 (Small)", "It is so."),
        "claim-Z1": ("Z1 · found here", "One is one."),
        "two": ("Two", "More."),
    }
    assert "elsewhere" in pages["notebooks/li_1.html"].tree.text_content(), "the page itself is left as it is"


def test_what_is_found_is_named_by_its_paper(pages):
    assert search.titled(pages["notebooks/li_1.html"]) == "Li · 4.1 One"


def test_the_search_page_loads_sections_and_formulas_in_the_place_of_sphinx(pages, tmp_path):
    for name in ("searchindex.js", "_static/searchtools.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    search.add(tmp_path, pages)
    assert pages["search.html"].tree.xpath("//script/@src") == [
        "own.js",
        "settings.js",
        "_static/mathjax/m.js",
        *(f"_static/search/{name}" for name in search.SCRIPTS),
    ]
    assert [path.name for path in tmp_path.rglob("*.js")] == ["sections.js"]
    written = (tmp_path / "_static" / "search" / "sections.js").read_text(encoding="utf-8")
    ((path, title, sections),) = json.loads(written.removeprefix("globalThis.PAGES = ").rstrip(";\n"))
    assert (path, title) == ("notebooks/li_1.html", "Li · 4.1 One")
    assert [place for place, _, _ in sections] == ["two", "claim-Z1", "thm", "one"]
