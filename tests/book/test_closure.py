"""Which files of the library a notebook needs."""

from pathlib import Path

from book.builder import closure
from papers import BOOK, registry


def test_closure_follows_imports_and_stops_there():
    files = closure.code_closure("papers.zhang.s4_1_convergence.risk")
    names = {f.relative_to(BOOK.root).as_posix() for f in files}
    assert {
        "icl_lib/tasks/prompts.py",
        "icl_lib/models/linear_attention.py",
        "papers/zhang/theory/error.py",
        "papers/regression/spectra.py",
    } <= names
    assert not any(Path(name).stem in ("figures", "claims", "registry") for name in names)


def test_imported_modules_reads_every_form():
    source = "import icl_lib.seeds\nfrom icl_lib import models\nfrom papers.zhang.theory import error\nimport numpy"
    expected = {
        "icl_lib",
        "icl_lib.seeds",
        "icl_lib.models",
        "papers",
        "papers.zhang",
        "papers.zhang.theory",
        "papers.zhang.theory.error",
    }
    assert closure.imported_modules(source) == expected


def test_what_show_finds_in_a_room_counts_and_what_others_need_does_not():
    imported = closure.imported_modules("from papers.zhang.s4_1_convergence.risk import RISK")
    found = closure.with_rooms(imported) - imported
    assert {f"papers.zhang.s4_1_convergence.{name}" for name in ("claims", "figures", "minute")} <= found
    assert all(name.startswith("papers.zhang.s4_1_convergence.") for name in found)


def test_all_that_shows_something_is_found_by_show_alone():
    """Else an edit of it would not reach its page: whoever imports it does not stand in the room's notebook."""
    shown = {claim.module for claim in registry.CLAIMS.values()}
    assert not [name for name in shown if closure.graph().find_modules_that_directly_import(name)]
