"""Texts as they are set on pages."""

import pytest
from lxml import html

from book.builder import mend, typography
from book.builder.site import Page

NARROW = "0\N{NON-BREAKING HYPHEN}1"


def set_in(body: str) -> str:
    """What becomes of an article."""
    page = Page("x.html", html.document_fromstring(f"<html><body><article class='bd-article'>{body}</article></body></html>"))
    typography.set_type(page)
    return html.tostring(page.article, encoding="unicode").partition(">")[2].removesuffix("</article>")


@pytest.mark.parametrize(
    "written, read",
    [
        ('<p>It is "high", and "≤ 1" too.</p>', "<p>It is “high”, and “≤ 1” too.</p>"),
        ('<p>"<b>Similar</b>" (as "so") isn\'t.</p>', "<p>“<b>Similar</b>” (as “so”) isn’t.</p>"),
        ("<p>The 0-1 error</p>", f"<p>The {NARROW} error</p>"),
        ("<p><a><span>Garg et al.</span></a>. So <a>ours</a>.</p>", "<p><a><span>Garg et al.</span></a> So <a>ours</a>.</p>"),
        ("<p>of it (<a>(43)</a>): so</p>", "<p>of it <a>(43)</a>: so</p>"),
        ("<p><b>a</b> (<a>(43)</a>, <a>(44)</a>)</p>", "<p><b>a</b> (<a>(43)</a>, <a>(44)</a>)</p>"),
        ("<td>-0.1: of 4.1-4.2, 2026-11-25</td>", "<td>−0.1: of 4.1-4.2, 2026-11-25</td>"),
        ("<p>at 7e-05.</p>", '<p>at <span class="icl-power">7·10<sup>−5</sup></span>.</p>'),
        (
            "<p>1e−06 ± 7e−07</p>",
            '<p><span class="icl-power">10<sup>−6</sup></span> ± <span class="icl-power">7·10<sup>−7</sup></span></p>',
        ),
        (
            "<p>1e-15 or 1.2e+08</p>",
            '<p><span class="icl-power">10<sup>−15</sup></span> or <span class="icl-power">1.2·10<sup>8</sup></span></p>',
        ),
    ],
)
def test_a_text_is_set(written, read):
    assert set_in(written) == read


@pytest.mark.parametrize("kept", ['<code>"a" 1e-5</code>', '<span class="math">0-1 1e-5</span>', "<p>0-10, x1e5, 1e5b</p>"])
def test_code_and_formulas_are_left_alone(kept):
    assert set_in(kept) == kept


@pytest.mark.parametrize(
    "title, named", [("4.1 X", "Zhang 4.1 X"), ("Appendices B", "Zhang Appendices B"), ("Static patches", "Static patches")]
)
def test_the_title_of_a_section_or_an_appendix_names_its_paper(title, named):
    page = Page("notebooks/zhang_x.html", html.document_fromstring(f"<html><head><title>{title}</title></head></html>"))
    mend.name_page(page)
    assert page.tree.findtext(".//title") == named
