"""The page on the environment: every package, its version and its licence, as installed where the page is made."""

import platform
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from book.release.requirements import pinned, version_of

NONE = "not stated"
ELSEWHERE = "not installed here"
SHORT = {
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF",
}
"""Names in the old list of licences, and how they are written today; its "BSD License" leaves open which."""


def fill(book: Path, root: Path) -> None:
    """Fill the marks of the page below `book`."""
    page = book / "environment.md"
    if page.exists():
        text = page.read_text(encoding="utf-8").replace("<!-- python -->", platform.python_version())
        page.write_text(text.replace("<!-- packages -->", table(root)), encoding="utf-8")


def table(root: Path) -> str:
    """All pins in a table."""
    lines = ["| package | version | licence | where |", "|---|---|---|---|"]
    for pin in sorted(pinned((root / "requirements.txt").read_text(encoding="utf-8")), key=lambda pin: pin.name.lower()):
        lines.append(f"| {pin.name} | {version_of(pin)} | {licence(pin.name)} | {place(str(pin.marker or ''))} |")
    return "\n".join(lines)


def licence(package: str) -> str:
    """The licence of an installed package in its own words, shortened to a name."""
    try:
        told = metadata(package)
    except PackageNotFoundError:
        return ELSEWHERE
    if expression := told.get("License-Expression"):
        return expression
    listed = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or [] if line.startswith("License ::")]
    text = (told.get("License") or "").strip().partition("\n")[0]
    return "; ".join(SHORT.get(name, name) for name in listed) or text or NONE


def place(marker: str) -> str:
    """Where a pin holds, in words."""
    words = {"darwin": "macOS", "win32": "Windows", "linux": "Linux"}
    kind, _, value = (part.strip(" '\"") for part in marker.partition("=="))
    told = {"": "everywhere", "sys_platform": words.get(value, value), "python_version": f"Python {value}"}
    return told.get(kind, f"where {marker}")
