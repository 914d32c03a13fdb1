"""No leak: in a run of an experiment every random stream is opened for one thing, and for nothing that trains.

A stream is named by its role. Numbers in it count for nothing here, so that one role holds all steps of a training. What
opens it is the line that made the name, however many functions pass the name on. Which streams are opened does not depend
on how much is drawn of them, so the runs are small ones. A role that several functions open on purpose is declared by the
experiment, in a line of its docstring: ``Shared stream: ROLE: reason.``
"""

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import fields, replace

import pytest
import torch

from icl_lib import seeds
from papers import registry

Opened = dict[str, set[str]]
TIMED = {"engine-roofline"}
"""Results that are times, of trainings whose losses nobody reads."""
SHARED = re.compile(r"Shared stream: ([^:]+): \S")
"""The line by which an experiment declares a role that several of its functions open."""
LARGE, SHARE, LEAST = 50, 50, 10
"""A number from ``LARGE`` on is divided by ``SHARE``, down to ``LEAST``."""


@contextmanager
def recorded(opened: Opened):
    """Collect the roles that are opened, and by whom."""
    original = seeds.stream

    def stream(seed: int, name: str, device: str | torch.device = "cpu") -> torch.Generator:
        opened[re.sub(r"\d+(\.\d+)?", "#", name)].add(opener(sys._getframe(1), name))
        return original(seed, name, device)

    with pytest.MonkeyPatch.context() as patch:
        for module in list(sys.modules.values()):
            if vars(module).get("stream") is original:
                patch.setattr(module, "stream", stream)
        yield


def opener(frame, name: str) -> str:
    """Return the function that made the name, and the line: who was given it passes it on.

    Wrappers of the test run do not count.
    """
    while frame.f_back and not (_ours(frame) and not _given(frame, name)):
        frame = frame.f_back
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}, line {frame.f_lineno}"


def _ours(frame) -> bool:
    named = frame.f_globals["__name__"].startswith(("icl_lib.", "papers.", __name__))
    return named and not frame.f_code.co_name.startswith("<")


def _given(frame, name: str) -> bool:
    given = (frame.f_locals.get(each) for each in inspect.getargs(frame.f_code).args)
    return any(isinstance(each, str) and each == name for each in given)


def leaks(*runs: Callable[[], object]) -> Opened:
    """Return the roles that are opened by more than one function in some runs together."""
    opened = defaultdict(set)
    with recorded(opened):
        for run in runs:
            run()
    return {role: by for role, by in opened.items() if len(by) > 1}


def trainings(declaration) -> list[Callable[[], object]]:
    """Return two steps of each training whose weights a declaration reads."""
    each = {name.partition(".")[0] for name in registry.trainings_of(declaration)}  # of several seeds
    return [
        lambda training=training: replace(training, steps=2).train(0, "cpu")
        for training in map(registry.training, sorted(each))
    ]


def small(declaration):
    """Return a declaration that draws less of the same streams: every large number of it that may be smaller is."""
    for field in fields(declaration):
        with suppress(ValueError):  # not admitted beside the other fields
            declaration = replace(declaration, **{field.name: _smaller(getattr(declaration, field.name))})
    return declaration


def _smaller(value):
    return type(value)(max(LEAST, value // SHARE)) if type(value) in (int, float) and value >= LARGE else value


def forget() -> None:
    """Make the wings forget what they trained: it would open no stream a second time."""
    for module in [module for name, module in sys.modules.items() if name.startswith("papers.")]:
        for kept in vars(module).values():
            getattr(kept, "cache_clear", lambda: None)()


@pytest.mark.parametrize("slug", [slug for slug in registry.EXPERIMENTS if slug not in TIMED])
def test_every_stream_is_opened_for_one_thing(slug):
    forget()
    declaration = registry.experiment(slug).quick
    found = leaks(lambda: small(declaration).run(0, "cpu"), *trainings(declaration))
    assert set(found) == set(SHARED.findall(type(declaration).__doc__)), found


def _evaluate(seed: int) -> None:
    seeds.stream(seed, "data/3")


def _train(seed: int) -> None:
    for step in range(2):
        _passed_on(seed, f"data/{step}")


def _choose_and_judge(seed: int) -> None:
    seeds.stream(seed, "prompts")
    seeds.stream(seed, "prompts")


def _passed_on(seed: int, name: str) -> None:
    seeds.stream(seed, name)


def test_evaluation_on_a_stream_of_training_is_seen():
    ((role, by),) = leaks(lambda: _evaluate(0), lambda: _train(0)).items()
    assert role == "data/#" and {each.partition(",")[0] for each in by} == {f"{__name__}._evaluate", f"{__name__}._train"}
    assert leaks(lambda: _train(0), lambda: _train(1)) == {}


def test_what_one_function_opens_in_two_places_is_two_things():
    ((role, by),) = leaks(lambda: _choose_and_judge(0)).items()
    assert role == "prompts" and len(by) == 2


def test_a_training_that_was_kept_opens_its_streams_again():
    declaration = registry.experiment("li-two-memories").quick
    for _ in range(2):
        forget()
        opened: Opened = defaultdict(set)
        with recorded(opened):
            declaration.run(0, "cpu")
        assert any(role.startswith("data/") for role in opened)
