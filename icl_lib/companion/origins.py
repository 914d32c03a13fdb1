"""What a number was made from, by name and as one digest: declaration, seed, device, code, weights, versions."""

import importlib.metadata
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache

from icl_lib.companion import digests, identity

PACKAGES = ("torch", "numpy", "scipy")
"""What every result is computed with. scikit-learn counts where the code names it, another package by a constant PACKAGE."""


def declaration_json(declaration) -> str:
    """Return a declaration (a dataclass of numbers, strings and tuples) as canonical JSON."""
    return json.dumps({"class": type(declaration).__name__, **asdict(declaration)}, sort_keys=True)


def versions(declaration) -> dict[str, str]:
    """Return the public versions of the packages that a run computes with."""
    return {name: _version(name) for name in _packages(identity.definitions(declaration))}


@cache
def _packages(found: tuple[identity.Definition, ...]) -> list[str]:
    told = [(each.name, part) for each in found for part in identity.written(each) if isinstance(part, str)]
    learns = any(part.startswith(" sklearn.") for _, part in told)
    late = sorted({part.strip("'") for name, part in told if name == "PACKAGE" and part.startswith("'")})
    return [*PACKAGES, *(["scikit-learn"] if learns else []), *late]


@cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:  # one that is imported late, where nothing but stored results is read
        return "missing"


def origin(
    declaration, seed: int, device: str, weights: Mapping[str, str] | None = None, made_with: str | None = None
) -> dict[str, str]:
    """Return all that determines a result, by name, and ``identity``, the digest of it all.

    weights    digests of the shipped weights that the run reads, by name
    made_with  the versions of the packages, as JSON, where they are not those that are installed

    >>> from icl_lib.companion.origins import origin
    >>> from icl_lib.models.baselines import Ridge
    >>> one, again, other = (origin(Ridge(penalty), seed=0, device="cpu") for penalty in (1.0, 1.0, 2.0))
    >>> one["declaration"], one["identity"] == again["identity"], one["identity"] == other["identity"]
    ('{"class": "Ridge", "penalty": 1.0}', True, False)
    """
    parts = {
        "declaration": declaration_json(declaration),
        "seed": str(seed),
        "device": device,
        "code": identity.code(declaration),
        "weights": json.dumps(weights or {}, sort_keys=True),
        "versions": made_with or json.dumps(versions(declaration)),
    }
    parts |= {"trains": str(identity.trains(declaration))}
    return parts | {"identity": digests.of_json(parts)}


def trained(attributes: Mapping[str, object]) -> bool:
    """Return whether the run that a dataset comes from may have trained, by its attributes."""
    return attributes.get("trains") == "True"


def tell_of_other_versions(made_with: str | None, declaration) -> None:
    """Say, once, that what is stored for a declaration was made with other versions than those that are installed."""
    if made_with and made_with != (here := json.dumps(versions(declaration))):
        _tell(*(", ".join(" ".join(each) for each in json.loads(told).items()) for told in (made_with, here)))


@cache
def _tell(made_with: str, here: str) -> None:
    print(f"What is stored was made with {made_with}; here are {here}.", file=sys.stderr, flush=True)


def of_a_cell(declaration, seed: int, device: str) -> dict[str, str]:
    """Return what is known of a result whose code is in no file: nothing that a stored one could be compared with."""
    return {
        "declaration": declaration_json(declaration),
        "seed": str(seed),
        "device": device,
        "code": "of a cell: it is not stored, and neither is what it gives",
    }
