"""`python -m book.release.lock`: write `requirements.lock`, every pin with the SHA-256 of the files that pip may take for it.

The pins are those of `requirements.txt`, and of what torch built for CUDA needs besides, which only the lock names. A file is
in it when one of SYSTEMS can install it with one of PYTHONS. Needs the network. `uv pip compile --generate-hashes` would allow
3,557 files in the place of these 543, archives of sources among them, which pip builds with code that no digest here names.
"""

import json
import re
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from book.builder.problem import Problem
from book.release.requirements import applies, pinned, version_of
from icl_lib.companion.writing import write_atomically

SOURCE, LOCK = "requirements.txt", "requirements.lock"
OF_CUDA = re.compile(r"nvidia-|cuda-|triton$")
"""Names of packages that torch for CUDA brings in."""
INDEX = "https://pypi.org/simple"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {
    "Linux x86-64": (r"manylinux\w*_x86_64", ("linux", "Linux", "posix", "x86_64")),
    "Linux arm64": (r"manylinux\w*_aarch64", ("linux", "Linux", "posix", "aarch64")),
    "macOS 14 arm64": (r"macosx_(10|11|12|13|14)_\d+_(arm64|universal2)", ("darwin", "Darwin", "posix", "arm64")),
    "Windows x86-64": (r"win_amd64", ("win32", "Windows", "nt", "AMD64")),
}
"""Systems by name: the tags of their files (of Linux with glibc 2.28), and what they are called in a marker."""
GLIBC = re.compile(r"manylinux_2_(\d+)_")
NEWEST_GLIBC = 28
OPENING = """\
# Every pin with the SHA-256 of its files on {index}: ./run book --locked installs these and no other.
# Python {pythons} on {systems}. Written by python -m book.release.lock.
"""


def marker(system: str, python: str) -> Mapping[str, str]:
    """What the markers of requirements see on a system."""
    names = ("sys_platform", "platform_system", "os_name", "platform_machine")
    return dict(zip(names, SYSTEMS[system][1], strict=True)) | {"python_version": python, "python_full_version": f"{python}.0"}


def fits(tag: Tag, system: str, python: str) -> bool:
    """Whether CPython installs a file with this tag on a system."""
    newest = int(python.partition(".")[2])
    own = re.fullmatch(r"cp3(\d+)", tag.interpreter)
    if own:
        of_this = tag.abi == tag.interpreter and int(own[1]) == newest
        known = of_this or (tag.abi in ("abi3", "none") and int(own[1]) <= newest)
    else:
        known = tag.interpreter in ("py3", f"py3{newest}") and tag.abi == "none"
    glibc = GLIBC.match(tag.platform)
    here = tag.platform == "any" or re.fullmatch(SYSTEMS[system][0], tag.platform)
    return bool(known and here and not (glibc and int(glibc[1]) > NEWEST_GLIBC))


def wheel(file: str) -> tuple[Version | None, frozenset[Tag]]:
    """The version and the tags of a wheel, none of another file."""
    try:
        _, version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None, frozenset()
    return version, tags


def files_of(pin: Requirement) -> dict[str, str]:
    """The SHA-256 of every wheel of a pin on the index, by file name."""
    asked = Request(f"{INDEX}/{canonicalize_name(pin.name)}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urlopen(asked, timeout=60) as answer:
        listed = [each for each in json.load(answer)["files"] if not each["yanked"] and each["filename"].endswith(".whl")]
    wanted = Version(version_of(pin))
    return {each["filename"]: each["hashes"]["sha256"] for each in listed if wheel(each["filename"])[0] == wanted}


def gaps(pins: Mapping[Requirement, Mapping[str, str]]) -> list[str]:
    """The pins that hold on a system and have no file for it."""
    every = [(pin, system, python) for pin in pins for system in SYSTEMS for python in PYTHONS]
    return [
        f"{pin.name} on {system} with Python {python}"
        for pin, system, python in every
        if applies(pin, marker(system, python))
        and not any(fits(tag, system, python) for file in pins[pin] for tag in wheel(file)[1])
    ]


def text(pins: Mapping[Requirement, Mapping[str, str]]) -> str:
    """The lock as text."""
    lines = [OPENING.format(index=INDEX, pythons=", ".join(PYTHONS), systems=", ".join(SYSTEMS))]
    for pin, files in pins.items():
        there = [(system, python) for system in SYSTEMS for python in PYTHONS if applies(pin, marker(system, python))]
        kept = {digest for file, digest in files.items() if any(fits(tag, *each) for tag in wheel(file)[1] for each in there)}
        lines.append(" \\\n".join([str(pin), *(f"    --hash=sha256:{digest}" for digest in sorted(kept))]) + "\n")
    return "".join(lines)


def lock(root: Path) -> None:
    """Write the lock; nothing where a pin has no file on a system."""
    target = root / LOCK
    asked = pinned((root / SOURCE).read_text(encoding="utf-8"))
    asked += [pin for pin in pinned(target.read_text(encoding="utf-8")) if OF_CUDA.match(pin.name)]
    with ThreadPoolExecutor(8) as pool:
        pins = dict(zip(asked, pool.map(files_of, asked), strict=True))
    if missing := gaps(pins):
        raise Problem(f"These pins have no file on {INDEX}: {'; '.join(missing)}.")
    content = text(pins)
    write_atomically(target, lambda file: file.write_text(content, encoding="utf-8"))
    print(f"{LOCK}: {content.count('--hash')} files", flush=True)


if __name__ == "__main__":
    try:
        lock(Path(__file__).resolve().parents[2])
    except Problem as problem:
        sys.exit(str(problem))
