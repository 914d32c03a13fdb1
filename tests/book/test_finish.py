"""The last pass over the rendered pages, on small ones."""

import gzip
import posixpath
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lxml import html

from book.builder import finish, lighten, mend, neighbours, prose, published_at, search
from book.builder.site import Page, read_site
from book.citation.record import Record
from icl_lib.companion import HOLDS
from icl_lib.companion.minute import Box
from icl_lib.companion.told import CODES
from papers import registry

ROOT = Path(__file__).resolve().parents[2]
SHELL = """<!DOCTYPE html><html><head><title>{title} — Book</title><link rel="preload" as="font" href="x">
<script src="../_static/theme.js"></script>
<script>const THEBE_JS_URL = "https://unpkg.com/thebe"</script><script>let a = '</p>';</script>
<script>document.documentElement.dataset.theme = "auto";</script></head>
<body><script>document.write(`
  <i>written</i>
`);</script><div class="bd-sidebar-primary"><nav class="bd-links"><a href="../book/index.html">Book</a><p>Zhang</p>
<ul class="current"><li><a href="../notebooks/one.html">4.1 One</a></li>
<li><a href="../notebooks/two.html">4.2 Two</a></li></ul></nav></div><main><button onclick="window.print()">p</button>
<article class="bd-article"><section>{body}</section></article></main></body></html>"""
ONE = """<h1>4.1 One<a class="headerlink" href="#one">#</a></h1><p>A start.</p>
<div class="proof theorem admonition" id="thm"><p class="admonition-title">Theorem 1 (Theorem 4.1 of the paper)</p>
<section id="proof-content"><p>All is \\(a^2\\), <a href="../book/index.html#top">see</a>.</p></section></div>
<div class="math" id="equation-eq"><span class="eqno">(1)<a class="headerlink" href="#equation-eq">#</a></span>\\[x\\]</div>
<article class="icl-card" id="claim-Z1" data-claim="Z1" data-verdict="holds"><p class="icl-says"><b>Z1</b> One is one.</p>
<p><span class="verdict">holds</span></p></article>"""
TWO = """<h1>4.2 Two</h1><p>By <a class="reference internal" href="one.html#thm">Theorem 1</a>,
<a class="reference internal" href="one.html#equation-eq">(1)</a> and Z1 it is so [V2], but not in <code>Z1 [V2]</code>.</p>
<div class="proof admonition" id="proof"><p>Proof. {long}</p></div>
<div class="proof admonition" id="proof"><p>Proof. Short.</p></div>
<table><thead><tr><th></th><th>n</th></tr></thead><tbody><tr><th>a</th><td>1</td></tr></tbody></table>
<div class="highlight"><pre><span class="n">a</span> <span class="k">in</span>


<span class="p">(</span></pre></div>"""


@pytest.fixture
def site(tmp_path):
    for folder in ("book", "notebooks", "_static", "figures", "data"):
        (tmp_path / folder).mkdir()
    for path, title, body in [
        ("book/index.html", "Book", "<h1>Book</h1><p id='top'>Hello.</p>"),
        ("notebooks/one.html", "4.1 One", ONE),
        ("notebooks/two.html", "4.2 Two", TWO.replace("{long}", "word " * (prose.LONG + 1))),
    ]:
        (tmp_path / path).write_text(SHELL.replace("{title}", title).replace("{body}", body), encoding="utf-8")
    index = SHELL.replace("{title}", "Index").replace("{body}", "<h1>Index</h1>").replace("../", "")
    index = index.replace("</head>", '<link rel="index" href="#"></head>')
    (tmp_path / "genindex.html").write_text(index, encoding="utf-8")
    return tmp_path


@pytest.fixture
def finished(site) -> dict[str, Page]:
    finish.finish(site, lambda path: {"page": "0123456789abcdef"}, Record.of(ROOT))
    return read_site(site)


def test_a_reference_carries_what_it_refers_to(finished):
    two = finished["notebooks/two.html"]
    links = {link.text_content(): link.get("data-preview") for link in two.article.xpath(".//p/a[@data-preview]")}
    assert links.keys() == {"Theorem 1", "(1)", "Z1"}
    shown = {name: two.tree.get_element_by_id(template) for name, template in links.items()}
    assert "All is \\(a^2\\)" in shown["Theorem 1"].text_content()
    assert "\\[x\\]" in shown["(1)"].text_content() and "#" not in shown["(1)"].text_content()
    assert "One is one." in shown["Z1"].text_content() and shown["Z1"].xpath(".//*[@class='verdict']")
    assert not [element for content in shown.values() for element in content.iterdescendants() if element.get("id")]
    assert shown["Theorem 1"].xpath(".//a/@href")[0] == "../book/index.html#top"


def test_a_claim_in_a_sentence_leads_to_its_card_and_code_is_left_alone(finished):
    two = finished["notebooks/two.html"]
    assert two.article.xpath(".//a[@class='icl-claim-link']/@href") == ["one.html#claim-Z1"]
    assert two.article.xpath(".//p/code")[0].text_content() == "Z1 [V2]"
    (code,) = two.article.xpath(".//abbr")
    assert code.get("title") == CODES["V2"] and CODES["V2"] in code.text_content()


def test_the_fold_of_letters_is_known_by_its_words():
    folds = "".join(FOLD.format(words) for words in ("In code", " Letters on this page\n"))
    page = Page("notebooks/one.html", html.document_fromstring(f"<body>{folds}</body>"))
    mend.name_letters(page)
    assert page.tree.xpath("//details/@class") == ["sd-dropdown", "sd-dropdown icl-letters"]


FOLD = '<details class="sd-dropdown"><summary><span class="sd-summary-text">{}</span></summary></details>'


@pytest.mark.parametrize(
    "text, found", [("by L2,", ["L2"]), ("the L2 norm", []), ("L2-norm", []), ("L20", []), ("(L2)", ["L2"])]
)
def test_a_norm_is_no_claim(text, found):
    assert prose.claim_pattern({"L2", "L2b"}).findall(text) == found


def test_pages_know_their_neighbours(finished):
    one, two = finished["notebooks/one.html"], finished["notebooks/two.html"]
    assert [link.text for link in two.article.xpath(".//aside//a")] == ["Theorem 4.1"]
    assert [(link.text, link.get("href")) for link in one.article.xpath(".//aside//a")] == [("4.2 Two", "two.html")]
    assert not finished["book/index.html"].article.xpath(".//aside")
    assert one.article.xpath(".//p[@class='icl-kicker']")[0].text == "Zhang · section 4.1"
    assert one.article.xpath(".//h1")[0].text == "One"


def test_only_a_long_proof_is_folded(finished):
    long, short = finished["notebooks/two.html"].article.xpath(".//div[@class='proof admonition']")
    assert long.xpath("./details/summary")[0].text == "Proof" and long.xpath("./details/p")[0].text.startswith("word")
    assert not short.xpath(".//details") and short.text_content().strip() == "Proof. Short."


def test_no_code_and_no_double_is_left_in_a_page(finished, site):
    for page in finished.values():
        assert not page.tree.xpath("//script[not(@src)] | //*[@onclick] | //link[@rel='preload']")
        assert page.tree.xpath("//button/@data-call") == ["print"]
        ids = page.tree.xpath("//@id")
        assert len(ids) == len(set(ids))
        assert page.tree.xpath("//body/i/text()") == ["written"]
    scripts = {path.read_text(): path.name for path in (site / "_static").glob("inline-*.js")}
    theme = 'document.documentElement.dataset.theme = "auto";\n'
    assert scripts.keys() == {"let a = '</p>';\n", theme}
    waiting = {address.rpartition("/")[2] for page in finished.values() for address in page.tree.xpath("//script[@defer]/@src")}
    assert waiting >= {"theme.js", *scripts.values()} - {scripts[theme]} and scripts[theme] not in waiting
    assert "unpkg" not in "".join(file.read_text() for file in site.rglob("*.html"))


def test_heads_are_told_from_cells_and_code_keeps_its_lines(finished):
    two = finished["notebooks/two.html"].article
    assert [(cell.tag, cell.get("scope")) for cell in two.xpath(".//tr/*")] == [
        *[("td", None), ("th", "col")],
        *[("th", "row"), ("td", None)],
    ]
    assert html.tostring(two.xpath(".//pre")[0]).startswith(b'<pre>a <span class="k">in</span>\n\n\n(')


def test_a_large_table_is_offered_packed_and_its_links_lead_there(tmp_path):
    rows = "n,value\n" + "1,0.5\n" * (lighten.LARGE // 6)
    (tmp_path / "large.csv").write_text(rows)
    (tmp_path / "small.csv").write_text(rows[: lighten.LARGE // 2])
    assert lighten.light_tables(tmp_path) == {"large.csv"}
    assert {path.name for path in tmp_path.iterdir()} == {"large.csv.gz", "small.csv"}
    assert gzip.decompress((tmp_path / "large.csv.gz").read_bytes()).decode() == rows
    page = html.fragment_fromstring('<p><a href="../data/large.csv">CSV</a><a href="small.csv">CSV</a></p>')
    lighten.point_to({"large.csv"}, page)
    assert page.xpath(".//@href") == ["../data/large.csv.gz", "small.csv"]
    assert [link.text for link in page] == ["CSV (gzip)", "CSV"]


def test_tables_that_are_handed_out_are_light(tmp_path):
    numbers = tmp_path / "a.csv"
    numbers.write_text("n,value\n1.0,0.02549397200345993\n2.5,1.2345678901e-07\n")
    lighten.shorten(numbers)
    assert numbers.read_text() == "n,value\n1.0,0.025494\n2.5,1.2346e-07\n"


def test_the_source_of_a_large_page_that_the_build_wrote_tells_where_its_rows_are(tmp_path):
    written, small, own = (tmp_path / f"{name}.md" for name in ("written", "small", "own"))
    written.write_text(lighten.GENERATED + "row\n" * lighten.LARGE)
    small.write_text(lighten.GENERATED + "row\n")
    own.write_text("row\n" * lighten.LARGE)
    for page in (written, small, own):
        lighten.without_rows(page)
    assert "ledger.json" in written.read_text() and written.stat().st_size < 200
    assert small.read_text().endswith("row\n") and own.stat().st_size > lighten.LARGE


def test_what_touches_a_formula_is_held_in_its_element():
    a, k, x, b, c, d = (f'<span class="math notranslate">\\({letter}\\)</span>' for letter in "akxbcd")
    told = f"<p>For (with {a}) a {k}-norm, non-{x}, {b}</p><p>{c}.<b>Next</b>{'y' * 20}{d}</p>"
    page = Page("a.html", html.document_fromstring(told))
    prose.hold_together(page)
    held = [each.text for each in page.tree.xpath("//span")]
    assert held == [r"\(a\))", r"\(k\)-norm,", r"non-\(x\),", r"\(b\)", r"\(c\).", r"\(d\)"]
    first, second = (paragraph.text_content() for paragraph in page.tree.xpath("//p"))
    assert first == r"For (with \(a\)) a \(k\)-norm, non-\(x\), \(b\)" and second == r"\(c\).Next" + "y" * 20 + r"\(d\)"


BASE = "https://owner.github.io/name"


@pytest.fixture
def published(site) -> Path:
    (site / "index.html").write_text('<meta http-equiv="Refresh" content="0; url=book/index.html" />\n')
    finish.finish(site, lambda path: {}, Record.of(ROOT), BASE)
    return site


def told(tree) -> dict[str, str]:
    """What a head says of its page, by name."""
    return {each.get("property") or each.get("name"): each.get("content") for each in tree.xpath("//meta[@property or @name]")}


def test_a_published_page_tells_its_address_and_what_a_card_says(published):
    pages = read_site(published)
    for path, page in pages.items():
        canonical = [f"{BASE}/{path}"] if path != published_at.MISSING else []
        assert page.tree.xpath("//link[@rel='canonical']/@href") == canonical
    one, two = (told(pages[f"notebooks/{name}.html"].tree) for name in ("one", "two"))
    assert one["og:url"] == f"{BASE}/notebooks/one.html" and one["og:title"] == "4.1 One"
    assert one["og:description"] == one["description"] == "A start."
    assert two["og:description"] == "By Theorem 1, (1) and Z1 it is so [V2], but not in Z1 [V2]."  # nothing of a preview
    assert one["twitter:card"] == "summary" and one["og:site_name"] == Record.of(ROOT).title
    root = html.document_fromstring((published / "index.html").read_text())
    assert root.xpath("//link[@rel='canonical']/@href") == [f"{BASE}/book/index.html"]
    assert told(root)["og:title"] == "Book"


def test_the_map_lists_what_is_read(published):
    listed = html.fromstring((published / "sitemap.xml").read_bytes()).xpath("//loc/text()")
    assert listed == [f"{BASE}/{path}" for path in ("book/index.html", "notebooks/one.html", "notebooks/two.html")]
    assert all((published / address.removeprefix(f"{BASE}/")).exists() for address in listed)


def test_a_box_has_its_chinese_which_no_search_and_no_reading_time_counts(site):
    said = registry.MINUTES["dherin-linear-loss"].told
    box = Box(
        said,
        dict.fromkeys(("fall", "true", "noise"), "2"),
        dict.fromkeys(re.findall(r"D\d+\w?", " ".join(said.values())), HOLDS),
    )
    body = SHELL.replace("{title}", "4.2 Two").replace(
        "{body}", f"<section id='two'><h1>4.2 Two</h1>{box._repr_html_()}<p>{'word ' * 100}</p></section>"
    )
    (site / "notebooks" / "two.html").write_text(body, encoding="utf-8")
    finish.finish(site, lambda path: {"page": "0123456789abcdef"}, Record.of(ROOT))
    two = read_site(site)["notebooks/two.html"]
    (fold,) = two.article.xpath(".//section[@class='icl-minute']/details[@lang='zh-Hans']")
    read = neighbours.prose_words(two.article)
    assert "成立" in fold.text_content() and not any("成立" in text for *_, text in search.sections(two))
    fold.drop_tree()
    assert neighbours.prose_words(two.article) == read


def test_a_page_that_is_not_there_leads_back_from_any_depth(published):
    tree = read_site(published)["404.html"].tree
    own = [each for each in tree.xpath("//@href | //@src") if each != "data:,"]
    assert {"/name/book/index.html", "/name/genindex.html", "/name/_static/reading.js"} <= {*own}
    assert all(urlsplit(each).path.startswith("/name/") and posixpath.normpath(each) == each for each in own)
    assert tree.get("data-content_root") == "/name/" and told(tree)["robots"] == "noindex"
    assert tree.xpath("//h1")[0].text == "No page here" and "Index" not in tree.find(".//title").text


def test_a_site_that_is_only_files_has_no_address(finished, site):
    assert not (site / "sitemap.xml").exists()
    assert not any(page.tree.xpath("//link[@rel='canonical'] | //meta[@property]") for page in finished.values())
    links = finished["404.html"].article.xpath(".//a/@href")
    assert links == ["book/index.html", "book/ledger.html", "search.html"]


BOX = (
    "<section class='icl-minute'><p>In one minute</p><dl><dt>It says</dt><dd>It is \\(\\mathrm{Γ}_{1}\\), and more.</dd>"
    "<dt>Is it so?</dt><dd>Yes.</dd></dl></section>"
)


@pytest.mark.parametrize(
    ("paragraphs", "found"),
    [
        ("<p>As it grows, \\(W_i\\) does. Then \\(\\Gamma\\) stays.</p>", "As it grows, W_i does."),
        ("<p>Where \\(\\Gamma\\) is.</p><p>By A. et al. [1] so.</p>", "By A. et al. [1] so."),
        (f"<p>{'word ' * 100}end.</p>", " ".join(["word"] * 39) + " …"),
        ("<p>English · 中文</p><p>一句。</p>", "一句。"),
        (f"<p>Kicker</p>{BOX}<p>A question?</p>", "It is Γ_1, and more."),
        ("<section><div><p>Aside.</p></div><p>First.</p></section>", "First."),
        ("", ""),
    ],
)
def test_a_card_says_the_first_sentences_that_need_no_typesetting(paragraphs, found):
    tree = html.document_fromstring(f"<main><article><section><h1>T</h1>{paragraphs}</section></article></main>")
    assert published_at.description(Page("book/a.html", tree)) == found


def test_addresses_are_told_as_they_read_on_a_page():
    page = Page("notebooks/one.html", html.document_fromstring("<p></p>"))
    assert page.leads_to("../book/a.html#b%20c") == ("book/a.html", "b c")
    assert page.leads_to("#x") == ("notebooks/one.html", "x")
    assert page.leads_to("https://example.org/a") == ("", "")
    assert (page.address_of("book/a.html", "b"), page.address_of("notebooks/one.html", "x")) == ("../book/a.html#b", "#x")
    assert Page("search.html", page.tree).address_of("book/a.html") == "book/a.html"
    assert Path(page.path).name == "one.html"
