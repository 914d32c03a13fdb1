"""Zips whose own statements hide a file or disagree: refused on every supported Python, also where zipfile believes them."""

import shutil
import struct
import subprocess
import sys
import zipfile
import zlib

import pytest
from small_bundle import FILES, ROOT, check, written

from book.builder.problem import Problem
from book.release import lock


def runs(python):
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


HIDDEN, SHOWN = "source/argparse.py", "source/LICENSE"
OPEN = "import sys, pathlib\nfrom book.release.opened import opened\nwith opened(pathlib.Path(sys.argv[1])) as found: pass"
NAMES = (sys.executable, *(f"python{each}" for each in lock.PYTHONS[1:]))
PYTHONS = [python for name in NAMES if (python := shutil.which(name)) and runs(python)]


def unicode_path(name, shown):
    """The extra field of Info-ZIP that gives a file another name, which zipfile takes over from Python 3.12 on."""
    told = struct.pack("<BL", 1, zlib.crc32(name.encode())) + shown.encode()
    return struct.pack("<HH", 0x7075, len(told)) + told


@pytest.fixture
def bundle(tmp_path):
    return written(tmp_path / "bundle.zip", {**FILES, SHOWN: b"MIT\n"})


def hide(path):
    """Pack the same files anew, one of them under another name with an extra field that tells the first name."""
    with zipfile.ZipFile(path) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in files.items():
            entry = zipfile.ZipInfo(HIDDEN if name == SHOWN else name)
            entry.extra = unicode_path(HIDDEN, SHOWN) if name == SHOWN else b""
            new.writestr(entry, content)


@pytest.mark.parametrize("python", PYTHONS)
def test_a_file_with_a_second_name(bundle, python):
    whole = subprocess.run([python, "-c", OPEN, bundle], cwd=ROOT, capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    hide(bundle)
    found = subprocess.run([python, "-c", OPEN, bundle], cwd=ROOT, capture_output=True, text=True)
    assert f"{HIDDEN} has a comment or an extra field" in found.stderr


def test_where_zipfile_takes_the_second_name_the_first_counts(bundle, monkeypatch):
    """What Python 3.12 does with the field, on every Python; and no field that could be refused for itself."""
    tell = zipfile.ZipFile.infolist

    def renaming(self):
        for entry in tell(self):
            entry.filename = SHOWN if entry.orig_filename == HIDDEN else entry.filename
        return tell(self)

    hide(bundle)
    content = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as packed:
        files = {entry.orig_filename: packed.read(entry) for entry in packed.infolist()}
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as bare:
        for name, each in files.items():
            bare.writestr(name, each)
    assert bundle.read_bytes() != content
    monkeypatch.setattr(zipfile.ZipFile, "infolist", renaming)
    with pytest.raises(Problem, match=f"{SHOWN} is named in MANIFEST.json and is not in the bundle"):
        check(bundle)


END, COUNT, FLAGS = 22, 10, 8


def changed(path, places, value):
    whole = bytearray(path.read_bytes())
    for place in places:
        whole[place : place + 2] = struct.pack("<H", value)
    path.write_bytes(whole)


@pytest.mark.parametrize("count", [0, 3, 19_999])
def test_a_list_that_counts_other_files_than_it_has(bundle, count):
    end = len(bundle.read_bytes()) - END
    changed(bundle, (end + COUNT - 2, end + COUNT), count)
    with pytest.raises(Problem, match="or others than it counts"):
        check(bundle)


@pytest.mark.parametrize("flag", [0x1, 0x8, 0x20, 0x40, 0x2000])
def test_a_flag_that_no_bundle_has(bundle, flag):
    with zipfile.ZipFile(bundle) as packed:
        entry = packed.getinfo(SHOWN)
    listed = bundle.read_bytes().rindex(SHOWN.encode()) - 46
    changed(bundle, (entry.header_offset + 6, listed + FLAGS), flag)
    with pytest.raises(Problem, match=f"{SHOWN} is encrypted, or packed in an unusual way"):
        check(bundle)


def test_how_hard_a_file_was_packed_is_noted(bundle):
    with zipfile.ZipFile(bundle) as packed:
        entry = packed.getinfo(SHOWN)
    listed = bundle.read_bytes().rindex(SHOWN.encode()) - 46
    assert check(bundle).as_written
    changed(bundle, (entry.header_offset + 6, listed + FLAGS), 0x2)
    assert not check(bundle).as_written


def test_the_certificate_tells_the_zip_that_was_checked(bundle):
    """The digest is taken where the zip is open, before its code runs; another file may come to have its name."""
    from book.release import verify
    from book.release.opened import opened

    known = check(bundle).whole
    with opened(bundle) as found:
        bundle.rename(bundle.with_name("moved.zip"))
        bundle.write_bytes(b"garbage")
        assert verify.check(found, None).whole == known


def test_the_digest_of_the_zip_in_the_place_of_the_manifest_is_told(bundle):
    with pytest.raises(Problem, match="not the one that was cited.* The one that was given is that of the zip"):
        check(bundle, check(bundle).whole)
