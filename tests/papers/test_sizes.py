"""Every formula is measured at two values at least of each dimension, length and count in it: or d + 5 may be 2d + 2.

What its sizes are is read off the theory: whole numbers among the arguments, and the axes that signatures name, of each
function that an expectation calls. A value counts where the number that the claim is judged by moves when what the function
returns at that value is another. An experiment declares what has one value in it, in a line of its docstring:
``One size: NAMES: reason.``
"""

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cache, partial, wraps
from types import FunctionType

import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import Claim
from papers import registry
from tests.papers.test_streams import small

pytestmark = pytest.mark.long

ONE = re.compile(r"One size: ([^:]+): \S")
"""The line by which an experiment declares sizes of which it has one value."""
FORMULAS: dict[str, list[Claim]] = defaultdict(list)
for _claim in registry.CLAIMS.values():
    if _claim.kind == "formula":
        FORMULAS[_claim.experiment].append(_claim)


def theory() -> Iterator[tuple[object, str, FunctionType]]:
    """Yield the functions of all theory, and the methods of its classes, with where they are held."""
    for name, module in list(sys.modules.items()):
        if name.startswith("papers.") and name.split(".")[2:3] == ["theory"]:
            for key, value in list(vars(module).items()):
                if isinstance(value, FunctionType) and value.__module__ == name:
                    yield module, key, value
                elif isinstance(value, type) and value.__module__ == name:
                    for part, held in list(vars(value).items()):
                        function = held.fget if isinstance(held, property) else held
                        if isinstance(function, FunctionType) and function.__module__ == name:
                            yield value, part, function


@cache
def signature(function: FunctionType) -> dict[str, list[str]]:
    """Return the parameters and the axes that are named in their annotations, the last first."""
    kinds = inspect.unwrap(function).__annotations__
    return {name: getattr(kinds.get(name), "dim_str", "").split()[::-1] for name in inspect.signature(function).parameters}


def sizes(function: FunctionType, arguments: tuple, named: dict) -> dict[str, int]:
    """Return the whole numbers among the arguments, and the lengths of the axes that the signature names."""
    found, axes = {}, signature(function)
    for name, value in [*zip(axes, arguments, strict=False), *named.items()]:
        if isinstance(value, np.ndarray):
            found |= {axis: size for axis, size in zip(axes[name], value.shape[::-1], strict=False) if axis.isidentifier()}
        else:
            fields = value._asdict() if hasattr(value, "_asdict") else {name: value}
            found |= {key: int(each) for key, each in fields.items() if isinstance(each, int | np.integer)}
    return found


@cache
def held() -> list[tuple[object, str, object, FunctionType]]:
    """Return what is held where of the functions of theory, and of the methods of its classes."""
    own, places = {function: holder for holder, _, function in theory() if not isinstance(holder, type)}, []
    for module in [module for name, module in sys.modules.items() if name.startswith("papers.")]:
        places += [
            (module, key, value, value)
            for key, value in vars(module).items()
            if isinstance(value, FunctionType) and value in own
        ]
    parts = [(holder, key, vars(holder)[key], function) for holder, key, function in theory() if isinstance(holder, type)]
    return places + parts


def changed(result):
    """Return what a function returns, a little larger."""
    if isinstance(result, tuple):
        return type(result)(*map(changed, result)) if hasattr(result, "_fields") else tuple(map(changed, result))
    return result * 1.01 if isinstance(result, float | np.ndarray) else result


Known = dict[object, tuple[object, dict[str, int]]]
"""What a function returned for its arguments, and the sizes among them."""


def content(value):
    """Return what tells the arguments of a function apart; raises TypeError where nothing does."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, tuple | list):
        return type(value), *map(content, value)
    hash(value)
    return type(value), value


@contextmanager
def seen(see: Callable[[FunctionType, dict[str, int], object], object], known: Known):
    """Let a function see every call that reaches theory from outside, and return what it makes of the result.

    A call with arguments that are known is not made again.
    """
    depth = 0

    def result_of(function: FunctionType, arguments: tuple, named: dict):
        nonlocal depth
        depth += 1
        try:
            return function(*arguments, **named)
        finally:
            depth -= 1

    def watched(function: FunctionType) -> FunctionType:
        @wraps(function)
        def call(*arguments, **named):
            if depth:
                return function(*arguments, **named)
            try:
                key = function, content(arguments), content([*named.items()])
            except TypeError:
                return see(function, sizes(function, arguments, named), result_of(function, arguments, named))
            if key not in known:
                known[key] = result_of(function, arguments, named), sizes(function, arguments, named)
            result, at = known[key]
            return see(function, at, copy(result))

        return call

    with pytest.MonkeyPatch.context() as patch:
        for holder, key, value, function in held():
            patch.setattr(holder, key, property(watched(function)) if isinstance(value, property) else watched(function))
        yield


def single(expect: Callable[[], xr.Dataset], claims: list[Claim]) -> set[str]:
    """Return the sizes of which one value alone reaches what the claims are judged by."""

    def judged() -> list[np.ndarray]:
        dataset = expect()
        found = [claim.check(dataset) for claim in claims]
        return [np.asarray(each.measured - each.expected) for each in found]

    def reaches(function: FunctionType, name: str = "", value: int = 0) -> bool:
        def see(called: FunctionType, at: dict[str, int], result):
            return changed(result) if called is function and (not name or at.get(name) == value) else result

        try:
            with seen(see, known):
                return any(not np.array_equal(*pair) for pair in zip(judged(), right, strict=True))
        except ValueError:  # other theory refuses it, so that a wrong one would be seen at once
            return False

    known: Known = {}
    values: dict[FunctionType, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))

    def note(called: FunctionType, at: dict[str, int], result):
        values[called].update()
        for name, value in at.items():
            values[called][name].add(value)
        return result

    with seen(note, known):
        right = judged()
    used = [function for function in values if reaches(function)]
    assert used, "no function of theory reaches what is judged"
    return {
        name
        for function in used
        for name, found in values[function].items()
        if sum(1 for _, _ in zip(filter(partial(reaches, function, name), sorted(found)), range(2), strict=False)) < 2
    }


def declared(experiment) -> set[str]:
    return {name for line in ONE.findall(inspect.getdoc(type(experiment.quick))) for name in line.split(", ")}


@pytest.mark.parametrize("slug", FORMULAS)
def test_formulas_are_measured_at_two_values_of_each_size(slug, stored):
    experiment = registry.experiment(slug)
    measured = stored(slug)
    assert single(lambda: experiment.expect(measured), FORMULAS[slug]) == declared(experiment)


@pytest.mark.parametrize("slug", FORMULAS)
def test_in_quick_as_well(slug):
    experiment = registry.experiment(slug)
    declaration = small(experiment.quick)
    measured = declaration.run(0, "cpu")
    assert single(lambda: declaration.expect(measured, 0), FORMULAS[slug]) == declared(experiment)


def test_one_dimension_is_seen():
    one = replace(registry.experiment("zhang-risk").quick, d=(5,), M=(5, 20), prompts=20)
    measured = one.run(0, "cpu")
    assert single(lambda: one.expect(measured, 0), FORMULAS["zhang-risk"]) == {"d"}
