"""The wings of the book: one package for each paper, in it one for each section, its rooms.

``registry`` finds what the rooms declare; ``python -m papers`` lists, computes and judges it.
"""

from pathlib import Path

from icl_lib.companion import Book

_ROOT = Path(__file__).resolve().parents[1]
BOOK = Book(_ROOT, "papers", store=_ROOT / "book" / "data", build=_ROOT / "_build")
PAPERS = ("zhang", "li", "dherin", "garg", "engine")
"""The wings, in the order of the ledger."""
FLOORS = ("regression",)
"""What wings stand on together, here those of Zhang et al. and of Garg et al.: packages without rooms."""
