"""The pins and their locks: whole on every system that is promised, with a digest for every file."""

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name

from book.release import lock
from book.release.requirements import applies, pinned

ROOT = Path(__file__).resolve().parents[2]
PINS = pinned((ROOT / "requirements.txt").read_text(encoding="utf-8"))
INSTALLED = [pin for pin in PINS if applies(pin)]
OLDEST = "3.11.0"
HASHES = re.compile(r"--hash=sha256:[0-9a-f]{64}(?= \\$|$)", re.MULTILINE)


def test_the_lock_has_digests_for_every_pin():
    text = (ROOT / lock.LOCK).read_text(encoding="utf-8")
    parts = re.split(r"\n(?=[A-Za-z])", text.split("\n", 2)[2])
    assert len(parts) == len(pinned(text)) and all(HASHES.search(part) for part in parts)
    assert len(HASHES.findall(text)) == text.count("--hash")


def test_the_lock_has_the_pins():
    locked = pinned((ROOT / lock.LOCK).read_text(encoding="utf-8"))
    assert [str(pin) for pin in locked if not lock.OF_CUDA.match(pin.name)] == [*map(str, PINS)]
    of_cuda = [pin for pin in locked if lock.OF_CUDA.match(pin.name)]
    assert of_cuda and all(str(pin.marker) == 'sys_platform == "linux"' for pin in of_cuda)


def test_every_pin_admits_the_oldest_python_that_is_promised():
    told = {pin.name: metadata.metadata(pin.name).get("Requires-Python") or "" for pin in INSTALLED}
    assert [name for name, range_ in told.items() if not SpecifierSet(range_).contains(OLDEST)] == []
    assert SpecifierSet(">=3.11.5").contains(OLDEST) is False


@pytest.mark.parametrize("python", lock.PYTHONS)
@pytest.mark.parametrize("system", lock.SYSTEMS)
def test_the_pins_are_whole_on_every_system(system, python):
    there = lock.marker(system, python) | {"extra": ""}
    here = {canonicalize_name(pin.name) for pin in PINS if applies(pin, there)}
    asked = [Requirement(line) for pin in INSTALLED if applies(pin, there) for line in metadata.requires(pin.name) or ()]
    needed = {canonicalize_name(each.name) for each in asked if applies(each, there)}
    assert {name for name in needed - here if not lock.OF_CUDA.match(name)} == set()


@pytest.mark.parametrize(
    ("tag", "system", "python", "answer"),
    [
        ("py3-none-any", "Windows x86-64", "3.13", True),
        ("cp312-cp312-win_amd64", "Windows x86-64", "3.12", True),
        ("cp312-cp312-win_amd64", "Windows x86-64", "3.11", False),
        ("cp313-cp313t-win_amd64", "Windows x86-64", "3.13", False),
        ("cp39-abi3-macosx_11_0_arm64", "macOS 14 arm64", "3.11", True),
        ("cp312-abi3-macosx_11_0_arm64", "macOS 14 arm64", "3.11", False),
        ("cp311-cp311-macosx_15_0_arm64", "macOS 14 arm64", "3.11", False),
        ("cp311-cp311-manylinux_2_28_x86_64", "Linux x86-64", "3.11", True),
        ("cp311-cp311-manylinux_2_34_x86_64", "Linux x86-64", "3.11", False),
        ("cp311-cp311-manylinux2014_aarch64", "Linux x86-64", "3.11", False),
        ("cp311-cp311-musllinux_1_2_x86_64", "Linux x86-64", "3.11", False),
    ],
)
def test_which_files_a_system_takes(tag, system, python, answer):
    assert lock.fits(Tag(*tag.split("-")), system, python) is answer


def test_a_pin_without_a_file_is_named():
    everywhere, there = Requirement("a==1"), Requirement('b==2; sys_platform == "win32"')
    pins = {everywhere: {"a-1-py3-none-any.whl": "0"}, there: {"b-2-cp312-cp312-win_amd64.whl": "1"}}
    assert lock.gaps(pins) == [f"b on Windows x86-64 with Python {python}" for python in ("3.11", "3.13", "3.14")]
    assert lock.text(pins).endswith('a==1 \\\n    --hash=sha256:0\nb==2; sys_platform == "win32" \\\n    --hash=sha256:1\n')
