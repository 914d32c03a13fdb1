"""li-two-memories: one-sided tasks over the ratio |q|/beta; where the wrong rule is stored."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.evaluate import in_domain
from icl_lib.experiments.li.trained import A, Setting, Trained, train_models
from icl_lib.experiments.li.unseen_tasks import QUICK, SHORT, Sets, settings_of
from icl_lib.measure.classification import wrong
from icl_lib.results import variable
from icl_lib.seeds import stream
from icl_lib.tasks.patterns import Codes
from icl_lib.tasks.task_sets import covers, task_set, unseen_tasks
from icl_lib.theory.li import coverage


@dataclass(frozen=True)
class TwoMemories:
    """All ``sets`` are trained; the one-sided ones are read, and beside them the first that meets Condition 3.2."""

    base: Setting
    sets: Sets
    seeds: int
    prompts: int
    contrary: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read error and attention on unseen tasks, and the answers to contexts that all contradict the memory."""
        marks = train_models(settings_of(self.base, self.sets), self.seeds, seed, device, (0,))
        M1 = self.base.M1
        first, last = (
            sorted(filter(lambda one: one.setting.tasks == "one-sided", marks[step]), key=_ratio) for step in (0, self.base.T)
        )
        covered = next(one for one in marks[self.base.T] if covers(task_set(one.setting.tasks, M1), M1))
        one_sided = [one.setting for one in last]
        tasks = task_set("one-sided", M1).numpy()
        unseen = [self._unseen(trained, seed) for trained in last]
        key = [coverage.key_memory(tasks, M1, one.alpha, one.beta, one.q) for one in one_sided]
        value = [coverage.value_memory(tasks, M1, one.beta, one.q) for one in one_sided]
        pure = coverage.unseen_error(tasks, M1, 0.5, 0.0)
        columns = {
            "error": ([wrong(reading.margin).mean(-1) for reading in unseen], "0-1 error on unseen tasks"),
            "mass": ([reading.mass.nanmean(-1) for reading in unseen], "attention on the query's pattern, unseen tasks"),
            "value_error": ([self._contrary(trained, seed) for trained in last], "0-1 error on contrary contexts"),
            "value_error_start": ([self._contrary(trained, seed) for trained in first], "the same before training"),
        }
        return xr.Dataset(
            {name: variable("ratio seed", np.stack(values), text) for name, (values, text) in columns.items()}
            | {
                "error_covered": variable("seed", wrong(self._unseen(covered, seed).margin).mean(-1), "error, covering tasks"),
                "error_theory": variable("", pure, "error of a pure memory"),
                "key_memory": variable("ratio", key, "push to the label key over push to the pattern"),
                "value_memory": variable("ratio", value, "pattern over label in the value function"),
            },
            coords={"ratio": [_ratio(one) for one in last], "seed": range(self.seeds)},
        )

    def _unseen(self, trained: Trained, seed: int):
        setting = trained.setting
        tasks = unseen_tasks(task_set(setting.tasks, setting.M1), setting.M1)
        name = f"unseen/{setting.tasks}/{setting.beta}/{setting.q}"
        return in_domain(trained, tasks, alpha=setting.alpha, length=setting.l, prompts=self.prompts, seed=seed, name=name)

    def _contrary(self, trained: Trained, seed: int) -> torch.Tensor:
        """Return the error when every context is the query's pattern with the label it never had: attention cannot matter."""
        setting = trained.setting
        balance = coverage.label_balance(task_set(setting.tasks, setting.M1).numpy(), setting.M1)
        patterns = torch.from_numpy(np.flatnonzero(balance))
        law = setting.law(task_set(setting.tasks, setting.M1), setting.alpha)
        drawn = law.codes(stream(seed, f"contrary/{setting.beta}/{setting.q}"), (self.seeds, self.contrary), setting.l)
        pattern = patterns[torch.arange(self.contrary) % len(patterns)][:, None].expand_as(drawn.pattern)
        y = -torch.from_numpy(np.sign(balance))[pattern]
        codes = Codes(pattern, drawn.distractor, drawn.kappa, y)
        return wrong(y[..., -1] * trained.model().on(law.patterns)(codes)).mean(-1)


def _ratio(trained: Trained) -> float:
    return trained.setting.q / trained.setting.beta


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
    paper="li",
    section="3.2",
    notebook="li_3_2_data_and_tasks",
    quick=TwoMemories(base=SHORT, sets=QUICK, seeds=3, prompts=4_000, contrary=600),
    full=TwoMemories(base=HALF, sets=NORMS, seeds=10, prompts=20_000, contrary=3_000),
)
