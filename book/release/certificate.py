"""What was checked of a bundle, on which machine, with which versions, and what differed: for programs and for readers."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from book.builder.pages import PACKAGES
from icl_lib.companion.writing import write_atomically, write_json

NAME = "certificate"
CITED, UNCHECKED = "as cited", "self-consistent, origin unchecked"
"""Where a bundle comes from: its manifest has the digest of a citation, or nothing is known of that."""


def now() -> str:
    """The time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def of_bundle(name: str, manifest: Mapping, digest: str, whole: str) -> dict[str, object]:
    """Which bundle was checked; ``digest`` is that of its manifest, ``whole`` that of the zip when it was checked."""
    return {
        **{name: manifest[name] for name in ("title", "version", "commit")},
        "bundle": name,
        "bundle_sha256": whole,
        "manifest_sha256": digest,
        "files": len(manifest["files"]),
        "bytes": sum(one["size"] for one in manifest["files"]),
    }


def of_machine() -> dict[str, object]:
    """The machine, without its name, and the versions that numbers depend on."""
    here = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
    }
    return {"machine": here, "versions": {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES}}


def write(told: Mapping[str, object], folder: Path) -> str:
    """Write the certificate into a folder, as JSON and as text; the text."""
    text = as_text(told)
    write_json(folder / f"{NAME}.json", told)
    write_atomically(folder / f"{NAME}.txt", lambda file: file.write_text(text + "\n", encoding="utf-8"))
    return text


def as_text(told: Mapping) -> str:
    """The certificate for a reader."""
    here = told["machine"]
    facts = {
        "commit": told["commit"],
        "bundle": f"{told['bundle']}, SHA-256 {told['bundle_sha256']}",
        "manifest": f"SHA-256 {told['manifest_sha256']}",
        "origin": told["origin"],
        "packed": told["packed"],
        "on": f"{here['system']}, {here['architecture']}, {here['cores']} cores",
        "with": ", ".join(f"{name} {number}" for name, number in told["versions"].items()),
        "from": told["began"],
        "to": told["ended"],
        "command": told["command"],
    }
    lines = [f"CERTIFICATE: {told['title']}, version {told['version']}", ""]
    lines += [*(f"{name:9} {fact}" for name, fact in facts.items()), "", "Checked"]
    lines += [f"  {told['files']} files, {told['bytes']} bytes: each is as MANIFEST.json says, and there is no other."]
    lines += [*(f"  {one}" for one in told["executed"]), ""]
    differing = told["differences"]
    return "\n".join([*lines, *(["Differs", *(f"  {one}" for one in differing)] if differing else ["Nothing differs."])])
