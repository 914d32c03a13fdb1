"""In the test run every shape and type in the library's signatures is checked at every call."""

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

typechecked = beartype(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as in PEP 484

FLOORS = (
    *("tasks", "models", "baselines", "classifiers", "regressors", "theory", "recording"),
    *("train", "flow", "measure", "results", "patches", "weights", "experiments", "sweep", "claims", "figures"),
)
install_import_hook([f"icl_lib.{floor}" for floor in FLOORS], "conftest.typechecked")
