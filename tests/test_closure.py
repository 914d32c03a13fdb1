"""Which files of the library a notebook needs."""

from book import closure
from icl_lib import identity


def test_closure_follows_imports_and_stops_there():
    names = {f.relative_to(identity.LIBRARY).as_posix() for f in closure.code_closure("icl_lib.experiments.zhang.risk")}
    assert {"tasks/prompts.py", "models/linear_attention.py", "theory/zhang/error.py", "experiments/zhang/spectra.py"} <= names
    assert not any(name.startswith(("figures", "claims", "registry")) for name in names)


def test_imported_modules_reads_every_form():
    source = "import icl_lib.seeds\nfrom icl_lib import models\nfrom icl_lib.theory.zhang import error\nimport numpy"
    expected = {
        "icl_lib",
        "icl_lib.seeds",
        "icl_lib.models",
        "icl_lib.theory",
        "icl_lib.theory.zhang",
        "icl_lib.theory.zhang.error",
    }
    assert closure.imported_modules(source) == expected
