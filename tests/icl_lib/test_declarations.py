"""What declarations admit: every field of every experiment, and what the command line says to bad input."""

import math
from copy import copy
from dataclasses import dataclass, fields
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import pytest
from annotated_types import Ge, Gt, Le, Lt, MinLen

from icl_lib.companion import Experiment, identity
from icl_lib.companion.declaration import Declaration, Share, admits, words
from papers import registry
from papers.__main__ import main

DECLARED = {
    f"{slug}.{profile}": getattr(experiment, profile)
    for slug, experiment in registry.EXPERIMENTS.items()
    for profile in ("quick", "full", "published")
    if getattr(experiment, profile)
}
PARTS = [part for declared in DECLARED.values() for part in identity.parts(declared)]
CLASSES = {type(part): part for part in PARTS if isinstance(part, Declaration)}
"""One instance of every class of declarations and of their parts."""
BAD = (0, -1, (), math.nan, 1.5, 0.0, -1.0)


def test_a_declaration_that_could_change_is_refused():
    @dataclass
    class Loose(Declaration):
        share: Share

    with pytest.raises(TypeError, match=r"Loose could be changed after it was checked: write @dataclass\(frozen=True\)"):
        Loose(0.5)


def bounds(annotation) -> tuple[object, list]:
    """Return the plain type of an annotation and its bounds."""
    if get_origin(annotation) is Annotated:
        inner, *own = get_args(annotation)
        kind, outer = bounds(inner)
        return kind, [*outer, *own]
    return annotation, []


def forbidden(annotation, value) -> bool:
    """Say whether a field must refuse a value: read off the annotation, apart from the code under test."""
    kind, own = bounds(annotation)
    if kind in (int, float):
        if isinstance(value, tuple) or (kind is int and isinstance(value, float)) or math.isnan(value):
            return True
        return any(
            (isinstance(b, Ge) and value < b.ge)
            or (isinstance(b, Gt) and value <= b.gt)
            or (isinstance(b, Le) and value > b.le)
            or (isinstance(b, Lt) and value >= b.lt)
            for b in own
        )
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        short = any(isinstance(b, MinLen) for b in own)
        entries = value if isinstance(value, tuple) else None
        return entries is None or (short and not entries) or any(forbidden(get_args(kind)[0], entry) for entry in entries)
    return kind is str or kind is bool or get_origin(kind) is Literal or value == () or get_origin(kind) is tuple


def refused(part, field: str, value) -> bool:
    """Say whether a declaration with this value is refused, by its own check and not by the test run's check of types."""
    changed = copy(part)
    object.__setattr__(changed, field, value)
    try:
        changed.__post_init__()
    except ValueError as error:
        assert "\n" not in str(error)
        return True
    return False


@pytest.mark.parametrize("part", CLASSES.values(), ids=lambda part: type(part).__name__)
def test_every_field_refuses_what_its_annotation_forbids(part):
    admitted = get_type_hints(type(part), include_extras=True)
    for field in fields(part):
        assert admitted[field.name] is not int and admitted[field.name] != tuple[int, ...], f"{field.name} has no bound"
        for value in (*BAD, *((bad,) for bad in BAD if bad != ())):
            if forbidden(admitted[field.name], value):
                assert refused(part, field.name, value), f"{field.name} takes {value!r}"


def test_every_experiment_is_declared_by_a_checked_class():
    assert len(DECLARED) >= 2 * len(registry.EXPERIMENTS) > 180
    assert all(isinstance(declaration, Declaration) for declaration in DECLARED.values())


def test_annotations_admit_and_put_in_words():
    assert admits(float, 3) and admits(Share, 1.0) and not admits(int, True) and not admits(Share, 1.1)
    assert admits(int | None, None) and not admits(float, math.inf) and not admits(tuple[int, float], (1,))
    assert words(Share) == "a finite number of at least 0 and of at most 1"
    assert words(Literal["a", "b"]) == "one of a, b"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "zhang-risk", "--set", "prompts=-5"], "prompts is -5: take a whole number of at least 1"),
        (["check", "zhang-risk", "--set", "N=0"], "N is (0,): take"),
        (
            ["check", "zhang-risk", "--set", "d=0"],
            "d is (0,): take a tuple, each a whole number of at least 1, 1 or more of them",
        ),
        (["check", "zhang-risk", "--set", "kappa=1e999"], "kappa is inf: take a finite number above 0"),
        (["check", "zhang-risk", "--seed", "-1"], "'-1' is no seed: write a whole number of at least 0"),
        (["sweep", "zhang-risk", "--seeds", "-1"], "'-1' names no seeds"),
    ],
)
def test_bad_input_gets_one_sentence_and_status_2(words, says, capsys):
    try:
        status = main(words)
    except SystemExit as stopped:
        status = stopped.code
    said = capsys.readouterr()
    assert status == 2 and not said.out
    assert says in said.err and said.err.count("\n") == 1


@dataclass(frozen=True)
class Walk(Declaration):
    """A declaration with a check of its own, which calls no other."""

    p: Share

    def __post_init__(self):
        pass


def test_a_check_of_its_own_does_not_switch_off_that_of_the_fields():
    with pytest.raises(ValueError, match="p is 1.5: take a finite number of at least 0 and of at most 1"):
        Experiment("toy-walk", "A walk", quick=Walk(1.5), full=Walk(1.5)).measure("quick", 0)
