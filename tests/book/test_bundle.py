"""A release of the small book: made twice, the same bytes; verified; refused where nothing can come of it."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import sphinx.util.inventory
import toy_book as toy
import xarray as xr
import yaml

from book.builder.problem import Problem
from book.citation import addresses
from book.release import bundle, manifest, verify
from icl_lib.companion import digests, results

VERSION = "0.1.0"
FULL = """
    def origin(self, profile, seed, device, made_with=None):
        return {}
"""
RECORDED = dict(verdict="holds", control="fails", positive="", value=2.0, two_se=0.0, margin=1e-10, resolution=None)
RECORDED |= dict(near=False, rounding=True)
KEPT = f"notebooks/{toy.MAIN}.html#claim-Z1"

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("rocrate") is None, reason="./run bundle, which adds rocrate, was not called"),
    pytest.mark.skipif(shutil.which("git") is None, reason="a bundle is made of a commit"),
]


def git(root, *words):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=root, check=True, capture_output=True)


def write_small_book(root):
    """The small book with a stored result, what the quick profile found, and the addresses that it promises."""
    root.mkdir()
    never = re.search(r"\n    def origin.*?\n(?=\n    def)", toy.REGISTRY, re.DOTALL)[0]
    toy.write(root, toy.REGISTRY.replace(never, FULL))
    notebook = nbformat.read(root / "notebooks" / f"{toy.MAIN}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("{doc}`../book/how_to_read`"))
    nbformat.write(notebook, root / "notebooks" / f"{toy.MAIN}.ipynb")
    data = root / "book" / "data"
    data.mkdir()
    attributes = dict(slug="toy-alpha", profile="full", seed="0", seconds="0.5", device="cpu", commit="abc")
    attributes["created"] = "2026-01-02T03:04:05+00:00"
    attributes["declaration"] = declaration = '{"class": "Declared", "N": 3}'
    results.save(xr.Dataset({"value": ("M", np.array([1.0, 2.0]))}, attrs=attributes), data / "toy-alpha.full.nc")
    (data / "quick.json").write_text(
        json.dumps({"toy-alpha": {"declaration": declaration, "trained": False, "claims": {"Z1": RECORDED}}})
    )
    (root / "book" / "addresses.txt").write_text(f"{KEPT}\nbook/ledger.html#claim-z1\n")
    (root / ".gitignore").write_text("_build\n__pycache__\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a book")


def call(root, module, *words, **variables):
    library = Path(importlib.util.find_spec("rocrate").origin).parents[1]
    paths = {"PYTHONPATH": os.pathsep.join([str(root), str(library)]), "ICL_CALLER": str(root)}
    done = subprocess.run(
        [sys.executable, "-m", f"book.release.{module}", *words],
        cwd=root,
        env=toy.environment(root) | paths | variables,
        capture_output=True,
        text=True,
    )
    return SimpleNamespace(status=done.returncode, said=done.stdout + done.stderr)


@pytest.fixture
def here(released, monkeypatch, capfd):
    """What a command says in the checkout, in this process, for its imports take seconds; and what its own programs say."""
    monkeypatch.chdir(released.root)
    for name in [name for name in os.environ if name.startswith("ICL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ICL_CALLER", str(released.root))

    def call_here(command, *words):
        try:
            status = command.main([*words])
        except SystemExit as end:
            status = end.code
        return SimpleNamespace(status=status, said="".join(capfd.readouterr()))

    return call_here


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A checkout with its bundle."""
    root = tmp_path_factory.mktemp("first") / "book"
    write_small_book(root)
    made = call(root, "bundle")
    assert made.status == 0, made.said
    digest = re.search(r"MANIFEST.json: (\w{64})", made.said)[1]
    return SimpleNamespace(
        root=root, bundle=root / "_build" / "release" / f"icl-companion-{VERSION}.zip", digest=digest, said=made.said
    )


@pytest.fixture(scope="module")
def packed(released):
    with zipfile.ZipFile(released.bundle) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_made_again_in_another_folder_at_another_time_it_is_the_same_bytes(released, tmp_path):
    other = tmp_path / "ein Büch"
    git(tmp_path, "clone", "-q", str(released.root), str(other))
    made = call(other, "bundle", TZ="Asia/Tokyo", PYTHONHASHSEED="7", LC_ALL="C", ICL_REPOSITORY="https://example.org/x")
    assert made.status == 0, made.said
    again = other / "_build" / "release" / released.bundle.name
    with zipfile.ZipFile(again) as second, zipfile.ZipFile(released.bundle) as first:
        assert [name for name in first.namelist() if first.read(name) != second.read(name)] == []
    assert again.read_bytes() == released.bundle.read_bytes()


def test_it_holds_all_that_was_promised_and_no_path_of_this_machine(released, packed):
    told = json.loads(packed[manifest.FILE])
    assert [one["path"] for one in told["files"]] == sorted({*packed} - {manifest.FILE})
    assert all(manifest.listed(one["path"], packed[one["path"]]) == one for one in told["files"])
    parts = {part for part, place in told["parts"].items() if place and any(name.startswith(place) for name in packed)}
    assert parts >= {"html", "notebooks", "source", "data", "ledger", "claims", "inventory", "errata"}
    assert {".zenodo.json", "CITATION.cff", "codecheck.yml", "ro-crate-metadata.json", "citation.bib", "README.txt"} <= {
        *packed
    }
    places = [str(released.root), str(released.root.parent), os.path.expanduser("~") + "/"]
    assert [name for name, content in packed.items() if any(place.encode() in content for place in places)] == []


def test_its_pages_show_the_committed_quick_results_and_no_time(packed):
    (row,) = (row for row in json.loads(packed["html/ledger.json"]) if row["id"] == "Z1")
    assert (row["quick"]["verdict"], row["full"]["verdict"]) == ("holds", "holds")
    assert b"does not tell when" in packed["html/book/statistics.html"]
    copy = json.loads(packed[f"notebooks/{toy.MAIN}.ipynb"])
    assert not {"papermill", "execution"} & {key for part in (copy, *copy["cells"]) for key in part["metadata"]}


def test_its_notebooks_show_figures_in_any_viewer_and_lead_to_its_pages(packed):
    text = packed[f"notebooks/{toy.MAIN}.ipynb"].decode()
    assert text.count('"image/png": "') == 1 and '"text/html"' not in text
    links = re.findall(r"\]\((\.\./[^)]*)\)", text)
    assert links == ["../html/book/how_to_read.html"] and links[0].removeprefix("../") in packed


def test_a_claim_is_cited_with_its_commit_and_the_digest_of_its_data(released, packed):
    page = packed[f"html/notebooks/{toy.MAIN}.html"].decode()
    claim, digest = json.loads(packed["html/claims/Z1.json"]), digests.of_bytes(packed["html/data/toy-alpha.full.nc"])
    commit = json.loads(packed[manifest.FILE])["commit"]
    assert claim["data"] == {"path": "data/toy-alpha.full.nc", "sha256": digest}
    assert claim["address"] == KEPT and claim["book"]["commit"] == commit
    assert page.count(f"Commit {commit[:12]}. Data: data/toy-alpha.full.nc, SHA-256 {digest}") == 2  # its card, its figure
    assert f"SHA-256 of MANIFEST.json: {released.digest}" in released.said
    assert f"Version {VERSION}, commit {commit[:12]}" in page


def test_other_books_can_link_claims_and_figures(packed, tmp_path):
    (tmp_path / "objects.inv").write_bytes(packed["html/objects.inv"])
    with (tmp_path / "objects.inv").open("rb") as file:
        labels = sphinx.util.inventory.InventoryFile.load(file, "", lambda base, name: name)["std:label"]
    assert labels["claim-z1"][1:3] == (VERSION, KEPT)
    assert labels["fig-zhang-averaged-error"][2] == f"notebooks/{toy.MAIN}.html#fig-zhang-averaged-error"


def test_a_promised_address_that_is_gone_stops_it(packed, tmp_path, monkeypatch):
    for name in (f"notebooks/{toy.MAIN}.html", "book/ledger.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(packed[f"html/{name}"])
    monkeypatch.setattr(addresses, "FILE", tmp_path / "addresses.txt")
    addresses.FILE.write_text(f"{KEPT}\nbook/ledger.html#claim-z1\n")
    bundle.require_addresses(tmp_path)
    addresses.FILE.write_text(f"{KEPT}\nnotebooks/zhang_left.html#claim-Z3\n")
    with pytest.raises(Problem, match="notebooks/zhang_left.html#claim-Z3 was promised and is gone"):
        bundle.require_addresses(tmp_path)


def test_the_files_that_repositories_ask_for(packed):
    told = yaml.safe_load(packed["codecheck.yml"])
    files = [one["file"] for one in told["manifest"]]
    drawn = ["html/figures/fig-three-models.svg", "html/figures/fig-zhang-averaged-error.svg"]
    assert files == ["html/ledger.json", *drawn] and told["manifest"][2]["comment"] == "figure zhang-averaged-error"
    assert {*files} <= {*packed} and "codechecker" not in told
    crate = json.loads(packed["ro-crate-metadata.json"])
    assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
    (root,) = (one for one in crate["@graph"] if one["@id"] == "./")
    parts = [part["@id"] for part in root["hasPart"]]
    assert all(any(name.startswith(part) for name in packed) for part in parts) and "html/" in parts
    assert b'"doi"' not in packed[".zenodo.json"] and b"There is no DOI yet" in packed["html/book/cite.html"]
    assert len(re.findall(rb"SHA-256 [0-9a-f]{64}", packed["html/book/cite.html"])) == 2  # the examples of a claim and a figure


def test_what_is_not_committed_is_not_released(released, here):
    page = released.root / "book" / "cite.md"
    kept = page.read_bytes()
    page.write_bytes(kept + b"\n")
    refused = here(bundle)
    page.write_bytes(kept)
    assert refused.status == 1 and refused.said.startswith("book/cite.md differs from the last commit")


def test_it_verifies_as_cited_and_the_certificate_says_so(released):
    found = call(released.root, "verify", str(released.bundle), "--sha256", released.digest)
    assert found.status == 0, found.said
    assert found.said.index("Every file is as") < found.said.index("code from this bundle runs") < found.said.index("Executing")
    (path,) = released.root.glob("_build/verify/*/certificate.json")
    told = json.loads(path.read_text())
    assert told["agrees"] and told["origin"] == "as cited" and told["manifest_sha256"] == released.digest
    assert told["bundle_sha256"] == digests.of_file(released.bundle)
    assert "1 verdicts and numbers compared" in told["executed"][0]
    assert [each.name for each in path.parent.iterdir() if each.is_dir()] == []


def changed(released, tmp_path, name, change):
    """A bundle with another file, its manifest edited to match."""
    with zipfile.ZipFile(released.bundle) as old:
        files = {each: old.read(each) for each in old.namelist()}
    files[name] = change(files[name])
    told = json.loads(files[manifest.FILE])
    told["files"] = [manifest.listed(one["path"], files[one["path"]]) for one in told["files"]]
    files[manifest.FILE] = json.dumps(told).encode()
    with zipfile.ZipFile(tmp_path / "edited.zip", "w", zipfile.ZIP_DEFLATED) as new:
        for each, content in files.items():
            new.writestr(each, content)
    return tmp_path / "edited.zip"


def test_a_number_that_was_not_computed_is_found(released, tmp_path, here):
    edited = changed(released, tmp_path, "source/book/data/quick.json", lambda text: text.replace(b"2.0", b"7.0"))
    refused = here(verify, str(edited), "--sha256", released.digest)
    assert refused.status == 1 and "MANIFEST.json is not the one that was cited" in refused.said
    assert "Executing" not in refused.said
    found = here(verify, str(edited))
    assert found.status == 1 and "self-consistent, origin unchecked" in found.said
    assert "Z1 has the value 2 ± 0; in quick.json it is 7 ± 0." in found.said


def test_another_environment_is_told_and_nothing_runs(released, tmp_path, here):
    pins = changed(released, tmp_path, "source/requirements.txt", lambda text: text.replace(b"numpy==", b"numpy==0."))
    refused = here(verify, str(pins))
    assert refused.status == 1 and "The bundle asks for other versions" in refused.said and "numpy 0." in refused.said
    assert "Executing" not in refused.said


@pytest.mark.parametrize(("words", "told"), [(["none.zip"], "There is no bundle"), (["b.zip", "--sha256", "12"], "64 digits")])
def test_bad_input_gets_one_sentence(words, told, here):
    refused = here(verify, *words)
    assert refused.status and told in refused.said and "Traceback" not in refused.said
