"""`python -m book.release.rerun [--full]`: execute this checkout and note what was found, in `_build/rerun.json`.

`./run verify` starts it in the source of a bundle. It goes on where it was stopped.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from book.builder import arguments, book, judged
from book.builder.layout import Layout
from book.builder.problem import Problem
from book.release import child
from icl_lib.companion import PROFILES, digests
from icl_lib.companion.writing import read_json, write_json
from papers import BOOK

NOTE, BEFORE = "rerun.json", "before.json"


def rerun(layout: Layout, full: bool) -> None:
    """Execute all notebooks in the quick profile; with `full`, compute also networks and stored results anew."""
    if BOOK.root.resolve() != layout.root.resolve():
        raise Problem(f"This would execute the code of {BOOK.root.name} and not that of the bundle.")
    if not read_json(layout.build / BEFORE, dict):
        write_json(layout.build / BEFORE, first_look(layout))
    found = read_json(layout.build / BEFORE, dict)
    if full:
        files = found["files"]
        renew([name for name, digest in files.items() if digests.of_file(layout.stored_results / name) == digest], layout)
        names = arguments.notebook_names(layout.root)
        found["renewed"] = merged(judged.judge(name, layout.executed("quick", name), "full")["results"] for name in names)
    write_json(layout.build / NOTE, found)


def first_look(layout: Layout) -> dict:
    """What the claims say about the quick results and about the stored ones, by slug, before anything stored is renewed."""
    executed = book.bring_up_to_date(arguments.notebook_names(layout.root), arguments.parse([], layout.root), layout)
    return {
        **{profile: merged(judged.of(one, profile) for one in executed.values()) for profile in PROFILES},
        "earlier": sorted(name for name, one in executed.items() if one.reused),
        "files": stored_digests(layout),
    }


def merged(parts: Iterable[dict]) -> dict:
    return {slug: told for part in parts for slug, told in part.items()}


def stored_digests(layout: Layout) -> dict[str, str]:
    """Every stored result and network, with the SHA-256 of its file."""
    files = [*layout.stored_results.glob("*.full.nc"), *layout.stored_results.glob("weights/*.safetensors")]
    return {path.relative_to(layout.stored_results).as_posix(): digests.of_file(path) for path in sorted(files)}


def renew(files: list[str], layout: Layout) -> None:
    """Compute anew what these files hold; a file that was computed anew is never the same, for it says when."""
    book.renew([Path(name).name.removesuffix(".full.nc").removesuffix(".safetensors") for name in files], layout)


def main(words: list[str]) -> int:
    child.end_with_caller()
    return book.answer(lambda layout: rerun(layout, "--full" in words), "The same command goes on where this one ended.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
