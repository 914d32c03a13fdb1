"""Installed: a wheel of the library alone runs the examples of its README, one of the whole the notebooks, in any folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "icl_lib" / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
OFFLINE = ["--no-deps", "--no-index"]
NOTEBOOK = "zhang_1_introduction"
SHELL = "from IPython.core.interactiveshell import InteractiveShell as S; S.instance(colors='nocolor').run_cell({!r})"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> Path:
    """A folder with both wheels, in that of the whole the stored result of one notebook."""
    root, folder = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheels")
    for package in ("icl_lib", "papers"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "book/data/zhang-one-step.full.nc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    subprocess.run([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", folder, root, root / "icl_lib"], check=True)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory, wheels) -> Path:
    """The Python of a new environment with the wheel in it; what the library asks for is seen, this checkout is not."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([*PIP, "--python", python, "install", *OFFLINE, *wheels.glob("icl_lib-*.whl")], check=True)
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())
    others = f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})\n"  # its .pth files, this checkout, do not count
    (packages / "others.pth").write_text(others)
    return python


@pytest.fixture(scope="module")
def packages(tmp_path_factory, wheels) -> Path:
    """A folder of packages with the whole."""
    folder = tmp_path_factory.mktemp("whole") / "of-any-name"
    subprocess.run([*PIP, "install", *OFFLINE, "--target", folder, *wheels.glob("icl_companion-*.whl")], check=True)
    return folder


def said(python: Path, code: str, folder: Path, *path: Path) -> str:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "MPLBACKEND": "agg"}
    env.pop("VIRTUAL_ENV", None)  # IPython would bring in what is installed there, this checkout among it
    done = subprocess.run([python, "-c", code], cwd=folder, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def code_cells(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_what_sources_are_packed_is_the_whole_library_under_any_name_of_its_folder(tmp_path):
    folder = tmp_path / "of any name"
    shutil.copytree(ROOT / "icl_lib", folder, ignore=shutil.ignore_patterns("__pycache__"))
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True)
    (sources,) = tmp_path.glob("icl_lib-*.tar.gz")
    gone = tmp_path / "_build" / "wheel_of_icl_lib" / "lib" / "icl_lib" / "gone.py"  # an earlier build left it beside
    gone.parent.mkdir(parents=True)
    gone.touch()
    command = [*PIP, "wheel", *OFFLINE, "--no-build-isolation", "-w", tmp_path, sources]
    subprocess.run(command, check=True, env=os.environ | {"TMPDIR": str(tmp_path)})
    with zipfile.ZipFile(*tmp_path.glob("icl_lib-*.whl")) as wheel:
        packed = {name for name in wheel.namelist() if name.endswith(".py")}
    assert packed == {path.relative_to(ROOT).as_posix() for path in (ROOT / "icl_lib").rglob("*.py")}


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
    assert found.startswith("T1: holds") and "\nT2: holds" in found and found.count("control fails") == 2
    assert said(python, EXAMPLES[2].replace("drawn.mean()", "1 + drawn.mean()"), tmp_path).startswith("T1: fails")
    with pytest.raises(AssertionError, match="Misdeclared: T1: its margin is '0.1': take a number"):
        said(python, re.sub(r"margin=[\d.]+", "margin='0.1'", EXAMPLES[2]), tmp_path)


def test_an_experiment_of_a_script_shows_itself_and_runs_with_other_settings(python, tmp_path):
    found = said(python, EXAMPLES[3], tmp_path)
    assert (
        found.startswith("means: Means\n") and "draws | 1000  | 1000000 | a whole number of at least 1 | in each mean" in found
    )
    assert "mean | mean of standard normals | 1    | place (20)" in found
    with pytest.raises(AssertionError, match="Refused: the seed is '7': take a whole number of at least 0"):
        said(python, EXAMPLES[3].replace("seed=7", "seed='7'"), tmp_path)
    refused = EXAMPLES[3].replace("but(draws=10)", "but(draws=0)").replace("show(", "print(").replace("described(", "(")
    with pytest.raises(AssertionError, match="Refused: draws is 0: take a whole number of at least 1"):
        said(python, refused, tmp_path)


def test_a_book_of_ones_own_stores_a_result_that_answers_for_its_code(python, tmp_path):
    files = {re.match(r"# (\S+)\n", text)[1]: text for text in EXAMPLES[4:]}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    picture, claim = said(python, files["script.py"], tmp_path, tmp_path).split("\n", 1)
    assert "Two bars, a half and a sixth." in picture and claim.startswith("C1: holds")
    assert (tmp_path / "results" / "toss.full.nc").exists()
    shown = f"{files['test_claims.py']}\n{{}}\nfrom icl_lib.companion import in_one_minute\nin_one_minute(TOSS, 'full')"
    told = said(python, shown.format("test_the_verdict_is_the_recorded_one_and_the_control_fails()"), tmp_path, tmp_path)
    assert "Yes, C1 (holds); it shows heads ⟨50.0%⟩ of the time." in told
    code, room = files["script.py"].replace("results.save", "print"), tmp_path / "toys" / "coins" / "s1_tosses" / "toss.py"
    for other, outdated in (("((coin) == 1)", False), ("(coin == 0)", True)):
        room.write_text(files["toys/coins/s1_tosses/toss.py"].replace("(coin == 1)", other))
        told = said(python, f"try:\n    exec({code!r})\nexcept RuntimeError as error:\n    print(error)", tmp_path, tmp_path)
        assert told.strip().endswith("computing it and saving it there makes it anew") == outdated


def test_a_notebook_runs_in_any_folder_and_finds_what_is_stored(python, packages, tmp_path):
    cells = "\n".join(code_cells(ROOT / "notebooks" / f"{NOTEBOOK}.ipynb")).replace('profile = "quick"', 'profile = "full"')
    told = "\nfrom icl_lib.companion import results\nfrom papers import BOOK, registry\n"
    told += "print(BOOK.store, BOOK.build, results.commit(BOOK))\nprint(repr(registry.experiment('zhang-one-step')))"
    (*_, where), shown = (
        part.split("\n") for part in said(python, cells + told, tmp_path, packages).split("\nzhang-one-step: ")
    )
    store, build, commit = where.split()
    assert (Path(store), Path(build), commit) == (packages / "book" / "data", tmp_path / "_build", "unknown")
    assert "python -m papers figure zhang-one-step --seed 7" in shown


def test_stored_results_of_other_versions_are_read_where_they_are_installed_and_this_is_told(python, packages, tmp_path):
    code = "from icl_lib.companion import origins, results\nfrom papers.zhang.s1_introduction.one_step import ONE_STEP\n"
    code += "origins.versions = lambda declaration: {'torch': '0'}\nimport sys; sys.stderr = sys.stdout\n"
    found = said(python, f"{code}results.stored(ONE_STEP); results.stored(ONE_STEP)", tmp_path, packages)
    assert re.fullmatch(r"What is stored was made with torch 2[\d.]+, numpy .*; here are torch 0\.\n", found)
    refused = said(python, f"{code}\ntry: results.stored(ONE_STEP)\nexcept results.StaleResult as e: print(e)", tmp_path, ROOT)
    assert refused.startswith("zhang-one-step.full.nc is outdated: its versions torch is")


def test_a_notebook_says_in_one_line_what_is_missing(python, tmp_path):
    check = SHELL.format(code_cells(ROOT / "notebooks" / f"{NOTEBOOK}.ipynb")[1])
    told = ": run %pip install BOOK, with the book's folder or git+ADDRESS for BOOK, and restart the kernel."
    assert said(python, check, tmp_path).strip() == f"papers is missing{told}"
    old = tmp_path / "numpy-1.26.4.dist-info"
    old.mkdir()
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.4\n")
    found = said(python, check, tmp_path, tmp_path, ROOT).strip()
    assert found == f"numpy<3,>=2.0 is needed, not 1.26.4{told}"
    nowhere = said(python, f"import sys; sys.modules['icl_lib'] = None\n{check}", tmp_path).strip()
    assert nowhere.endswith(told) and "icl_lib" in nowhere and "\n" not in nowhere


def test_every_notebook_begins_with_the_same_check():
    imports = [code_cells(path)[1] for path in (ROOT / "notebooks").glob("*.ipynb")]
    (check,) = {cell.partition("    raise\n\n")[0] for cell in imports}
    assert check.startswith("try:") and len(check.splitlines()) == 7
