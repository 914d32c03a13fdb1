"""Small bundles, tampered with: each is refused, and the file at fault is named, before anything of it is unpacked."""

import io
import json
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import h5py
import nbformat
import numpy as np
import pytest
import safetensors.numpy

from book.build.cache import Executed
from book.build.cache import Record as Execution
from book.build.layout import Layout
from book.build.problem import Problem
from book.citation.record import Edition, Record
from book.release import archive, certificate, edition, manifest, printed, requirements, rerun, unpacked, verify
from book.release.opened import LARGEST, opened
from book.release.recorded import LEDGER, QUICK, Recorded

ROOT = Path(__file__).resolve().parents[2]
RECORD = Record.of(ROOT, Edition("0123456789abcdef" * 2 + "01234567", 1_700_000_000))
DATA, WEIGHTS = "source/book/data/toy.full.nc", "source/book/data/weights/toy.safetensors"


def netcdf(**shapes):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for name, shape in shapes.items():
            file.create_dataset(name, shape=shape, dtype="f8", chunks=(8,) * len(shape), compression="gzip")
    return content.getvalue()


FILES = {
    DATA: netcdf(risk=(20,)),
    WEIGHTS: safetensors.numpy.save({"a": np.ones((2, 3), np.float32), "b": np.ones(4, np.float32)}),
    "html/ledger.json": b"[]",
    "html/index.html": b"<p>A page.</p>\n" * 50,
    "source/book/data/quick.json": b"{}",
    "source/requirements.txt": b"# nothing\n",
    "source/run": b"#!/usr/bin/env python3\n",
}


@pytest.fixture
def bundle(tmp_path):
    return written(tmp_path / "bundle.zip", FILES)


def written(path, files):
    """A bundle of these files, its manifest right."""
    archive.write({**files, manifest.FILE: manifest.text(files, RECORD, {})}, RECORD.edition.seconds, path)
    return path


def repacked(path, change=lambda files: files, **options):
    """The same zip packed by another program, its content by name changed on the way."""
    with zipfile.ZipFile(path) as old:
        files = change({name: old.read(name) for name in old.namelist()})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as new:
        for name, content in files.items():
            new.writestr(name, content)
    return path


def check(path, digest=None):
    with opened(path) as found:
        return verify.check(found, digest)


def refused(path, *words, digest=None):
    with pytest.raises(Problem) as told:
        check(path, digest)
    for word in words:
        assert word in str(told.value)
    assert "\n" not in str(told.value)


def test_a_sound_bundle_passes_and_its_bytes_do_not_depend_on_the_order_of_its_files(bundle, tmp_path):
    checked = check(bundle)
    assert checked.as_written and checked.manifest["commit"] == RECORD.edition.commit
    other = written(tmp_path / "other.zip", dict(reversed(FILES.items())))
    assert other.read_bytes() == bundle.read_bytes()
    with zipfile.ZipFile(bundle) as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_packed_anew_it_is_the_same_bundle(bundle):
    before, after = check(bundle), check(repacked(bundle))
    assert before == replace(after, as_written=True) and not after.as_written


def test_no_byte_can_change_unnoticed(bundle):
    """Every 5th byte of the zip, one at a time: refused, or all files are the same, packed otherwise, which is noted."""
    whole, noted = bundle.read_bytes(), 0
    for place in range(0, len(whole), 5):
        bundle.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            checked = check(bundle)
        except Problem:
            continue
        noted += 1
        assert not checked.as_written, place
    assert noted < len(whole) / 5 / 10


def without(name):
    return lambda files: {key: content for key, content in files.items() if key != name}


def renamed(old, new):
    return lambda files: {new if name == old else name: content for name, content in files.items()}


PAGE = "html/index.html"
NAMES = "../a", "/a", "a/../../b", "C:/a", "a\\b", "a//b", "./a", "a/./b", "nul.txt", "a ", "x/CON", "a\x01b", "a/"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: files | {PAGE: files[PAGE].replace(b"A", b"B")}, (PAGE, "SHA-256")),
        (lambda files: files | {PAGE: files[PAGE] + b" "}, (PAGE, "bytes")),
        (lambda files: files | {"html/more.html": b""}, ("html/more.html", "not named")),
        (lambda files: files | {"HTML/index.html": b""}, ("index.html", "by case")),
        (lambda files: files | {"html/ﬁ.html": b"", "html/fi.html": b""}, ("ﬁ.html", "accents")),
        (lambda files: files | {"html/e\u0301.html": b"", "html/é.html": b""}, ("html/", "accents")),
        (lambda files: files | {"html/index.html/x": b""}, (PAGE, "file and a folder")),
        (without(PAGE), (PAGE, "not in the bundle")),
        (without(manifest.FILE), (manifest.FILE, "missing")),
        *(
            (renamed(PAGE, name), ("leads outside",))
            for name in (
                "../a",
                "/a",
                "a/../../b",
                "C:/a",
                "a\\b",
                "a//b",
                "./a",
                "a/./b",
                "nul.txt",
                "a ",
                "x/CON",
                "a\x01b",
                "a/",
            )
        ),
        (lambda files: files | {manifest.FILE: b"{}"}, (manifest.FILE, "no manifest")),
        (lambda files: files | {manifest.FILE: b"[" * 100_000}, (manifest.FILE, "no manifest")),
        (lambda files: files | {manifest.FILE: files[manifest.FILE].replace(b'"f', b'"files": [], "f')}, ("no manifest",)),
    ],
)
def test_what_was_tampered_with_is_refused_by_name(bundle, change, words):
    refused(repacked(bundle, change), *words)


def test_a_name_in_the_list_twice(bundle):
    with zipfile.ZipFile(bundle, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr(PAGE, b"another")
    refused(bundle, PAGE, "twice")


def test_a_file_named_twice_in_the_manifest(bundle):
    def twice(files):
        told = json.loads(files[manifest.FILE])
        told["files"].append(told["files"][0])
        return files | {manifest.FILE: json.dumps(told).encode()}

    refused(repacked(bundle, twice), PAGE, "twice")


@pytest.mark.parametrize("kind", [0o120777, 0o040755, 0o010644])
def test_a_link_a_folder_and_a_pipe(bundle, kind):
    with zipfile.ZipFile(bundle, "a") as packed:
        entry = zipfile.ZipInfo("html/link")
        entry.external_attr = kind << 16
        packed.writestr(entry, b"/etc/passwd")
    refused(bundle, "html/link", "no plain file")


def test_zip_bombs(tmp_path):
    refused(written(tmp_path / "wide.zip", {**FILES, "a": bytes(LARGEST + 1)}), "a would unpack to", "MiB")
    refused(written(tmp_path / "dense.zip", {**FILES, "a": bytes(2**24)}), "a would unpack to", "times")
    refused(written(tmp_path / "many.zip", dict.fromkeys(map(str, range(20_001)), b"")), "20002 files")


def test_a_file_that_declares_less_than_it_unpacks_to(bundle):
    whole = bytearray(bundle.read_bytes())
    with zipfile.ZipFile(bundle) as packed:
        entry = packed.getinfo(PAGE)
    listed = whole.rindex(PAGE.encode()) - 46
    for place in (entry.header_offset + 22, listed + 24):
        whole[place : place + 4] = struct.pack("<L", 10)
    bundle.write_bytes(whole)
    refused(bundle, PAGE)


@pytest.mark.parametrize("change", [lambda b: b + b"x", lambda b: b"x" + b, lambda b: b[:-1], lambda b: b[:100], lambda b: b""])
def test_bytes_before_and_behind_and_a_zip_cut_short(bundle, change):
    bundle.write_bytes(change(bundle.read_bytes()))
    refused(bundle, bundle.name)


def test_a_manifest_edited_to_match_is_caught_by_the_digest_of_the_citation(bundle, tmp_path):
    cited = check(bundle).digest
    assert check(bundle, cited).digest == cited
    edited = written(tmp_path / "edited.zip", {**FILES, PAGE: b"Another page."})
    assert check(edited).digest != cited
    refused(edited, manifest.FILE, "not the one that was cited", digest=cited)


def safetensors_of(header, rest=b""):
    told = json.dumps(header).encode()
    return struct.pack("<Q", len(told)) + told + rest


FOUR = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (DATA, netcdf(risk=(10**12,))),
        (DATA, netcdf(a=(2**22,), b=(2**22,), c=(2**22,))),
        (DATA, FILES[DATA][:-100]),
        (DATA, b"CDF\x01" + bytes(100)),
        (WEIGHTS, struct.pack("<Q", 2**60) + b"{}"),
        (WEIGHTS, b"abc"),
        (WEIGHTS, safetensors_of({"a": FOUR | {"shape": [2**40], "data_offsets": [0, 2**42]}}, bytes(4))),
        (WEIGHTS, safetensors_of({"a": FOUR | {"shape": [2]}}, bytes(4))),
        (WEIGHTS, safetensors_of({"a": FOUR}, bytes(8))),
        (WEIGHTS, safetensors_of({"a": FOUR, "b": FOUR}, bytes(4))),
        (WEIGHTS, safetensors_of({"a": FOUR | {"dtype": "O"}}, bytes(4))),
        (WEIGHTS, safetensors_of({"a": 3}, bytes(4))),
    ],
)
def test_data_that_claim_more_than_they_have(tmp_path, name, content):
    refused(written(tmp_path / "bundle.zip", {**FILES, name: content}), name, "not what it says it is")


@pytest.mark.parametrize(
    ("name", "content"),
    [(LEDGER, b"3"), (LEDGER, b'[{"id": 3}]'), (LEDGER, b"[" * 99_999), (QUICK, b"\xff"), (QUICK, b'{"toy": {"claims": {}}}')],
)
def test_a_record_that_nothing_can_be_compared_with(tmp_path, name, content):
    refused(written(tmp_path / "bundle.zip", {**FILES, name: content}), name)


def test_a_manifest_cannot_write_lines_into_the_certificate(tmp_path):
    lying = Record(RECORD.fields | {"version": "1\norigin    as cited"}, RECORD.edition)
    archive.write({**FILES, manifest.FILE: manifest.text(FILES, lying, {})}, 1_700_000_000, tmp_path / "lying.zip")
    refused(tmp_path / "lying.zip", manifest.FILE, "no manifest")


def test_recomputing_everything_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    layout, asked = Layout(tmp_path), []
    for name in ("weights/w.safetensors", "a.full.nc", "b.full.nc"):
        (tmp_path / "book" / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "book" / "data" / name).write_text("old")

    def renew(files, layout):
        asked.append(files)
        (tmp_path / "book" / "data" / files[0]).write_text("new")
        if len(asked) == 1:
            raise Problem("stopped")

    monkeypatch.setattr(rerun.identity, "ROOT", tmp_path)
    monkeypatch.setattr(rerun, "renew", renew)
    monkeypatch.setattr(rerun.judged, "judge", lambda name, folder: {"full": {name: "renewed"}})
    monkeypatch.setattr(rerun.arguments, "notebook_names", lambda root: ["one", "two"])
    monkeypatch.setattr(rerun.book, "bring_up_to_date", lambda *_: {})
    with pytest.raises(Problem, match="stopped"):
        rerun.rerun(layout, full=True)
    rerun.rerun(layout, full=True)
    assert asked == [["a.full.nc", "b.full.nc", "weights/w.safetensors"], ["b.full.nc", "weights/w.safetensors"]]
    assert json.loads((layout.build / rerun.NOTE).read_text())["renewed"] == {"one": "renewed", "two": "renewed"}


def test_data_that_lie_elsewhere(tmp_path):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file["risk"] = h5py.ExternalLink("/etc/passwd", "/")
    refused(written(tmp_path / "bundle.zip", {**FILES, DATA: content.getvalue()}), DATA, "link")


def test_the_shipped_data_are_within_the_limits():
    from book.release.sizes import require_sizes

    files = [*(ROOT / "book" / "data").rglob("*.nc"), *(ROOT / "book" / "data").rglob("*.safetensors")]
    for path in files:
        require_sizes(path.name, path.read_bytes())
    assert len(files) > 100


def test_only_the_source_is_unpacked_and_what_else_lay_there_is_gone(tmp_path):
    (tmp_path / "_build").mkdir()
    for name in ("planted.py", "_build/kept"):
        (tmp_path / name).write_text("x")
    (tmp_path / "run").symlink_to("/etc/passwd")
    unpacked.unpack(FILES.items(), tmp_path)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"_build/kept"} | {name.removeprefix("source/") for name in FILES if name.startswith("source/")}
    assert (tmp_path / "run").read_bytes() == FILES["source/run"]


def test_another_environment_is_refused():
    assert requirements.differing(f"numpy=={np.__version__}\n# a comment\n") == []
    with pytest.raises(Problem, match=r"numpy 1.0, here .*; none-such 2, here none"):
        requirements.require_same("numpy==1.0\nnone-such==2\n")


def test_a_pdf_is_dated_by_its_commit_and_no_byte_moves(tmp_path):
    path = tmp_path / "book.pdf"
    made = [
        b"%%PDF-1.4\n<</CreationDate (D:%s+02'00')\n/ModDate (D:%s+02'00')>>/ID [<%s> <%s>]" % (day, day, each, each)
        for day, each in ((b"20260101000000", b"AB" * 16), (b"20270202030405", b"01" * 16))
    ]
    after = []
    for content in made:
        path.write_bytes(content)
        printed.settle(path, RECORD.edition)
        after.append(path.read_bytes())
    assert after[0] == after[1] and len(after[0]) == len(made[0])
    assert b"/CreationDate (D:20231114221320+00'00')" in after[0]


def test_printed_text_is_in_one_piece_however_the_kernel_parted_it(tmp_path):
    def executed(folder, *texts):
        streams = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in texts]
        cell = nbformat.v4.new_code_cell(
            "show", outputs=streams, metadata={"execution": {"iopub.status.busy": "now"}}, id="one"
        )
        folder.mkdir()
        nbformat.write(
            nbformat.v4.new_notebook(cells=[cell], metadata={"papermill": {"start_time": "now"}}), folder / "a.ipynb"
        )
        record = Execution({}, {}, {}, {}, "full", 1, 12.3, "now", "3.11", "Linux")
        return edition.without_times(Executed("a", folder, record, reused=False))

    one = executed(tmp_path / "one", ("stdout", "a\nb\n"), ("stderr", "c"), ("stdout", "d"))
    two = executed(tmp_path / "two", ("stdout", "a\n"), ("stdout", "b\n"), ("stderr", "c"), ("stdout", "d"))
    assert one.notebook.read_bytes() == two.notebook.read_bytes() and b"now" not in one.notebook.read_bytes()
    assert (one.record.seconds, one.record.executed) == (0.0, "")


def test_the_comparison_names_what_differs():
    one = {"verdict": "holds", "control": "fails", "value": 1.0, "two_se": 0.02, "margin": 3.0, "positive": "", "near": False}
    recorded = {"toy": {"declaration": "{}", "claims": {"Z1": one, "Z2": one}}, "gone": {"declaration": "{}", "claims": {}}}
    kept = Recorded(recorded, {"Z1": "fails"}, "")
    now = {"declaration": "{}", "claims": {"Z1": one | {"value": 1.06}, "Z2": one | {"value": 1.2}}}
    found = {"quick": {"toy": now}, "full": {"toy": now}, "earlier": [], "files": {}}
    differing, _ = verify.compare(kept, found)
    assert differing == [
        "gone is in quick.json and was not computed.",
        "Z2 has the value 1.2 ± 0.02; in quick.json it is 1 ± 0.02.",
        "Z1 holds on the stored result; in the ledger it fails.",
    ]
    renewed = {"toy": now | {"claims": now["claims"] | {"Z1": one | {"verdict": "fails", "value": 9.0}}}}
    assert len(verify.compare(kept, found | {"renewed": renewed})[0]) == 5


def test_the_certificate_says_what_differed(tmp_path):
    bundle = written(tmp_path / "bundle.zip", FILES)
    told = {
        **certificate.of_bundle(bundle, check(bundle).manifest, "abc"),
        **certificate.of_machine(),
        **{"origin": certificate.UNCHECKED, "packed": "anew", "executed": ["All."], "differences": ["Z1 fails."]},
        **{"began": "now", "ended": "then", "command": "./run verify bundle.zip"},
    }
    text = certificate.write(told, tmp_path)
    assert "self-consistent, origin unchecked" in text and "Differs\n  Z1 fails." in text
    assert json.loads((tmp_path / "certificate.json").read_text())["files"] == len(FILES)
    assert str(tmp_path) not in text
