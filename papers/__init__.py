"""The wings of the book: one package for each paper, in it one for each section, its rooms.

``registry`` finds what the rooms declare; ``python -m papers`` lists, computes and judges it.
"""

from pathlib import Path

from icl_lib.companion import Book

_HOME = Path(__file__).resolve().parents[1]
_ROOT = _HOME if (_HOME / "_toc.yml").is_file() else None
BOOK = Book(
    _ROOT,
    "papers",
    store=_HOME / "book" / "data",
    build=(_ROOT or Path.cwd()) / "_build",
    command="./run" if _ROOT else "python -m papers",
    codes="../book/how_to_read.html#confidence-codes",
)
PAPERS = ("zhang", "li", "dherin", "garg", "ahn", "lenses", "engine")
"""The wings, in the order of the ledger."""
FLOORS = ("regression",)
"""What wings stand on together: packages without rooms."""
