"""Builds of a small checkout: the real pages and the real build, with small notebooks and a small library."""

import json
import os
import signal
import struct
import subprocess
import sys
import time

import nbformat
import pytest
import toy_book
from bs4 import BeautifulSoup
from toy_book import MAIN, NAMES, OTHER, build, environment, identity, page, snapshot, stale, write_notebook

from book.builder import card, lighten
from book.builder.layout import COPIES

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return toy_book.built(tmp_path_factory)


def test_every_local_link_leads_somewhere_and_nothing_is_fetched(checkout):
    html = checkout / "_build" / "html"
    assert not (html / lighten.BUILD).exists()
    for path in [*html.glob("*.html"), *html.glob("[bn]*/*.html")]:
        for node in BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select("[href], [src]"):
            target = node.get("href") or node.get("src")
            local = target.split("#")[0].split("?")[0]
            if target.startswith(("http", "mailto:")):
                assert node.name == "a", f"{path.name} fetches {target}"
            elif local and not local.startswith(("data:", "javascript:")):
                assert (path.parent / local).exists(), f"{path.name} links to {target}"
    assert "book/index.html" in (html / "index.html").read_text(encoding="utf-8")


def test_figure_ledger_and_download_stand_on_the_data(checkout):
    html = checkout / "_build" / "html"
    figure = page(checkout, f"notebooks/{MAIN}.html").select_one("figure#fig-zhang-averaged-error")
    assert figure.select_one(".icl-provenance a[href='../data/toy-alpha.quick.csv']")
    assert [cell.get_text() for cell in figure.select(".icl-made table :is(th, td)")] == ["N", "3"]
    (row,) = json.loads((html / "ledger.json").read_text(encoding="utf-8"))
    assert (row["quick"]["verdict"], row["full"]["verdict"]) == ("holds", "not run")
    downloaded = nbformat.read(html / "_sources" / "notebooks" / f"{MAIN}.ipynb", as_version=4)
    assert [sorted(output.data) for output in downloaded.cells[-1].outputs] == [
        ["image/png", "text/plain"],
        ["text/markdown", "text/plain"],
        ["text/markdown", "text/plain"],
    ]
    committed = nbformat.read(checkout / "notebooks" / f"{MAIN}.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in committed.cells)
    assert toy_book.ORIGINAL not in "".join(path.read_text(encoding="utf-8") for path in html.glob("[bn]*/*.html"))


def test_every_mark_of_the_landscape_opens_a_card_and_the_ledger_s_files_lie_beside_it(checkout):
    marks = page(checkout, "book/index.html").select(".icl-marks a")
    (row,) = json.loads((checkout / "_build" / "html" / "ledger.json").read_text(encoding="utf-8"))
    assert [mark["href"] for mark in marks] == [f"../{row['links']['card']}"]
    address, _, anchor = row["links"]["card"].partition("#")
    assert page(checkout, address).find(id=anchor).get_text().startswith(row["sentence"])
    place, _, anchor = row["links"]["row"].partition("#")
    assert row["sentence"] in page(checkout, place).find(id=anchor).get_text()
    assert (checkout / "_build" / "html" / "ledger.csv").read_text(encoding="utf-8").splitlines()[1].startswith("Z1,zhang,4.1")
    assert "Everything holds." in page(checkout, "book/index.html").select_one(".icl-failures").get_text()


def test_what_would_not_change_is_not_rendered(checkout):
    before = snapshot(checkout)
    assert "No page would change" in build(checkout).said
    assert snapshot(checkout) == before


@pytest.mark.parametrize("source", ["1 / 0", "x = = 1"])
def test_failed_build_loses_nothing(checkout, source):
    notebook = checkout / "notebooks" / f"{OTHER}.ipynb"
    kept, before = notebook.read_bytes(), snapshot(checkout)
    write_notebook(notebook, source)
    failed = build(checkout)
    notebook.write_bytes(kept)
    assert failed.status == 1
    assert OTHER in failed.said and "Traceback" not in failed.said
    assert snapshot(checkout) == before
    assert stale(checkout) == []
    assert leftovers(checkout) == set()


def test_warning_fails_the_build_and_loses_nothing(checkout):
    cite = checkout / "book" / "cite.md"
    kept, before = cite.read_text(encoding="utf-8"), snapshot(checkout)
    cite.write_text(kept + "\n{ref}`nowhere`\n", encoding="utf-8")
    failed = build(checkout)
    cite.write_text(kept, encoding="utf-8")
    assert failed.status == 1
    assert "book/cite.md" in failed.said and "undefined label: 'nowhere'" in failed.said
    assert snapshot(checkout) == before


def test_an_address_switches_links_on_and_what_was_not_executed_is_shown_without_outputs(checkout):
    address, pages = "https://github.com/owner/name", "https://owner.github.io/name"
    path, config = f"notebooks/{MAIN}.html", checkout / "_config.yml"
    assert not page(checkout, path).select("a[href^=http]")
    write_notebook(checkout / "notebooks" / f"{OTHER}.ipynb", "profile, 1")
    kept = config.read_text(encoding="utf-8")
    config.write_text(kept.replace("recomputed", "computed again"), encoding="utf-8")
    left_out = build(checkout, "--only", MAIN, ICL_REPOSITORY=address, ICL_PAGES=pages)
    config.write_text(kept, encoding="utf-8")
    assert "Executing 0 of 1" in left_out.said and f"not executed: {OTHER}" in left_out.said
    assert "was not executed" in page(checkout, f"notebooks/{OTHER}.html").get_text()
    assert "computed again" in page(checkout, "book/index.html").title.get_text()
    links = " ".join(a["href"] for a in page(checkout, path).select("a[href^=http]"))
    assert f"{address}/edit/main/notebooks/{MAIN}.ipynb" in links
    assert [link["href"] for link in page(checkout, path).select("link[rel=canonical]")] == [f"{pages}/{path}"]
    assert f"{pages}/{path}" in (checkout / "_build" / "html" / "sitemap.xml").read_text()
    assert page(checkout, path).select_one("meta[property='og:image']")["content"] == f"{pages}/{card.NAME}"
    assert struct.unpack(">II", (checkout / "_build" / "html" / card.NAME).read_bytes()[16:24]) == (card.WIDTH, card.HEIGHT)
    assert "mybinder.org/v2/gh/owner/name" in links and "colab.research.google.com" in links
    assert f"git+{address}" in (checkout / "_build" / "html" / COPIES / f"{MAIN}.ipynb").read_text()
    assert "edit/main" not in " ".join(a["href"] for a in page(checkout, "book/ledger.html").select("a[href]"))


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])  # the second leaves its work behind
def test_stopped_in_the_middle_it_loses_nothing(checkout, stop, tmp_path):
    """Also when SIGINT is ignored at first, as a background job hands it down."""
    notebook, begun = checkout / "notebooks" / f"{OTHER}.ipynb", tmp_path / "begun"
    write_notebook(notebook, f"import time; open({str(begun)!r}, 'w').close(); time.sleep(600)")
    before = snapshot(checkout)
    running = subprocess.Popen(
        [sys.executable, "-m", "book.builder"],
        cwd=checkout,
        env=environment(checkout),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    while not begun.exists() and running.poll() is None:
        time.sleep(0.1)
    running.send_signal(stop)
    said, _ = running.communicate()
    assert running.returncode == (130 if stop == signal.SIGINT else -stop)
    assert ("Stopped" in said) == (stop == signal.SIGINT)
    assert snapshot(checkout) == before
    if stop == signal.SIGINT:
        assert leftovers(checkout) == set()


def test_the_next_build_executes_what_changed_and_is_whole(checkout):
    """After all that failed above and was stopped, and with another module that one notebook needs: its page tells of that."""
    write_notebook(checkout / "notebooks" / f"{OTHER}.ipynb", "'after all'")
    (checkout / "icl_lib" / "beta.py").write_text("VALUE = 1\n")
    (checkout / "icl_lib" / "unused.py").write_text("VALUE = 1\n")
    assert stale(checkout) == [MAIN, OTHER]
    before = identity(checkout, f"notebooks/{MAIN}.html")
    whole = build(checkout)
    assert f"Executing 2 of {len(NAMES)}" in whole.said and whole.status == 0, whole.said
    after = identity(checkout, f"notebooks/{MAIN}.html")
    assert {part for part in before if before[part] != after[part]} == {"library"}
    assert "after all" in page(checkout, f"notebooks/{OTHER}.html").get_text()
    assert stale(checkout) == [] and leftovers(checkout) == set()
    (checkout / "requirements.txt").write_text("# other versions\n")
    assert stale(checkout) == NAMES


def leftovers(root):
    """What a build has left beside the site."""
    return {path.name for path in (root / "_build").iterdir()} - {"executed", "html", "lock"}
