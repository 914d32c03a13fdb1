"""The wings of the book: one package for each paper, in it one for each section, its rooms.

``registry`` finds what the rooms declare; ``python -m papers`` lists, computes and judges it.
"""

PAPERS = ("zhang", "li", "dherin", "garg", "engine")
"""The wings, in the order of the ledger."""
