"""`./run bundle`: the release of a commit, one zip that is the same bytes whenever it is made of that commit.

It holds the site, the book on paper, the notebooks with their outputs, the source with data and weights, and a manifest of all
files. It shows the stored results of the full profile.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import jsonschema

from book.builder import book
from book.builder.arguments import Parser
from book.builder.layout import Layout
from book.builder.problem import Problem
from book.citation import addresses, bibtex
from book.citation import record as citation
from book.citation.record import Record
from book.release import archive, child, commit, contents, crate, deposit, edition, manifest
from icl_lib.companion import digests

UNTOUCHED = "No bundle was written; one that was there is as it was."


def bundle(layout: Layout) -> None:
    """Make the pages of the commit in a folder of their own, and pack them with all that they rest on."""
    made_of = commit.clean_commit(layout.root)
    crate.require_library()
    work = Layout(layout.build / "release" / made_of.commit[:12])
    clear(work.root.parent, work.root)
    commit.export(layout.root, made_of, work.root)
    record = Record.of(work.root, made_of)
    require_sound(citation.complaints(record.fields))
    make_pages(work, record)
    require_addresses(work.html)
    print("Packing.", flush=True)
    files = contents.gather(work, record, commit.names(layout.root, made_of))
    require_sound(complaints(files))
    files[manifest.FILE] = manifest.text(files, record, contents.present(files))
    target = layout.build / "release" / f"icl-companion-{record.version}.zip"
    archive.write(files, made_of.seconds, target)
    tell(target.relative_to(layout.root), files, record)
    shutil.rmtree(work.root, ignore_errors=True)


def make_pages(work: Layout, record: Record) -> None:
    """Run the commit's own build in its folder, in a process on which neither day nor place have an influence."""
    made_of = record.edition
    settled = {"SOURCE_DATE_EPOCH": str(made_of.seconds), "PYTHONHASHSEED": "0", "TZ": "UTC"}
    if child.run(edition.__name__, [made_of.commit, str(made_of.seconds)], work, settled):
        raise Problem("The pages of the commit could not be made, see above.")


def clear(folder: Path, kept: Path) -> None:
    """Remove what calls left behind that were killed, but for the folder of the commit: what was executed there is kept."""
    for path in folder.glob("*"):
        if path.is_dir() and path != kept:
            shutil.rmtree(path)
        elif path.name.startswith("."):
            path.unlink()


def require_addresses(site: Path) -> None:
    """Raise a Problem where an address that was promised leads nowhere on the site."""
    if gone := sorted(addresses.promised() - addresses.of_site(site)):
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise Problem(f"{gone[0]}{more} was promised and is gone: an address that was published stays.")


def complaints(files: Mapping[str, archive.Content]) -> list[str]:
    """What is wrong with the metadata of a bundle: each is held against what its format asks."""
    told = {name: archive.read(files[name]).decode() for name in (citation.FILE, ".zenodo.json", crate.FILE)}
    zenodo = jsonschema.Draft202012Validator(deposit.ZENODO).iter_errors(json.loads(told[".zenodo.json"]))
    return [
        *citation.complaints(citation.parsed(told[citation.FILE])),
        *(f".zenodo.json: {each.message}" for each in zenodo),
        *crate.complaints(json.loads(told[crate.FILE]), files),
    ]


def require_sound(found: list[str]) -> None:
    """Raise a Problem for the first complaint."""
    if found:
        raise Problem(f"The metadata are not as their format asks: {found[0]}.")


def tell(target: Path, files: Mapping[str, archive.Content], record: Record) -> None:
    """Say where the bundle is, what is not in it, and how it is cited."""
    missing = [part for part, place in contents.present(dict(files)).items() if place is None]
    digest = digests.of_bytes(archive.read(files[manifest.FILE]))
    print(f"{target}: {len(files)} files, {os.path.getsize(target) / 1e6:.0f} MB")
    if missing:
        print(f"Not in it: {', '.join(missing)}" + (" (printing needs Chromium)." if "pdf" in missing else "."))
    if new := sorted({*addresses.of_book(Path.cwd())} - addresses.promised()):
        print(f"{len(new)} addresses are not promised yet, {new[0]} first: python -m book.citation.addresses adds them.")
    print(f"\nSHA-256 of {manifest.FILE}: {digest}\n\n{bibtex.of_book(record, digest)}")


def parse(words: list[str]) -> None:
    """Exit with 2 on anything that cannot be asked."""
    Parser(prog="./run bundle", description="Make the release of the last commit: one zip, with a manifest.").parse_args(words)


def main(words: list[str]) -> int:
    parse(words)
    started = time.monotonic()

    def work(layout: Layout) -> None:
        bundle(layout)
        print(f"\nThe bundle is ready after {time.monotonic() - started:.0f} s.")

    return book.answer(work, UNTOUCHED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
