"""Whether the site that is there was made from what is there now."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from book.builder import published_at
from book.builder.cache import Executed
from book.builder.layout import MARK, Layout
from icl_lib.companion import digests
from papers import BOOK


def made_from(layout: Layout, executed: list[Executed], quick: list[Executed]) -> str:
    """A digest of everything that a page may show; arguments as those of `Stage.fill`."""
    addresses = [os.environ.get(name) for name in (published_at.REPOSITORY, published_at.PAGES)]
    inputs = (f"{path.relative_to(layout.root)} {digests.of_file(path)}\n" for path in _inputs(layout, executed, quick))
    return digests.of_text("".join([f"{platform.python_version()} {addresses}", *inputs]))


def _inputs(layout: Layout, executed: list[Executed], quick: list[Executed]) -> Iterator[Path]:
    """The files that are staged, and the code and the versions that make pages of them."""
    yield from (layout.root / name for name in ("_config.yml", "_toc.yml", "requirements.txt", "CITATION.cff"))
    for one in [*executed, *quick]:
        yield from (one.notebook, one.folder / "record.json", *sorted(one.results.glob("*")))
    for folder in (layout.root / "book", *(layout.root / package for package in BOOK.packages), layout.notebooks):
        yield from sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def is_made_from(layout: Layout, inputs: str) -> bool:
    """Whether the published site is whole and was made from what this digest stands for."""
    mark = layout.html / MARK
    return (layout.html / "index.html").exists() and mark.exists() and mark.read_text(encoding="utf-8") == inputs
