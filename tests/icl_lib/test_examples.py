"""Every module of the library and of a paper's theory has an example, and it is true."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*ROOT.glob("icl_lib/**/*.py"), *ROOT.glob("papers/*/theory/*.py")])
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in FILES if path.name != "__init__.py"]


@pytest.mark.parametrize("module", MODULES)
def test_the_example_of_a_module_is_true(module):
    tried = doctest.testmod(importlib.import_module(module), report=False)
    assert tried.attempted and not tried.failed
