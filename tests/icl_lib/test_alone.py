"""The library alone: a wheel in an environment of its own runs the examples of its README and asks for what it imports."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "icl_lib" / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
NAMES = {"sklearn": "scikit-learn", "IPython": "ipython", "annotated_types": "annotated-types"}
"""How a package is called where its import has another name."""
ASKED = [Requirement(each) for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]]


@pytest.fixture(scope="module")
def python(tmp_path_factory) -> Path:
    """The Python of a new environment with the wheel in it; what the library asks for is seen, this checkout is not."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("environment")
    shutil.copytree(ROOT / "icl_lib", source / "icl_lib", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", source, source], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    (wheel,) = source.glob("*.whl")
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())
    others = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})\n"  # its .pth files, this checkout, do not count
    (packages / "others.pth").write_text(others)
    return python


def said(python: Path, code: str, folder: Path) -> str:
    done = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_library_and_no_paper(python, tmp_path):
    code = "import icl_lib, importlib.util as u; print(icl_lib.__file__, u.find_spec('papers'), u.find_spec('book'))"
    file, *others = said(python, code, tmp_path).split()
    assert Path(file).is_relative_to(python.parents[1]) and others == ["None", "None"]


def test_what_it_trains_is_the_inverse_of_Gamma(python, tmp_path):
    numbers = [float(each) for each in re.findall(r"-?\d\.\d+e[+-]\d+|-?\d\.\d+", said(python, EXAMPLES[0], tmp_path))]
    assert numbers == pytest.approx([1, 0, 0, 1], abs=0.02)


def test_the_patched_block_does_without_its_context(python, tmp_path):
    (error,) = re.findall(r"tensor\(([\d.e-]+)", said(python, EXAMPLES[1], tmp_path))
    assert float(error) < 1e-13


def test_a_claim_of_a_script_is_judged(python, tmp_path):
    found = said(python, EXAMPLES[2], tmp_path)
    assert found.startswith("T1: holds") and "control fails" in found
    assert said(python, EXAMPLES[2].replace("drawn.mean()", "1 + drawn.mean()"), tmp_path).startswith("T1: fails")


def test_an_experiment_of_a_script_shows_itself_and_runs_with_other_settings(python, tmp_path):
    found = said(python, EXAMPLES[3], tmp_path)
    assert (
        found.startswith("means: Means\n") and "draws | 1000  | 1000000 | a whole number of at least 1 | in each mean" in found
    )
    assert "mean | mean of standard normals | 1    | place (20)" in found
    refused = EXAMPLES[3].replace("but(draws=10)", "but(draws=0)").replace("show(", "print(").replace("described(", "(")
    with pytest.raises(AssertionError, match="ValueError: draws is 0: take a whole number of at least 1"):
        said(python, refused, tmp_path)


def test_it_asks_for_what_it_imports_and_the_pins_of_the_book_are_within():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "icl_lib").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    outside = {name.split(".")[0] for name in named} - {"icl_lib", *sys.stdlib_module_names}
    assert {NAMES.get(name, name) for name in outside} == {each.name for each in ASKED}
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().split() if "==" in line)
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    assert all(each.specifier.contains(pins[each.name]) for each in ASKED)
