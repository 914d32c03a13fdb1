"""The house as it is drawn: what rooms, claims, figures and theory may import."""

import importlib
import sys

import grimp
import pytest

from icl_lib.companion import Claim, Drawing, Minute
from icl_lib.companion.paper import declared
from papers import registry

GRAPH = grimp.build_graph("icl_lib", "papers", include_external_packages=True)
OURS = ("icl_lib", "papers")
ROOMS = [f"papers.{key}.{room}" for key, rooms in registry.ROOMS.items() for room in rooms]
CLAIMS, FIGURES = (Claim, Minute), (Drawing,)
"""What a room says about its results, by what may be imported for it."""
DIAGRAMS = sorted(name for name in GRAPH.modules if name.startswith("papers.") and "diagrams" in name)


def room_of(module: str) -> str | None:
    return next((room for room in ROOMS if f"{module}.".startswith(f"{room}.")), None)


def imported(module: str) -> set[str]:
    """Direct imports from our packages."""
    return {other for other in GRAPH.find_modules_directly_imported_by(module) if other.split(".")[0] in OURS}


def outside(module: str) -> set[str]:
    """Packages that are neither ours nor Python's, imported directly."""
    found = {other.split(".")[0] for other in GRAPH.find_modules_directly_imported_by(module)}
    return found - {*OURS, *sys.stdlib_module_names}


def sees_a_dataset(module: str, allowed: set[str]) -> bool:
    """Whether a module, and what it imports from its own wing, uses the nouns of a companion and these packages only."""
    if module.startswith("icl_lib.companion"):
        return True
    return (
        module.startswith("papers.")
        and outside(module) <= allowed
        and all(sees_a_dataset(other, allowed) for other in imported(module))
    )


def that_declare(kinds: tuple[type, ...]) -> list[str]:
    modules = [importlib.import_module(name) for name in sorted(GRAPH.modules) if room_of(name)]
    return [each.__name__ for each in modules if any(declared([each], kind) for kind in kinds)]


def test_no_module_outside_imports_a_room():
    """The registry finds rooms by their folders; what two of them need stands in the wing, or in a floor below."""
    shared = [name for name in GRAPH.modules if name.split(".")[0] in OURS and not room_of(name)]
    assert not [(name, other) for name in shared for other in imported(name) if room_of(other)]


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_another(room):
    for module in GRAPH.find_descendants(room):
        others = {room_of(other) for other in imported(module)} - {None, room}
        assert not others, f"{module} imports {sorted(others)}: what two rooms need stands in the wing"


@pytest.mark.parametrize("module", that_declare(CLAIMS))
def test_claims_see_a_dataset_and_nothing_else(module):
    assert sees_a_dataset(module, {"numpy", "xarray"}), f"{module} imports {sorted(imported(module) | outside(module))}"


@pytest.mark.parametrize("module", that_declare(FIGURES))
def test_figures_see_a_dataset_and_nothing_else(module):
    allowed = {"numpy", "xarray", "matplotlib"}
    assert sees_a_dataset(module, allowed), f"{module} imports {sorted(imported(module) | outside(module))}"


@pytest.mark.parametrize("module", DIAGRAMS)
def test_diagrams_see_shapes_and_theory(module):
    """No result, no model and no data: what is drawn is the form of a model."""
    assert all(other.startswith("icl_lib.companion") or ".theory" in other for other in imported(module))
    assert room_of(module) and outside(module) <= {"numpy", "matplotlib"}


@pytest.mark.parametrize("module", sorted(name for name in GRAPH.modules if ".theory" in name))
def test_theory_imports_nothing_of_ours_but_theory_of_its_paper(module):
    wing = ".".join(module.split(".")[:2])
    others = [other for other in imported(module) if not other.startswith(f"{wing}.theory")]
    assert not others, f"{module} imports {others}: theory rests on theory of its wing alone"


def test_every_kind_is_found():
    assert len(that_declare(CLAIMS)) > 60 and len(that_declare(FIGURES)) > 30 and len(ROOMS) > 30 and len(DIAGRAMS) == 3


@pytest.mark.parametrize("package", ["icl_lib", *sorted(name for name in GRAPH.modules if name.endswith(".theory"))])
def test_a_package_names_what_it_holds(package):
    told = importlib.import_module(package).__doc__
    assert not [name for each in GRAPH.find_children(package) if f"``{(name := each.rpartition('.')[2])}``" not in told]
