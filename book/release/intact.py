"""Every file of a bundle against its manifest, and the manifest against the digest of a citation."""

import re
from collections.abc import Iterator

from book.builder.problem import Problem
from book.release.manifest import FILE
from book.release.opened import Opened, require_names
from book.release.wellformed import LINE, read
from icl_lib.companion import digests

LONGEST = 16 * 2**20
DIGEST = re.compile(r"[0-9a-f]{64}")
SCHEMA = {
    "type": "object",
    "required": ["title", "version", "commit", "date", "profile", "parts", "files"],
    "properties": {
        **dict.fromkeys(("title", "version", "date", "profile"), LINE),
        "commit": {"type": "string", "pattern": r"^[0-9a-f]{40}\Z"},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "size", "sha256"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string"},
                    "size": {"type": "integer", "minimum": 0},
                    "sha256": {"type": "string", "pattern": rf"^{DIGEST.pattern}\Z"},
                },
            },
        },
    },
}


def manifest_of(bundle: Opened, digest: str | None) -> tuple[dict, str]:
    """The manifest and its SHA-256, which has to be `digest` where one is given."""
    if FILE not in bundle.entries:
        raise Problem(f"{FILE} is missing; this is no bundle of ./run bundle, or not all of it.")
    if bundle.entries[FILE].file_size > LONGEST:
        raise Problem(f"{FILE} has more than {LONGEST >> 20} MiB.")
    content = bundle.content(FILE)
    found = digests.of_bytes(content)
    if digest and found != digest:
        zipped = " The one that was given is that of the zip." if digest == digests.of_open(bundle.file) else ""
        raise Problem(f"{FILE} is not the one that was cited: its SHA-256 is {found}.{zipped}")
    return read(FILE, content, SCHEMA), found


def checked(bundle: Opened, told: dict) -> Iterator[tuple[str, bytes]]:
    """Every file that is as the manifest says, one after another; raises a Problem for the first that is not."""
    require_names([FILE, *(one["path"] for one in told["files"])])
    named = {one["path"]: one for one in told["files"]}
    if missing := sorted(named.keys() - bundle.entries.keys()):
        raise Problem(f"{missing[0]} is named in {FILE} and is not in the bundle.")
    if added := sorted(bundle.entries.keys() - named.keys() - {FILE}):
        raise Problem(f"{added[0]} is in the bundle and not named in {FILE}.")
    for name, one in named.items():
        if bundle.entries[name].file_size != one["size"]:
            raise Problem(f"{name} has {bundle.entries[name].file_size} bytes; {FILE} says {one['size']}.")
        content = bundle.content(name)
        if digests.of_bytes(content) != one["sha256"]:
            raise Problem(f"{name} is not the file that {FILE} names: its SHA-256 is another.")
        yield name, content
