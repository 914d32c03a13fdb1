"""The pinned requirements: which hold on a system, and whether the present environment is the one that they describe."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement

from book.builder.problem import Problem


def pinned(text: str) -> list[Requirement]:
    """The pins of a requirements file or of a lock, in its order."""
    words = (line.partition("#")[0].partition("--hash")[0].rstrip(" \\\n") for line in text.splitlines())
    return [Requirement(line) for line in words if "==" in line]


def applies(pin: Requirement, system: Mapping[str, str] | None = None) -> bool:
    """Whether a pin holds on this system, or on one that differs in the given variables of a marker."""
    return pin.marker is None or pin.marker.evaluate(dict(system or {}))


def version_of(pin: Requirement) -> str:
    """The version that a pin asks for."""
    (exact,) = pin.specifier
    return exact.version


def differing(pins: str) -> list[str]:
    """The packages that are here in another version than pinned, or not at all; a build's suffix (+cpu) does not count."""
    here = {pin.name: (version_of(pin), _installed(pin.name)) for pin in pinned(pins) if applies(pin)}
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
