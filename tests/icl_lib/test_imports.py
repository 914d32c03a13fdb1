"""Importing does nothing, nobody touches a global random generator, and packages ask for what they import."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from icl_lib.needed import RANGES

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(file for package in ("icl_lib", "papers") for file in (ROOT / package).rglob("*.py"))

NAMES = {"sklearn": "scikit-learn", "IPython": "ipython", "annotated_types": "annotated-types"}
"""How a package is called where its import has another name."""
ASKED = {
    package: [Requirement(line) for line in (ROOT / package / RANGES).read_text().splitlines() if not line.startswith("#")]
    for package in ("icl_lib", "papers")
}
IMPORT = re.compile(r"^ *(?:from (\w+)[\w.]* import|import (\w+))", re.MULTILINE)
OPTIONAL = {"distributed", "transformers"}
"""What the wings take where it is there."""

SCRIPT = """
import importlib, pkgutil, random, numpy, torch
import sklearn.linear_model, sklearn.neighbors, sklearn.svm  # draw names for temporary files when imported

def check(what):
    assert torch.equal(before[0], torch.get_rng_state()), f"{what} used torch's global generator"
    assert numpy.random.get_state()[1].tolist() == before[1], f"{what} used numpy's global generator"
    assert random.getstate() == before[2], f"{what} used Python's global generator"

before = torch.get_rng_state(), numpy.random.get_state()[1].tolist(), random.getstate()
import icl_lib, papers
for package in (icl_lib, papers):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
check("importing")

from papers.zhang.s1_introduction import one_step
from papers.zhang.s3_preliminaries import attention, population_loss, two_notions
from papers.zhang.s4_1_convergence import risk
attention.Attention((2,), (3,), 10.0, 2, 2, 7.0).run(0, "cpu")
one_step.OneStep((2,), 2.0, (10.0,), (3,), 10, (4, 5), 3).run(0, "cpu")
population_loss.PopulationLoss((2,), 5.0, (3,), 100, 10, (0.1,), 2).run(0, "cpu")
two_notions.TwoNotions((2,), (1.0, 10.0), (3,), (4, 5), 3, 6, 10).run(0, "cpu")
risk.Risk((2,), 2.0, 10.0, 0.5, (3,), (4,), 10).run(0, "cpu")
check("running an experiment")

from papers.li.classifiers import GaussianSVM, LinearSVM, LogisticRegression, NearestNeighbours
from papers.li.trained import A
from icl_lib.seeds import stream
from papers.li.task_sets import all_tasks
prompts = A.law(all_tasks(6), 0.8).sample(stream(0, "prompts"), (5,), 8)
for learner in (GaussianSVM(), LinearSVM(), LogisticRegression(), NearestNeighbours(3)):
    learner(prompts)
check("a classical learner")
"""

GLOBAL_DRAWS = {
    *(
        "rand",
        "randn",
        "randint",
        "randperm",
        "normal",
        "bernoulli",
        "multinomial",
        "poisson",
        "rand_like",
        "randn_like",
    ),
    *("normal_", "uniform_", "exponential_", "bernoulli_", "cauchy_", "log_normal_", "geometric_", "random_"),
}


@pytest.mark.long
def test_global_generators_are_left_alone_and_importing_is_silent():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_draw_names_its_generator(file):
    """The source itself: no seeding but in seeds.py, no numpy.random, no draw of torch without ``generator=``."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        where = f"{file.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            assert not names & {"random", "numpy.random"}, f"{where} imports a global generator"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("np", "random"), ("numpy", "random")}, f"{where} uses numpy.random"
            seeds = node.attr in ("manual_seed", "seed") and node.value.id in ("torch", "cuda")
            assert not seeds, f"{where} seeds the global generator"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GLOBAL_DRAWS:
            named = any(keyword.arg == "generator" for keyword in node.keywords)
            assert named, f"{where} draws from the global generator"


def imported(package: str) -> set[str]:
    """What a package imports that is not of ours or of Python's, by the names of its distributions."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")]
    named = {"".join(names) for text in texts for names in IMPORT.findall(text)}
    return {NAMES.get(name, name) for name in named - {*ASKED, *sys.stdlib_module_names}}


def test_they_ask_for_what_they_import_and_the_pins_of_the_book_are_within():
    names = {package: {each.name for each in asked} for package, asked in ASKED.items()}
    assert names == {"icl_lib": (library := imported("icl_lib")), "papers": imported("papers") - library - OPTIONAL}
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().split() if "==" in line)
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    assert all(each.specifier.contains(pins[each.name]) for asked in ASKED.values() for each in asked)
