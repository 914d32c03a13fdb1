"""`ro-crate-metadata.json`: the bundle as a Research Object Crate, version 1.1, by the library of its authors."""

import importlib.util
import mimetypes
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from book.builder.problem import Problem
from book.citation.record import Record

FILE = "ro-crate-metadata.json"
PINS = Path(__file__).parents[2] / "requirements-release.txt"
LICENCES = ("https://spdx.org/licenses/MIT", "https://creativecommons.org/licenses/by/4.0/")
TOLD = {
    "html": "The book: open index.html in a browser",
    "pdf": "The book on paper",
    "notebooks": "The notebooks with their outputs, as any viewer shows them",
    "source": "The files of the commit: code, text, data, tests",
    "data": "Measurements at full scale, NetCDF with provenance",
    "weights": "Trained networks, safetensors",
    "ledger": "Every claim with its verdict",
    "claims": "One JSON for each claim",
    "inventory": "Claims and figures, for links from other books",
    "errata": "What the book got wrong",
}


def require_library() -> None:
    """Install the library unless it is there; without network, a Problem."""
    if importlib.util.find_spec("rocrate") is None:
        print("Adding what a bundle needs to .venv.", flush=True)
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet", "-r", str(PINS)]
        if subprocess.run(pip).returncode:
            raise Problem(f"{PINS.name} could not be installed, see above; a bundle needs it once, with the network.")
        importlib.invalidate_caches()


def described(record: Record, parts: Mapping[str, str | None], beside: Iterable[str]) -> dict:
    """The metadata: the record, the parts that are there, and the files `beside` them at the top of the bundle."""
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    crate.name, crate.description = record.title, " ".join(record.fields["abstract"].split())
    crate.datePublished = datetime.fromtimestamp(record.edition.seconds, UTC)
    root = crate.root_dataset
    root["version"], root["keywords"] = record.version, ", ".join(record.fields.get("keywords", []))
    authors = [{"@type": "Organization", "name": name} for name in record.authors]
    root["author"] = [crate.add(ContextEntity(crate, f"#author-{n}", one)) for n, one in enumerate(authors, 1)]
    licences = [{"@type": "CreativeWork", "name": address.rpartition("licenses/")[2].strip("/")} for address in LICENCES]
    root["license"] = [crate.add(ContextEntity(crate, *one)) for one in zip(LICENCES, licences, strict=True)]
    for name, told in {**{parts[part]: TOLD[part] for part in TOLD if parts[part]}, **dict.fromkeys(beside, "")}.items():
        add = crate.add_dataset if name.endswith("/") else crate.add_file
        kind = {} if name.endswith("/") else {"encodingFormat": mimetypes.guess_type(name)[0] or "text/plain"}
        add(dest_path=name, properties={"name": told or name} | kind)
    return crate.metadata.generate()


def complaints(metadata: dict, names: Iterable[str]) -> list[str]:
    """What the library refuses in this metadata, and which of its parts are not among the files of the bundle."""
    from rocrate.rocrate import ROCrate

    try:
        crate = ROCrate(metadata)
    except (ValueError, KeyError) as error:
        return [f"{FILE}: {error}"]
    missing = [part.id for part in crate.data_entities if not any(name.startswith(part.id) for name in names)]
    wanted = [name for name in ("name", "description", "datePublished", "license") if not crate.root_dataset.get(name)]
    return [f"{FILE}: {each} is missing" for each in (*missing, *wanted)]
