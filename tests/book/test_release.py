"""Small bundles, tampered with: each is refused, and the file at fault is named, before anything of it is unpacked."""

import json
import struct
import zipfile
from dataclasses import replace

import pytest
from small_bundle import FILES, RECORD, ROOT, check, refused, written

from book.builder.problem import Problem
from book.release import archive, manifest
from book.release.opened import LARGEST
from book.release.recorded import FOUND, LEDGER, QUICK, RESULTS
from book.release.wellformed import read


@pytest.fixture
def bundle(tmp_path):
    return written(tmp_path / "bundle.zip", FILES)


def repacked(path, change=lambda files: files, **options):
    """The same zip packed by another program, its content by name changed on the way."""
    with zipfile.ZipFile(path) as old:
        files = change({name: old.read(name) for name in old.namelist()})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as new:
        for name, content in files.items():
            new.writestr(name, content)
    return path


def test_a_sound_bundle_passes_and_its_bytes_do_not_depend_on_the_order_of_its_files(bundle, tmp_path):
    checked = check(bundle)
    assert checked.as_written and checked.manifest["commit"] == RECORD.edition.commit
    other = written(tmp_path / "other.zip", dict(reversed(FILES.items())))
    assert other.read_bytes() == bundle.read_bytes()
    with zipfile.ZipFile(bundle) as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_packed_anew_it_is_the_same_bundle(bundle):
    before, after = check(bundle), check(repacked(bundle))
    assert before == replace(after, as_written=True, whole=before.whole) and not after.as_written


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
NAMES = (
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
    "a\u200bb",
    "a\u061cb",
    "a\ufe0fb",
    "\u3164",
    "é" * 121,
    *(f"source/{name}" for name in ("com¹", "nul .txt", "conin$", "requir~1.txt", *map("a{}b".format, '<>:"|?*'))),
)
MADE = ("_build/before.json", "book/__PYCACHE__/x.cpython-311.pyc", ".git/config", ".venv/complete")


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
        *((renamed(PAGE, name), ("leads outside",)) for name in NAMES),
        (lambda files: files | {manifest.FILE: b"{}"}, (manifest.FILE, "not what it should be")),
        (lambda files: files | {manifest.FILE: b"[" * 100_000}, (manifest.FILE, "cannot be read")),
        (lambda files: files | {manifest.FILE: files[manifest.FILE].replace(b'"f', b'"files": [], "f')}, ("cannot be read",)),
    ],
)
def test_what_was_tampered_with_is_refused_by_name(bundle, change, words):
    refused(repacked(bundle, change), *words)


@pytest.mark.parametrize("name", MADE)
def test_what_an_execution_would_take_for_its_own(tmp_path, name):
    refused(written(tmp_path / "bundle.zip", {**FILES, f"source/{name}": b""}), name, "keeps what it made")


def test_a_list_of_files_that_is_longer_than_it_counts(bundle):
    """Told before the list is read, which would take gigabytes."""
    whole = bundle.read_bytes()
    disk, count, length = (0, 0), (1, 1), 20_001 * 286
    bundle.write_bytes(whole + bytes(length) + struct.pack("<4s4H2LH", b"PK\5\6", *disk, *count, length, len(whole), 0))
    refused(bundle, "has 20001 files")


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


@pytest.mark.parametrize(
    ("name", "content"),
    [(LEDGER, b"3"), (LEDGER, b'[{"id": 3}]'), (LEDGER, b"[" * 99_999), (QUICK, b"\xff"), (QUICK, b'{"toy": {"claims": {}}}')],
)
def test_a_record_that_nothing_can_be_compared_with(tmp_path, name, content):
    refused(written(tmp_path / "bundle.zip", {**FILES, name: content}), name)


FORGED = [
    "1\norigin    as cited",
    f"1{' ' * 70}origin    as cited",
    "1\u3164\u3164",
    "1\u2028Nothing differs.",
    "1\u202e0.2",
    "1\u200b",
    "1\x85",
    "\ud800",
]


@pytest.mark.parametrize("forged", FORGED)
def test_a_manifest_cannot_write_lines_into_the_certificate(tmp_path, forged):
    told = json.loads(manifest.text(FILES, RECORD, {}))
    for field in ("version", "title"):
        lying = json.dumps(told | {field: forged}).encode()
        archive.write({**FILES, manifest.FILE: lying}, 1_700_000_000, tmp_path / "lying.zip")
        refused(tmp_path / "lying.zip", manifest.FILE, "not what it should be")


JUDGED = dict(verdict="holds", control="fails", positive="", value=1.0, two_se=0.0, margin=2.0, near=False, rounding=False)


def record(slug="toy", claim="Z1", **other):
    return json.dumps({slug: {"declaration": "{}", "trained": True, "claims": {claim: JUDGED | other}}}).encode()


def ledger(claim="Z1", **other):
    told = {"verdict": "holds", "control_verdict": "fails", "positive_verdict": "", "margin": 2.0} | other
    return json.dumps([{"id": claim, "full": told}]).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (QUICK, record(verdict="holds\n\nNothing differs.\norigin    as cited")),
        *((QUICK, record(**{field: "held"})) for field in ("verdict", "control", "positive")),
        *((QUICK, record(**{field: forged})) for forged in FORGED for field in ("slug", "claim")),
        (QUICK, record(value=0).replace(b": 0,", b": " + b"9" * 4000 + b",")),
        (LEDGER, ledger(verdict="holds\nNothing differs.")),
        (LEDGER, ledger("Z1\nNothing differs.")),
        (LEDGER, ledger(found={"value": "2\n", "two_se": 0})),
        *((LEDGER, ledger(**{f"{word}_verdict": "held"})) for word in ("control", "positive")),
        (LEDGER, json.dumps(2 * json.loads(ledger())).encode()),
    ],
)
def test_a_record_cannot_write_lines_into_the_certificate(tmp_path, name, content):
    check(written(tmp_path / "sound.zip", {**FILES, QUICK: record(), LEDGER: ledger()}))
    refused(written(tmp_path / "bundle.zip", {**FILES, name: content}), name)


def test_what_the_code_of_a_bundle_notes_is_held_to_the_same_rule():
    told = {"quick": {}, "full": {}, "earlier": [], "files": {}}
    assert read("note", json.dumps(told).encode(), FOUND) == told
    for other in ({"earlier": ["a\nNothing differs."]}, {"quick": json.loads(record(verdict="sound"))}, {"full": 3}):
        with pytest.raises(Problem, match="note is not what it should be"):
            read("note", json.dumps(told | other).encode(), FOUND)


def test_the_committed_record_is_one_that_a_bundle_may_bring():
    read(QUICK, (ROOT / "book" / "data" / "quick.json").read_bytes(), RESULTS)
