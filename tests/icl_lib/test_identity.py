"""The identity of code: what counts and what does not; and that a run calls nothing outside of it."""

import dataclasses
import importlib.metadata
import json
import os
import subprocess
import sys
from functools import cache
from types import SimpleNamespace

import pytest

from icl_lib.companion import identity, origins
from icl_lib.companion.identity import Definition
from papers import registry

PLAIN = {
    "icl_lib/__init__.py": "",
    "icl_lib/top.py": (
        "import numpy as np\nfrom icl_lib.parts import double, unused\nfrom icl_lib import parts\n"
        "SCALE = 3\nOTHER = 4\n\nclass Thing:\n    size: int\n\n    def run(self, seed):\n"
        "        return np.sum(double(SCALE)) + parts.half(seed)\n"
    ),
    "icl_lib/parts.py": (
        "FACTOR = 2\n\ndef double(x):\n    return FACTOR * x\n\n"
        "def half(x):\n    return x / 2\n\ndef unused(x):\n    return 0\n"
    ),
}
TOP, PARTS, TYPED = "icl_lib/top.py", "icl_lib/parts.py", "icl_lib/typed.py"
REFUSING, REFUSED = PLAIN | {TYPED: "def refuse(wrong, sentence): ...\n"}, "from icl_lib.typed import refuse\n"


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Return the digest of ``Thing`` in a library of given files, read anew each time; what was read of ours stays known."""
    monkeypatch.setitem(sys.modules, "icl_lib", SimpleNamespace(__file__=str(tmp_path / "icl_lib" / "__init__.py")))

    def digest(files: dict[str, str]) -> str:
        for name in ("read", "written", "reached", "digest"):
            monkeypatch.setattr(identity, name, cache(getattr(identity, name).__wrapped__))
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return identity.digest(identity.reached(Definition("icl_lib.top", "Thing")))

    return digest


def edited(file: str, old: str, new: str) -> dict[str, str]:
    assert old in PLAIN[file]
    return PLAIN | {file: PLAIN[file].replace(old, new)}


EXPECTING = edited(TOP, "    def run", "    @expectation\n    def expect(self):\n        return OTHER\n\n    def run")
SAME = {
    "a comment": edited(PARTS, "    return FACTOR", "    # why\n    return FACTOR"),
    "a comment behind code": edited(PARTS, "FACTOR = 2", "FACTOR = 2  # two"),
    "a docstring": edited(PARTS, "    return FACTOR", '    """Twice x."""\n    return FACTOR'),
    "a line break": edited(PARTS, "FACTOR * x", "(\n        FACTOR\n        * x\n    )"),
    "an annotation": edited(PARTS, "double(x)", "double(x: float) -> float"),
    "a field's annotation": edited(TOP, "size: int", "size: float"),
    "an unused definition": edited(PARTS, "return 0", "return 1"),
    "an unused constant": edited(TOP, "OTHER = 4", "OTHER = 5"),
    "another way to import": edited(TOP, "import numpy as np", "import numpy as np, math"),
    "a name for an import": edited(TOP, "double, unused", "double as twice").copy()
    | {TOP: PLAIN[TOP].replace("double, unused", "double as twice").replace("double(S", "twice(S")},
    "a moved function": {
        TOP: PLAIN[TOP],
        PARTS: "from icl_lib.elsewhere.deep import double\n\ndef half(x):\n    return x / 2\n",
        "icl_lib/elsewhere/__init__.py": "",
        "icl_lib/elsewhere/deep.py": "FACTOR = 2\n\ndef double(x):\n    return FACTOR * x\n",
    },
    "an expectation": EXPECTING
    | {TOP: "from icl_lib.companion import expectation\n" + EXPECTING[TOP], "icl_lib/companion/__init__.py": ""},
    "a refusal": REFUSING
    | {PARTS: REFUSED + PLAIN[PARTS].replace("    return FACTOR", "    refuse(unused(x), 'so')\n    return FACTOR")},
    "a refusal of values": REFUSING
    | {
        TOP: REFUSED
        + PLAIN[TOP].replace("    def run", "    def __post_init__(self):\n        refuse(OTHER, '')\n\n    def run")
    },
}
OTHER = {
    "a constant that is used": edited(PARTS, "FACTOR = 2", "FACTOR = 3"),
    "a sign": edited(PARTS, "FACTOR * x", "-FACTOR * x"),
    "a namesake": edited(TOP, "from icl_lib.parts import double", "from icl_lib.more import double")
    | {"icl_lib/more.py": "def double(x):\n    return x + x\n"},
    "a namesake from outside": edited(TOP, "import numpy as np", "import torch as np"),
    "a loose statement": edited(PARTS, "FACTOR = 2", "FACTOR = 2\nprint(FACTOR)"),
    "a default": edited(PARTS, "half(x)", "half(x=1)"),
    "a field": edited(TOP, "size: int", "length: int"),
    "what a function imports": edited(TOP, "        return np", "        from icl_lib.parts import unused\n        return np"),
    "a decorator": edited(PARTS, "def half", "@staticmethod\ndef half"),
    "what a namesake marks as expectation": EXPECTING,
    "a refusal by a namesake": edited(PARTS, "def half(x):", "def refuse(x):\n    x[0] = 0\n\ndef half(x):\n    refuse(x)"),
    "what a refusal gives": REFUSING | {PARTS: REFUSED + PLAIN[PARTS].replace("x / 2", "refuse(x, '')")},
    "more than a refusal of values": REFUSING
    | {TOP: REFUSED + PLAIN[TOP].replace("    def run", "    def __post_init__(self):\n        self.size = 1\n\n    def run")},
}


@pytest.mark.parametrize("change", SAME)
def test_words_places_and_what_is_not_used_do_not_count(library, change):
    before = library(PLAIN)
    assert library(SAME[change]) == before


@pytest.mark.parametrize("change", OTHER)
def test_whatever_a_run_may_use_counts(library, change):
    before = library(PLAIN)
    assert library(OTHER[change]) != before


BODY = "\n\nclass Thing:\n    def run(self, seed):\n        {inside}return {what}(3)\n"
IMPORTS = {
    "from the same package": ("from .parts import double", "", "double"),
    "a module of the same package": ("from . import parts", "", "parts.double"),
    "another name": ("from .parts import double as twice", "", "twice"),
    "from the same package, inside": ("", "from .parts import double\n        ", "double"),
    "a module, inside": ("", "import icl_lib.parts\n        ", "icl_lib.parts.double"),
    "where another package is missing": (
        "try:\n    from fast import double\nexcept ImportError:\n    from .parts import double",
        "",
        "double",
    ),
    "where another package is missing, a module": (
        "try:\n    import fast as parts\nexcept ImportError:\n    import icl_lib.parts as parts",
        "",
        "parts.double",
    ),
}


@pytest.mark.parametrize("form", IMPORTS)
def test_code_counts_however_it_is_imported(library, form):
    above, inside, what = IMPORTS[form]
    files = PLAIN | {TOP: above + BODY.format(inside=inside, what=what)}
    found = library(files)
    assert library(files | {PARTS: PLAIN[PARTS].replace("FACTOR = 2", "FACTOR = 3")}) != found
    assert library(files | {PARTS: PLAIN[PARTS] + "\n\n# a comment\n"}) == found


def test_the_name_under_which_a_function_imports_something_counts(library):
    importing = "from .parts import double as {}, half as {}\n        "
    one, other = (BODY.format(inside=importing.format(*names), what="f") for names in ("fg", "gf"))
    assert library(PLAIN | {TOP: one}) != library(PLAIN | {TOP: other})
    module = "import icl_lib.parts as {}, icl_lib.other as {}\n        "
    one, other = (BODY.format(inside=module.format(*names), what="f.double") for names in ("fg", "gf"))
    files = PLAIN | {"icl_lib/other.py": "def double(x):\n    return x\n"}
    assert library(files | {TOP: one}) != library(files | {TOP: other})


def test_a_star_of_ours_is_refused(library):
    with pytest.raises(ValueError, match=r"icl_lib.top imports all of icl_lib.parts: name what it needs"):
        library(PLAIN | {TOP: "from icl_lib.parts import *" + BODY.format(inside="", what="double")})
    library(PLAIN | {TOP: "from numpy import *" + BODY.format(inside="", what="sin")})


def test_names_bound_within_hide_those_of_the_module(library):
    hiding = edited(PARTS, "def half(x):\n    return x / 2", "def half(double):\n    return sum(FACTOR for FACTOR in double)")
    library(hiding)
    assert identity.reached(Definition("icl_lib.parts", "half")) == (Definition("icl_lib.parts", "half"),)
    library(edited(TOP, "size: int", "parts: int\n    double: int = 2"))
    assert Definition("icl_lib.parts", "unused") not in identity.reached(Definition("icl_lib.top", "Thing"))


@pytest.mark.parametrize(
    "half",
    [
        "(x, COUNT=COUNT):\n    return x / COUNT",
        "(x):\n    return [x for COUNT in range(COUNT)]",
        "(x, key=lambda COUNT: COUNT):\n    return key(x) / COUNT",
    ],
)
def test_what_is_evaluated_before_a_scope_is_entered_is_hidden_by_none_of_its_names(library, half):
    files = PLAIN | {PARTS: "COUNT = 2\n\n" + PLAIN[PARTS].replace("(x):\n    return x / 2", half)}
    found = library(files)
    assert library(files | {PARTS: files[PARTS].replace("COUNT = 2", "COUNT = 3")}) != found


def test_an_argument_that_is_called_refuse_refuses_nothing(library):
    files = REFUSING | {PARTS: REFUSED + PLAIN[PARTS].replace("half(x):\n", "half(x, refuse):\n    refuse(x)\n")}
    found = library(files)
    assert library(files | {PARTS: files[PARTS].replace("    refuse(x)\n", "")}) != found


def test_a_module_that_is_handed_on_counts_as_a_whole(library):
    handed = edited(TOP, "parts.half(seed)", "getattr(parts, seed)(seed)")
    before = library(handed)
    assert library(handed | {PARTS: PLAIN[PARTS].replace("return 0", "return 1")}) != before


def test_functions_that_call_each_other_are_told_apart(library):
    pair = "\ndef even(n):\n    return n == 0 or odd(n - 1)\n\ndef odd(n):\n    return n != 0 and even(n - 1)\n"
    calling = {TOP: PLAIN[TOP].replace("double, unused", "double, even").replace("double(SCALE)", "even(SCALE)")}
    before = library(PLAIN | calling | {PARTS: PLAIN[PARTS] + pair})
    assert library(PLAIN | calling | {PARTS: PLAIN[PARTS] + pair.replace("n == 0 or", "n == 1 or")}) != before


@dataclasses.dataclass(frozen=True)
class Part:
    size: int


@dataclasses.dataclass(frozen=True)
class Whole:
    part: Part
    others: tuple[Part, ...]


def test_the_origin_names_all_that_determines_a_result(monkeypatch):
    monkeypatch.setattr(identity, "definitions", lambda declaration: ())
    whole = Whole(Part(1), (Part(2), Part(3)))
    assert [type(part).__name__ for part in identity.parts(whole)] == ["Whole", "Part", "Part", "Part"]
    first = origins.origin(whole, 0, "cpu", {"net": "a"})
    assert json.loads(first["versions"]).keys() == {"torch", "numpy", "scipy"}
    assert not any("+" in version for version in json.loads(first["versions"]).values())
    others = [
        origins.origin(dataclasses.replace(whole, part=Part(5)), 0, "cpu", {"net": "a"}),
        origins.origin(whole, 1, "cpu", {"net": "a"}),
        origins.origin(whole, 0, "cuda", {"net": "a"}),
        origins.origin(whole, 0, "cpu", {"net": "b"}),
    ]
    monkeypatch.setattr(origins, "versions", lambda declaration: {"torch": "2.14.0"})
    others.append(origins.origin(whole, 0, "cpu", {"net": "a"}))
    assert len({first["identity"], *(other["identity"] for other in others)}) == 6


@pytest.mark.parametrize("given", [Part, [Part(1)], 3])
def test_what_is_no_declaration_has_no_code(given):
    with pytest.raises(ValueError, match="is no declaration: give an instance of a dataclass"):
        identity.code(given)


def test_classical_learners_bring_their_package():
    assert "scikit-learn" in origins.versions(registry.experiment("li-classical").full)
    assert "scikit-learn" not in origins.versions(registry.experiment("zhang-risk").full)


@pytest.mark.long
def test_a_package_that_is_imported_late_counts_where_it_computes(monkeypatch):
    """Of results and of networks; where it is missing, what is stored can be read all the same."""
    late = {name for name, each in registry.TRAININGS.items() if "transformers" in origins.versions(each)}
    late |= {name for name, each in registry.EXPERIMENTS.items() if "transformers" in origins.versions(each.full)}
    models = {"recall-llama", "recall-gpt2", "dherin-model-classes", "dherin-model-capacity", "dherin-recall"}
    assert late == models

    def missing(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert origins._version.__wrapped__("transformers") == "missing"


def test_theory_counts_only_where_it_builds_a_model():
    found = identity.definitions(registry.experiment("zhang-risk").full)
    assert {d.name for d in found if ".theory." in d.module} == {"W_PV_limit", "W_KQ_limit", "Gamma"}


TRACED = """
import json, sys, threading
from icl_lib.companion import identity; from papers import registry
for words in sys.argv[1:]:
    slug, *settings = words.split()
    experiment, called = registry.experiment(slug).with_settings("quick", settings), set()

    def note(frame, event, argument):
        if event == "call" and frame.f_globals.get("__name__", "").startswith(("icl_lib.", "papers.")):
            called.add((frame.f_globals["__name__"], frame.f_code.co_qualname.split(".")[0]))  # dataclass makes __create_fn__

    sys.setprofile(note)
    experiment.quick.run(0, "cpu")
    sys.setprofile(None)
    known = {tuple(each) for each in identity.definitions(experiment.quick)}
    asked = {identity.REFUSAL[1], "_count", "unread", "undrawn", "unmet", "_unmet", "_unasked", "_beyond", "_unfit"}
    outside = [each for each in called - known if not identity.carries(each[0]) and each[1] not in {"__create_fn__", *asked}]
    print(json.dumps([slug, len(called), sorted(outside)]))
"""


@pytest.mark.long
def test_a_run_calls_nothing_outside_its_identity():
    """Module level code, such as constants made by a function, has run before. Refusals, and what they ask, are outside."""
    slugs = ["zhang-quadratic-form", "zhang-rank-one-trap", "dherin-rank-one", "li-first-push seeds=2 base.T=10"]
    command, environment = [sys.executable, "-c", TRACED, *slugs], os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    for slug, line in zip([each.split()[0] for each in slugs], done.stdout.splitlines(), strict=True):
        named, called, outside = json.loads(line)
        assert (named, outside) == (slug, []) and called > 3
