"""Li et al.'s network before and after training, on prompts of unseen tasks and on prompts over other patterns."""

import torch

from icl_lib.tasks.prompts import Prompts
from papers.li.patterns import Codes, Patterns, write
from papers.li.task_sets import task_set, unseen_tasks
from papers.li.trained import Setting, Trained, train_models

START, TRAINED = "start", "trained"
STAGES = (START, TRAINED)


def network_at(setting: Setting, seeds: int, seed: int, device: str, stage: str) -> Trained:
    """Return the networks of all seeds before training or after it; trained once for all that ask."""
    found = train_models((setting,), seeds, seed, device, marks=(0,))
    return found[0 if stage == START else setting.T][0]


def drawn(
    trained: Trained, alpha: float, length: int, count: int, generator: torch.Generator, patterns: Patterns | None = None
) -> tuple[Codes, Prompts]:
    """Draw ``count`` prompts for each network: of the tasks that training left out, or of all tasks over other patterns."""
    M1, seeds = trained.setting.M1, len(trained.parameters["W_O"])
    tasks = (
        unseen_tasks(task_set(trained.setting.tasks, M1), M1) if patterns is None else task_set("all", len(patterns.relevant))
    )
    law = trained.setting.law(tasks, alpha, patterns)
    codes = law.codes(generator, (seeds, count), length)
    return codes, write(codes, law.patterns)
