"""Never stale: every page says what it was made from, and what was changed behind its back is made anew or refused."""

import json
import shutil
import subprocess
import sys

import h5py
import nbformat
import pytest
import toy_book
import xarray as xr
from toy_book import MAIN, NAMES, build, environment, identity, page, snapshot, stale

from book.builder.identities import SHOWN
from icl_lib.companion import digests, results

SLUG = "toy-alpha"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return toy_book.built(tmp_path_factory)


def executed(root):
    return root / "_build" / "executed" / "quick" / MAIN


def pages(root):
    html = root / "_build" / "html"
    return [
        path.relative_to(html).as_posix() for path in html.rglob("*.html") if path.parent != html or path.name != "index.html"
    ]


def test_every_page_says_what_it_was_made_from(checkout):
    record = json.loads((executed(checkout) / "record.json").read_text(encoding="utf-8"))
    own = identity(checkout, f"notebooks/{MAIN}.html")
    assert own == {part: digest[:SHOWN] for part, digest in record["sources"].items()} | {"results": own["results"]}
    assert page(checkout, f"notebooks/{MAIN}.html").select_one(".icl-identity").get_text().split()[:4] == [
        *("Made", "from", "notebook"),
        f"{own['notebook']},",
    ]
    found = {name: identity(checkout, name) for name in pages(checkout)}
    assert len(found) > len(NAMES) + 5
    for name, parts in found.items():
        assert [*parts][-3:] == ["library", "requirements", "results"], name
        written = name.startswith("notebooks/") or (checkout / name).with_suffix(".md").exists()
        assert len(parts) == 3 + written, name  # others have no source of their own
    assert len({parts["notebook"] for name, parts in found.items() if name.startswith("notebooks/")}) == len(NAMES)


def test_what_is_offered_is_what_was_computed_and_has_the_digest_that_the_page_tells(checkout):
    html, folder = checkout / "_build" / "html", executed(checkout) / "results"
    offered = html / "data" / f"{SLUG}.quick.nc"
    assert offered.read_bytes() == (folder / offered.name).read_bytes()
    figure = page(checkout, f"notebooks/{MAIN}.html").select_one("figure")
    told = {term.a["href"]: term.find_next("dd").get_text() for term in figure.select(".icl-origin dt") if term.a}
    picture = figure.img["src"].removeprefix("../")
    assert told == {
        f"../data/{offered.name}": digests.of_file(offered),
        f"../{picture}": digests.of_file(html / picture),
    }
    facts = figure.select_one(".icl-origin").get_text(" ", strip=True)
    assert "2026-01-02 03:04 UTC" in facts and "commit abc SHA" in facts
    assert [link.get_text() for link in figure.select(".icl-provenance a")] == ["CSV", "NetCDF", "SVG"]


def an_output(root):
    path = executed(root) / f"{MAIN}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[-1].outputs[0].data["text/html"] += "two is three"
    nbformat.write(notebook, path)


def a_result(root):
    with h5py.File(executed(root) / "results" / f"{SLUG}.quick.nc", "r+") as file:
        file["value"][1] = 3.0


def a_table(root):
    path = executed(root) / "results" / f"{SLUG}.quick.csv"
    path.write_text(path.read_text().replace("2.0", "3.0"))


def a_result_more(root):
    results.save(xr.Dataset({"x": 1.0}, attrs={"slug": "toy-beta"}), executed(root) / "results" / "toy-beta.quick.nc")


def test_what_was_changed_behind_the_build_is_made_anew(checkout):
    before, changes, sound = snapshot(checkout), (an_output, a_result, a_table, a_result_more), checkout / "sound"
    for change in changes:
        shutil.copytree(executed(checkout), sound)
        change(checkout)
        assert stale(checkout) == [MAIN], change.__name__
        shutil.rmtree(executed(checkout))
        sound.rename(executed(checkout))
    assert stale(checkout) == []
    for change in changes:
        change(checkout)
    again = build(checkout)
    assert again.status == 0 and "Executing 1 of" in again.said
    data = checkout / "_build" / "html" / "data"
    assert {path.name for path in data.iterdir()} == {f"{SLUG}.quick.nc", f"{SLUG}.quick.csv"}
    assert all((data / path.name).read_bytes() == content for path, content in before.items() if path.parent == data)
    assert "two is three" not in page(checkout, f"notebooks/{MAIN}.html").get_text()


def test_a_forged_verdict_is_judged_anew(checkout):
    note = executed(checkout) / "judged.quick.json"
    true = note.read_text(encoding="utf-8")
    note.write_text(true.replace('"verdict": "holds"', '"verdict": "fails"'), encoding="utf-8")
    program = (
        "from pathlib import Path; from book.builder import cache, judged; from book.builder.layout import Layout\n"
        f"one = cache.lookup({MAIN!r}, 'quick', Layout(Path.cwd()))\n"
        f"print(judged.of(one, 'quick')[{SLUG!r}]['claims']['Z1']['verdict'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=checkout, env=environment(checkout), capture_output=True, text=True, check=True
    )
    assert done.stdout == "holds\n" and note.read_text(encoding="utf-8") == true


@pytest.mark.parametrize("slug", [SLUG, "toy-of-no-notebook"])
def test_a_stored_result_that_was_changed_is_refused_and_nothing_is_lost(checkout, slug):
    before, stored = snapshot(checkout), checkout / "book" / "data" / f"{slug}.full.nc"
    results.save(xr.Dataset({"value": ("M", [1.0, 2.0])}, attrs={"slug": slug}), stored)
    with h5py.File(stored, "r+") as file:
        file["value"][1] = 3.0
    digest, refused = digests.of_file(stored), build(checkout)
    assert refused.status == 1 and "Traceback" not in refused.said
    remedy = f"restore it from git, or ./run renew {slug} makes it anew."
    assert f"\n{slug}.full.nc was changed after it was written: {remedy}\n" in refused.said
    assert snapshot(checkout) == before and digests.of_file(stored) == digest
    stored.unlink()
    assert build(checkout).status == 0
