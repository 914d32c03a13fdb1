"""The content-security policy on small pages: what it says, and that nothing on a page needs more."""

from pathlib import Path

import pytest
from lxml import html

from book.builder import policy
from book.builder.finish import finish
from book.builder.problem import Problem
from book.builder.site import Page, read_site
from book.citation.record import Record

ROOT = Path(__file__).resolve().parents[2]
SHELL = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>T</title>
<script>window.MathJax = {{}}</script><script defer="defer" src="{up}_static/mathjax/mathjax.js?v=1"></script></head>
<body><main><article class="bd-article"><section><h1>T</h1>{body}</section></article></main></body></html>"""


DATA = '<script type="application/json">{"a": 1}</script>'


@pytest.fixture
def site(tmp_path):
    for folder in ("book", "notebooks", "_static", "figures", "data"):
        (tmp_path / folder).mkdir()
    (tmp_path / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=book/index.html" />')
    for name in ("search", "genindex"):
        (tmp_path / f"{name}.html").write_text(SHELL.format(up="", body=""))
    for name in ("index", "two"):
        (tmp_path / "book" / f"{name}.html").write_text(SHELL.format(up="../", body=DATA))
    finish(tmp_path, lambda path: {"page": "0" * 16}, Record.of(ROOT))
    return tmp_path


def test_nothing_but_files_of_the_site_is_allowed():
    told = dict(part.split(" ", 1) for part in policy.CONTENT.split("; "))
    assert told["default-src"] == told["object-src"] == told["base-uri"] == told["connect-src"] == "'none'"
    assert told["script-src"] == told["style-src"] == told["font-src"] == told["form-action"] == "'self'"
    assert "unsafe" not in policy.CONTENT and "*" not in policy.CONTENT and "http" not in policy.CONTENT


def test_every_page_begins_with_the_policy_and_needs_no_more(site):
    pages = read_site(site)
    assert pages.keys() == {"404.html", "genindex.html", "search.html", "book/index.html", "book/two.html"}
    for page in pages.values():
        first = page.tree.head[0]
        assert (first.get("http-equiv"), first.get("content")) == (policy.NAME, policy.CONTENT)
        assert not page.tree.xpath("//style | //@style | //@*[starts-with(name(), 'on')] | //script[not(@src)][not(@type)]")
    bare = html.document_fromstring((site / "index.html").read_text())
    assert bare.xpath("//meta/@content") == ["default-src 'none'", "0; url=book/index.html"]


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ('<p style="color: blue">one</p>', "styles"),
        ("<style>td { top: 0 }</style>", "styles"),
        ('<p onmouseover="f()">one</p>', "code"),
        ('<svg><a onclick="f()"></a></svg>', "code"),
        ('<iframe src="a.html"></iframe>', "a frame"),
    ],
)
def test_a_page_that_needs_more_is_not_built(held, told):
    page = Page("book/a.html", html.document_fromstring(f"<html><head></head><body>{held}</body></html>"))
    with pytest.raises(Problem, match=f"^book/a.html holds {told}, which its security policy refuses; "):
        policy.apply(page)


def test_a_script_of_ours_runs_between_the_settings_and_mathjax(site):
    for path, up in (("search.html", ""), ("book/index.html", "../")):
        tree = read_site(site)[path].tree
        scripts = [address.partition("?")[0] for address in tree.xpath("//script/@src")]
        place = scripts.index(f"{up}_static/mathjax/mathjax.js")
        assert scripts[place - 1] == f"{up}_static/formulas.js" and "inline-" in scripts[place - 2]
        first = tree.xpath("//script[@fetchpriority='high']/@src")
        assert first and first == tree.xpath("//script[contains(@src, 'mathjax/')]/@src")
