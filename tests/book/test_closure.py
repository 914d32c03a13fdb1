"""Which files of the library a notebook needs."""

from pathlib import Path

from book.builder import closure
from papers import BOOK


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
