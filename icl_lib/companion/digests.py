"""The digest of bytes: SHA-256 in hexadecimal. That of code, which leaves out what computes nothing, is made in `identity`.

>>> from icl_lib.companion import digests
>>> digests.of_bytes(b"a", b"bc") == digests.of_text("abc"), digests.of_text("abc")[:16]
(True, 'ba7816bf8f01cfea')
"""

import hashlib
import json
from pathlib import Path
from typing import BinaryIO


def of_bytes(*pieces: bytes) -> str:
    """Return the digest of pieces as if they were one; each may be whatever has bytes, as an array has."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def of_text(text: str) -> str:
    """Return the digest of a text in UTF-8."""
    return of_bytes(text.encode())


def of_json(value) -> str:
    """Return the digest of a value as JSON, its names in order."""
    return of_text(json.dumps(value, sort_keys=True))


def of_file(path: Path) -> str:
    """Return the digest of a file's content; empty where there is no file."""
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return of_open(file)


def of_open(file: BinaryIO) -> str:
    """Return the digest of all that is in an open file: another may come to have its name."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()
