"""li-two-memories: one-sided tasks over the ratio |q|/beta; where the wrong rule is stored."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, expectation, variable
from icl_lib.seeds import stream
from papers.li.classification import wrong
from papers.li.evaluate import in_domain
from papers.li.patterns import Codes
from papers.li.s3_2_data_and_tasks.unseen_tasks import QUICK, SHORT, Sets, settings_of
from papers.li.task_sets import covers, label_counts, task_set, unseen_tasks
from papers.li.theory import coverage
from papers.li.trained import A, Setting, Trained, train_models


@dataclass(frozen=True)
class TwoMemories(Declaration):
    """All ``sets`` are trained; the one-sided ones are read, and beside them the first that meets Condition 3.2.

    sets       trained as one batch: name of the training tasks, norms beta and |q|
    seeds      models of each set
    prompts    test prompts of a model on unseen tasks
    contrary   prompts of a model whose contexts all contradict the memory
    """

    base: Setting
    sets: Sets
    seeds: AtLeastTwo
    prompts: Count
    contrary: Count

    def __post_init__(self):
        super().__post_init__()
        if not self._one_sided() or self._covering() is None:
            raise ValueError("sets need one that is one-sided and one that meets Condition 3.2: add cyclic 1, for example")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read error and attention on unseen tasks, and the answers to contexts that all contradict the memory."""
        marks = train_models(settings_of(self.base, self.sets), self.seeds, seed, device, (0,))
        first, last = ([marks[step][k] for k in self._one_sided()] for step in (0, self.base.T))
        covered = marks[self.base.T][self._covering()]
        unseen = [self._unseen(trained, seed) for trained in last]
        columns = {
            "error": ([wrong(reading.margin).mean(-1) for reading in unseen], "0-1 error on unseen tasks"),
            "mass": ([reading.mass.nanmean(-1) for reading in unseen], "attention on the query's pattern, unseen tasks"),
            "value_error": ([self._contrary(trained, seed) for trained in last], "0-1 error on contrary contexts"),
            "value_error_start": ([self._contrary(trained, seed) for trained in first], "the same before training"),
        }
        return xr.Dataset(
            {name: variable("ratio seed", np.stack(values), text) for name, (values, text) in columns.items()}
            | {"error_covered": variable("seed", wrong(self._unseen(covered, seed).margin).mean(-1), "error, covering tasks")},
            coords={"ratio": [_ratio(one.setting) for one in last], "seed": range(self.seeds)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the error of a pure memory beside it, and the strength of each of the two."""
        M1, settings = self.base.M1, settings_of(self.base, self.sets)
        tasks, one_sided = task_set("one-sided", M1).numpy(), [settings[k] for k in self._one_sided()]
        key = [coverage.key_memory(tasks, M1, one.alpha, one.beta, one.q) for one in one_sided]
        value = [coverage.value_memory(tasks, M1, one.beta, one.q) for one in one_sided]
        ratio = dataset.ratio.values
        return dataset.assign(
            key_threshold=variable("", (ratio / key).mean(), "ratio at which label key and pattern are pushed alike"),
            value_threshold=variable("", (ratio * np.sqrt(value)).mean(), "ratio at which the values weigh both alike"),
            error_theory=variable("", coverage.unseen_error(tasks, M1, 0.5, 0.0), "error of a pure memory"),
            key_memory=variable("ratio", key, "push to the label key over push to the pattern"),
            value_memory=variable("ratio", value, "pattern over label in the value function"),
            value_step=variable("ratio", value, "where the step is judged"),
            value_memory_double=variable("ratio", 2 * np.array(value), "the same with twice the label balance"),
        )

    def _one_sided(self) -> list[int]:
        """Return the places of the one-sided sets, by rising ratio."""
        settings = settings_of(self.base, self.sets)
        chosen = [k for k, setting in enumerate(settings) if setting.tasks == "one-sided"]
        return sorted(chosen, key=lambda k: _ratio(settings[k]))

    def _covering(self) -> int | None:
        """Return the place of the first set that meets Condition 3.2."""
        M1 = self.base.M1
        return next((k for k, (name, *_) in enumerate(self.sets) if covers(task_set(name, M1), M1)), None)

    def _unseen(self, trained: Trained, seed: int):
        setting = trained.setting
        tasks = unseen_tasks(task_set(setting.tasks, setting.M1), setting.M1)
        name = f"unseen/{setting.tasks}/{setting.beta}/{setting.q}"
        return in_domain(trained, tasks, alpha=setting.alpha, length=setting.l, prompts=self.prompts, seed=seed, name=name)

    def _contrary(self, trained: Trained, seed: int) -> torch.Tensor:
        """Return the error when every context is the query's pattern with the label it never had: attention cannot matter."""
        setting = trained.setting
        tasks = task_set(setting.tasks, setting.M1)
        positive, negative = label_counts(tasks, setting.M1)
        had = (positive - negative).sign().double()
        patterns, law = had.nonzero()[:, 0], setting.law(tasks, setting.alpha)
        drawn = law.codes(stream(seed, f"contrary/{setting.beta}/{setting.q}"), (self.seeds, self.contrary), setting.l)
        pattern = patterns[torch.arange(self.contrary) % len(patterns)][:, None].expand_as(drawn.pattern)
        codes = Codes(pattern, drawn.distractor, drawn.kappa, -had[pattern])
        return wrong(codes.y[..., -1] * trained.model().on(law.patterns)(codes)).mean(-1)


def _ratio(setting: Setting) -> float:
    return setting.q / setting.beta


HALF = replace(A, B=128)
"""Half the batch: many settings fit into one batch of models."""
NORMS = (
    *(("one-sided", 4.0, 0.5), ("one-sided", 3.0, 0.5), ("one-sided", 3.0, 0.75), ("one-sided", 3.0, 1.0)),
    *(("one-sided", beta, 1.0) for beta in (2.5, 2.25, 2.0, 1.5, 1.0)),
    ("both directions", 2.0, 1.0),
)

TWO_MEMORIES = Experiment(
    slug="li-two-memories",
    title="Two ways to memorise one-sided tasks",
    quick=TwoMemories(base=SHORT, sets=QUICK, seeds=3, prompts=4_000, contrary=600),
    full=TwoMemories(base=HALF, sets=NORMS, seeds=10, prompts=20_000, contrary=3_000),
)
