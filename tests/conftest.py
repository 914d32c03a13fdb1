"""In the test run every shape and type in our signatures is checked at every call."""

from collections.abc import Callable
from functools import cache

import pytest
from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as in PEP 484

FLOORS = ("companion", "measure", "models", "patches", "tasks", "train")  # seeds checks its arguments itself
install_import_hook([*(f"icl_lib.{floor}" for floor in FLOORS), "papers"], "conftest.typechecked")


@cache
def _stored(slug: str):
    from icl_lib.companion import results  # after the hook above
    from papers import registry

    experiment = registry.experiment(slug)
    return experiment.expect(results.stored(experiment))


@pytest.fixture
def stored() -> Callable:
    """The stored full result of a slug, with what is expected beside what was measured."""
    return lambda slug: _stored(slug).copy(deep=True)
