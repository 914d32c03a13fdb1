"""What a declaration is: a frozen dataclass whose annotations say what its fields admit, checked when it is made."""

import operator
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import xarray as xr
from annotated_types import Ge, Gt, Le, Lt, MinLen

from icl_lib.companion.identity import expectation

T = TypeVar("T")
Count = Annotated[int, Ge(1)]
AtLeastTwo = Annotated[int, Ge(2)]
"""A count of what has a standard error."""
AtLeastThree = Annotated[int, Ge(3)]
Whole = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
PositiveShare = Annotated[float, Gt(0), Le(1)]
InnerShare = Annotated[float, Gt(0), Lt(1)]
"""Neither nothing nor all."""
Several = Annotated[tuple[T, ...], MinLen(1)]
"""A tuple of one or more: ``Several[Count]``."""

BOUNDS = {
    Ge: ("ge", "of at least", operator.ge),
    Gt: ("gt", "above", operator.gt),
    Le: ("le", "of at most", operator.le),
    Lt: ("lt", "below", operator.lt),
}
"""How each bound of ``annotated_types`` is called, is put in words, and is tested."""

PLAIN = {int: "a whole number", float: "a finite number", str: "a text", bool: "True or False", type(None): "nothing"}
"""Kinds of values that are no declarations, in words."""


class Declaration:
    """Base of frozen dataclasses whose fields are the paper's parameters; a field that is not admitted raises ValueError.

    Annotations are ``int``, ``float`` (finite), ``bool``, ``str``, ``Literal``, tuples, unions, other declarations, numbers
    ``Annotated`` with Ge, Gt, Le or Lt of ``annotated_types``, and texts and tuples with MinLen. What ties fields together
    stands in ``__post_init__``, after ``super().__post_init__()``.

    >>> from dataclasses import dataclass
    >>> from icl_lib.companion import Count, Declaration, Share
    >>> @dataclass(frozen=True)
    ... class Toss(Declaration):
    ...     tosses: Count
    ...     heads: Share
    >>> Toss(tosses=10, heads=1.5)
    Traceback (most recent call last):
    ValueError: heads is 1.5: take a finite number of at least 0 and of at most 1
    """

    def __init__(self, *values: object, **named: object):
        if values or named:
            raise TypeError(f"{type(self).__name__} is no dataclass: write @dataclass(frozen=True) above it")

    def __post_init__(self):
        kind = type(self)
        if get_annotations(kind) and "__dataclass_params__" not in vars(kind):
            raise TypeError(f"{kind.__name__} has fields and is no dataclass: write @dataclass(frozen=True) above it")
        if not kind.__dataclass_params__.frozen:
            raise TypeError(f"{kind.__name__} could be changed after it was checked: write @dataclass(frozen=True)")
        require_admitted(type(self), {field.name: getattr(self, field.name) for field in fields(self)})

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure; pure in the declaration, ``seed`` and ``device``. The dataset holds no theory."""
        raise NotImplementedError(f"{type(self).__name__} is a part of declarations and has no run of its own")

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Return what ``run`` measured with what theory and papers say beside it, as a result is loaded."""
        return dataset


def require_admitted(kind: type, values: Mapping[str, object]) -> None:
    """Raise ValueError in a sentence for a value that the annotation of a dataclass's field does not admit."""
    admitted = get_type_hints(kind, include_extras=True)
    for name, value in values.items():
        if not understood(admitted[name]):
            raise TypeError(f"{name} is annotated with {admitted[name]}: take one of those that Declaration lists")
        if not admits(admitted[name], value):
            shown = " ".join(repr(value).split())
            shown = shown if len(shown) < 80 else f"{shown[:80]}..."
            plain = f", as {value.item()!r} is" if isinstance(value, np.generic) else ""
            raise ValueError(f"{name} is {shown}: take {words(admitted[name])}{plain}")


def understood(annotation: Any) -> bool:
    """Say whether an annotation is one that a declaration can be checked by, and stored with."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        long = inner[0] is str or get_origin(inner[0]) is tuple
        fitting = MinLen if long else (*BOUNDS,) if inner[0] in (int, float) else ()
        return understood(inner[0]) and all(isinstance(bound, fitting) for bound in inner[1:])
    if kind in (Union, UnionType, tuple):
        return all(each is ... or understood(each) for each in inner)
    return kind is Literal or annotation in PLAIN or isinstance(annotation, type) and is_dataclass(annotation)


def admits(annotation: Any, value: object) -> bool:
    """Say whether an annotation admits a value."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return admits(inner[0], value) and all(_within(bound, value) for bound in inner[1:])
    if kind is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if kind in (Union, UnionType):
        return any(admits(each, value) for each in inner)
    if kind is tuple:
        each = inner[:1] * len(value) if inner[1:] == (...,) and isinstance(value, tuple) else inner
        return isinstance(value, tuple) and len(value) == len(each) and all(map(admits, each, value))
    if annotation is float:
        return type(value) in (int, float) and abs(value) <= sys.float_info.max  # and no NaN
    return type(value) is annotation if annotation in (int, bool, str) else isinstance(value, annotation)


def _within(bound, value) -> bool:
    if isinstance(bound, MinLen):
        return len(value) >= bound.min_length
    name, _, meets = BOUNDS[type(bound)]
    return meets(value, getattr(bound, name))


def words(annotation: Any) -> str:
    """Return what an annotation admits, in words."""
    kind, inner = get_origin(annotation), get_args(annotation)
    if kind is Annotated and isinstance(inner[1], MinLen):
        length = " of {} or more characters" if inner[0] is str else ", {} or more of them"
        return words(inner[0]) + length.format(max(bound.min_length for bound in inner[1:]))
    if kind is Annotated:
        bounds = [f"{BOUNDS[type(bound)][1]} {getattr(bound, BOUNDS[type(bound)][0]):.15g}" for bound in inner[1:]]
        return f"{words(inner[0])} {' and '.join(bounds)}"
    if kind is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if kind in (Union, UnionType):
        return " or ".join(map(words, inner))
    if kind is tuple:
        return f"a tuple, each {words(inner[0])}" if inner[1:] == (...,) else f"a tuple of {', '.join(map(words, inner))}"
    return PLAIN.get(annotation) or f"a {annotation.__name__}"
