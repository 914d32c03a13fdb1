"""In the test run every shape and type in our signatures is checked at every call."""

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as in PEP 484

FLOORS = ("companion", "measure", "models", "patches", "tasks", "train")  # seeds checks its arguments itself
install_import_hook([*(f"icl_lib.{floor}" for floor in FLOORS), "papers"], "conftest.typechecked")
