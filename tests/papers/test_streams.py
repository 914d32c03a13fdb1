"""No leak: in a quick run of an experiment every random stream is opened for one thing, and for nothing that trains.

A stream is named by its role. Numbers in it count for nothing here, so that one role holds all steps of a training. What
opens it is the function that made the name, however many others pass the name on.
"""

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from icl_lib import seeds
from papers import registry

Opened = dict[str, set[str]]
TIMED = {"engine-roofline"}
"""Results that are times, of trainings whose losses nobody reads."""
ON_PURPOSE: dict[tuple[str, str], str] = {
    ("zhang-one-step", "one-step/#"): "the step and the trained model meet the same contexts",
    ("zhang-stationarity", "basis"): "one basis for the points and for the covariance that they are points of",
    ("zhang-long-prompts", "basis"): "one basis for all covariances of a declaration",
    ("zhang-time-course", "Theta"): "one initial direction, followed at two sizes",
    ("zhang-gpt2-positions", "weights"): "the initial weights again, to say which rows have moved since",
    ("garg-live-training", "weights"): "the initial weights again, whose error is told beside that of the trained ones",
    ("dherin-two-starts", "two starts/#/shuffle"): "the same finetuning for the patch of one query and of many",
}
"""Roles of a slug that several functions open, with the reason."""


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
    """Return the function that made the name: one that was given it passes it on; wrappers of the test run do not count."""
    while frame.f_back and not (_ours(frame) and not _given(frame, name)):
        frame = frame.f_back
    return f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}"


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


@pytest.mark.parametrize("slug", [slug for slug in registry.EXPERIMENTS if slug not in TIMED])
def test_every_stream_is_opened_for_one_thing(slug):
    declaration = registry.experiment(slug).quick
    found = leaks(lambda: declaration.run(0, "cpu"), *trainings(declaration))
    told = {role for each, role in ON_PURPOSE if each == slug}
    assert {role: by for role, by in found.items() if role not in told} == {} and told <= set(found)


def _evaluate(seed: int) -> None:
    seeds.stream(seed, "data/3")


def _train(seed: int) -> None:
    for step in range(2):
        _passed_on(seed, f"data/{step}")


def _passed_on(seed: int, name: str) -> None:
    seeds.stream(seed, name)


def test_evaluation_on_a_stream_of_training_is_seen():
    role = {"data/#": {f"{__name__}._evaluate", f"{__name__}._train"}}
    assert leaks(lambda: _evaluate(0), lambda: _train(0)) == role
    assert leaks(lambda: _train(0), lambda: _train(1)) == {}
