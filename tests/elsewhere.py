"""The book with its store and what it makes in folders of a test."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import papers
from icl_lib.companion import Book, book


def move_book(patch: pytest.MonkeyPatch, **folders: Path) -> Book:
    """Let the book, and what a test declares, have its ``store`` or its ``build`` elsewhere."""
    there = replace(papers.BOOK, **folders)
    for module in [each for each in sys.modules.values() if vars(each).get("BOOK") is papers.BOOK]:
        patch.setattr(module, "BOOK", there)
    patch.setattr(book, "of_module", lambda module: there)
    return there
