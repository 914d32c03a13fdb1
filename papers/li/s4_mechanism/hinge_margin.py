"""li-hinge-margin: the trained models trained on with max{0, c - zF}, to see what stopped the attention."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import Count, Declaration, Experiment, Positive, PositiveShare, Several, variable
from icl_lib.seeds import stream
from icl_lib.train.loop import train
from icl_lib.train.optimizers import SGD, Parameters
from papers.li.evaluate import in_domain
from papers.li.patterns import Codes, PatternClassification, Patterns
from papers.li.s4_mechanism.attention import FULL_COURSE, QUICK_COURSE
from papers.li.s4_mechanism.course import Course, unseen
from papers.li.softmax_attention import SoftmaxAttentionMLP, output_weights
from papers.li.task_sets import task_set
from papers.li.trained import Trained


@dataclass(frozen=True)
class HingeMargin(Declaration):
    """Setting A's models from the end of ``course``, trained on with margins ``c`` up to each step of ``marks``.

    c        margins of the loss max{0, c - zF}; marks: steps after the change of margin at which models are read
    alpha    share of contexts with a pattern of the task in prompts of unseen tasks
    length   examples of a prompt; prompts: prompts of a model at a reading
    """

    course: Course
    c: Several[Positive]
    marks: Several[Count]
    alpha: PositiveShare
    length: Count
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure attention, and the prompts that still give a gradient, before the change of margin and after."""
        course = self.course.models(seed, device)["A"]
        paths = resume(course[self.course.marks[-1]], self.c, self.marks, seed, device)
        pairs = zip(self.c, paths, strict=True)
        after = np.array([[self._readings(trained, c, seed) for trained in path] for c, path in pairs])
        before = np.array([self._readings(trained, 1.0, seed) for trained in course.values()])
        return xr.Dataset(
            {
                "mass": variable("c resumed seed", after[:, :, 0], "attention on the query's pattern, unseen tasks"),
                "active": variable("c resumed seed", after[:, :, 1], "training prompts with zF < c"),
                "margin": variable("c resumed seed", after[:, :, 2], "mean zF"),
                "mass_before": variable("step seed", before[:, 0], "attention on the query's pattern before, c = 1"),
                "active_before": variable("step seed", before[:, 1], "training prompts with zF < 1, before"),
            },
            coords={
                "c": list(self.c),
                "resumed": list(self.marks),
                "step": list(self.course.marks),
                "seed": np.arange(self.course.seeds),
            },
        )

    def _readings(self, trained: Trained, c: float, seed: int) -> list[np.ndarray]:
        setting = trained.setting
        common = dict(length=self.length, prompts=self.prompts, seed=seed)
        new = in_domain(trained, unseen(setting), alpha=self.alpha, name="id", **common)
        old = in_domain(trained, task_set(setting.tasks, setting.M1), alpha=setting.alpha, name="trained", **common)
        active = (old.margin < c).double().mean(-1)
        return [new.mass.nanmean(-1).numpy(), active.numpy(), old.margin.mean(-1).numpy()]


def resume(trained: Trained, margins: tuple[float, ...], marks: tuple[int, ...], seed: int, device: str) -> list[list[Trained]]:
    """Train the S models on with max{0, c - zF} for every c, all as one batch; return them by c at each mark.

    Raises ValueError unless the marks rise from 1 or more.
    """
    if not marks or marks[0] < 1 or list(marks) != sorted(set(marks)):
        raise ValueError(f"marks {marks} must rise from 1 or more: they count steps after the change of margin")
    setting, S = trained.setting, len(trained.parameters["W_O"])
    patterns = Patterns(*(rows.to(device, torch.float32) for rows in setting.patterns()))
    law = PatternClassification(patterns, task_set(setting.tasks, setting.M1), setting.alpha, setting.K)
    a, q = output_weights(setting.m, torch.float32).to(device), setting.label().to(device, torch.float32)
    c = torch.tensor(margins, dtype=torch.float32, device=device).repeat_interleave(S)

    def loss(parameters: Parameters, batch: tuple[Codes, Tensor]) -> Tensor:
        codes, c = batch
        return (c - codes.y[..., -1] * SoftmaxAttentionMLP(**parameters, a=a, q=q).on(patterns)(codes)).relu().mean()

    def draws(first: int) -> Callable[[int], tuple[Codes, Tensor]]:
        shape = (len(c), setting.B)
        return lambda step: (law.codes(stream(seed, f"margin/{first + step}", device), shape, setting.l), c)

    parameters = {k: w.to(device, torch.float32).repeat(len(margins), 1, 1) for k, w in trained.parameters.items()}
    found, now = [], 0
    for stop in marks:
        parameters = train(loss, parameters, draws(now), SGD(setting.eta), stop - now).parameters
        found.append(_split(trained, parameters, len(margins)))
        now = stop
    return [list(path) for path in zip(*found, strict=True)]


def _split(trained: Trained, parameters: Parameters, count: int) -> list[Trained]:
    weights = {name: value.detach().cpu().double().chunk(count) for name, value in parameters.items()}
    return [trained._replace(parameters={name: parts[k] for name, parts in weights.items()}) for k in range(count)]


_QUICK = HingeMargin(QUICK_COURSE, c=(1.0, 2.0, 4.0, 8.0, 20.0), marks=(1, 2, 3, 5, 10, 20), alpha=0.8, length=20, prompts=400)
HINGE_MARGIN = Experiment(
    slug="li-hinge-margin",
    title="Attention after the margin of the hinge loss is raised",
    quick=_QUICK,
    full=replace(_QUICK, course=FULL_COURSE, marks=(1, 2, 3, 5, 10, 30), prompts=5000),
)
