"""The workflow that publishes the book: what it runs exists, in which order, and with which rights."""

import importlib.machinery
import importlib.util
import re
import shlex
from pathlib import Path

import pytest
import yaml

from book.builder import arguments, published_at
from book.builder.layout import Layout
from book.release import bundle

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / ".github" / "workflows" / "book.yml"
TEXT = FILE.read_text(encoding="utf-8")
WORKFLOW = yaml.BaseLoader(TEXT).get_single_data()  # to which `on` is a word
JOBS = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]
IN_A_BROWSER = " ".join(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/book").glob("test_browser*.py")))
PINNED = re.compile(r"actions/[a-z-]+@(v\d+|[0-9a-f]{40})")


def kind(step: dict) -> str:
    """The command of a step, or its action without the version."""
    return step.get("run") or step["uses"].partition("@")[0]


def step_of(job: str, named: str) -> dict:
    (found,) = (step for step in JOBS[job]["steps"] if kind(step) == named)
    return found


@pytest.fixture(scope="module")
def commands() -> tuple[str, ...]:
    """What the `run` script can be asked to do."""
    loader = importlib.machinery.SourceFileLoader("run_script", str(ROOT / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_script", loader))
    loader.exec_module(module)
    return module.JOBS


def test_it_runs_for_main_and_by_hand_and_for_nobody_else():
    assert WORKFLOW["on"] == {"push": {"branches": ["main"]}, "workflow_dispatch": ""}


@pytest.mark.parametrize("step", [step for step in STEPS if "run" in step], ids=lambda step: step["run"])
def test_every_command_exists(step, commands):
    python, script, job, *words = shlex.split(step["run"])
    assert (python, script) == ("python", "run") and job in commands
    reader = {"book": arguments.parse, "test": arguments.parse_test, "bundle": bundle.parse}[job]
    reader(*([words] if job == "bundle" else [words, ROOT]))  # it exits on a word or a file that it does not know


def test_the_steps_stand_in_order():
    assert [kind(step) for step in JOBS["build"]["steps"]] == [
        *["actions/checkout", "actions/setup-python", "python run test --all", "actions/configure-pages"],
        *["python run book --profile full", f"python run test {IN_A_BROWSER}", "python run bundle"],
        *["python run test tests/book/test_bundle.py", "actions/upload-artifact", "actions/upload-pages-artifact"],
    ]
    tests = ["actions/checkout", "actions/setup-python", "python run test --all"]
    assert [kind(step) for step in JOBS["newest"]["steps"]] == tests
    assert [kind(step) for step in JOBS["publish"]["steps"]] == ["actions/deploy-pages"]
    assert set(JOBS["publish"]["needs"]) == {"build", "newest"} == JOBS.keys() - {"publish"}


def test_only_what_publishes_may_write():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in JOBS.items() if "permissions" in job} == {
        "build": {"contents": "read", "pages": "read"},
        "publish": {"pages": "write", "id-token": "write"},
    }
    assert all(step["with"]["persist-credentials"] == "false" for step in STEPS if kind(step) == "actions/checkout")


def test_it_knows_no_secret_and_only_pinned_actions():
    assert not re.search(r"secrets|github\.token|GITHUB_TOKEN|https?://", TEXT)
    assert all(PINNED.fullmatch(step["uses"]) for step in STEPS if "uses" in step)
    expressions = set(re.findall(r"\$\{\{\s*(.*?)\s*\}\}", TEXT))
    assert expressions == {
        *["github.server_url", "github.repository"],
        *["steps.pages.outputs.base_url", "steps.deployment.outputs.page_url"],
    }


def test_the_addresses_are_those_that_the_build_reads():
    book = step_of("build", "python run book --profile full")
    assert book["env"].keys() == {published_at.REPOSITORY, published_at.PAGES}
    assert step_of("build", "actions/configure-pages")["id"] in book["env"][published_at.PAGES].split(".")
    uploaded = step_of("build", "actions/upload-pages-artifact")["with"]["path"]
    assert ROOT / uploaded == Layout(ROOT).html


def test_pip_is_cached_by_the_pins():
    setups = [step["with"] for step in STEPS if kind(step) == "actions/setup-python"]
    assert [each["python-version"] for each in setups] == ["3.11", "3.14"]
    assert all(each["cache"] == "pip" and (ROOT / each["cache-dependency-path"]).exists() for each in setups)


def test_one_publication_at_a_time_that_is_not_cut_short():
    assert WORKFLOW["concurrency"] == {"group": "pages", "cancel-in-progress": "false"}
    assert all(int(job["timeout-minutes"]) <= 90 for job in JOBS.values())
