"""Whether the present environment is the one that a bundle was made for."""

import re
from importlib.metadata import PackageNotFoundError, version

from book.build.problem import Problem

PIN = re.compile(r"^([\w.-]+)==([\w.]+)", re.MULTILINE)


def differing(pins: str) -> list[str]:
    """The packages that are here in another version than pinned, or not at all; a build's suffix (+cpu) does not count."""
    here = {name: (wanted, _installed(name)) for name, wanted in PIN.findall(pins)}
    return [f"{name} {wanted}, here {found or 'none'}" for name, (wanted, found) in here.items() if wanted != found]


def _installed(name: str) -> str:
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return ""


def require_same(pins: str) -> None:
    """Raise a Problem where another environment would compute."""
    if other := differing(pins):
        more = f" and {len(other) - 3} more" if len(other) > 3 else ""
        raise Problem(
            f"The bundle asks for other versions than there are: {'; '.join(other[:3])}{more}. "
            "Unpack its folder source and call ./run verify there, which makes its own environment."
        )
