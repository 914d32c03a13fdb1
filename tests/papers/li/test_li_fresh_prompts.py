"""What is tested on is not what was trained on: tasks, streams and prompts are looked at where they are drawn."""

import pytest
import torch

from papers.li import classification
from papers.li.s5_experiments import decoder
from papers.li.s5_experiments.decoder import DECODER
from papers.li.task_sets import task_set
from papers.li.trained import A


def test_the_decoders_meet_tasks_that_they_were_not_trained_on(monkeypatch):
    found, tests = [], DECODER.quick

    def drawn(law, replicates, prompts, length, seed, name):
        found.append((law, name))
        raise StopIteration

    monkeypatch.setattr(decoder, "draw_codes", drawn)
    models = decoder.Decoders(tests.training.setting, {})
    with pytest.raises(StopIteration):
        tests._read(models, False, 0.8, 12, 0)
    ((law, name),) = found
    own = {tuple(task) for task in task_set(tests.training.tasks, tests.training.setting.M1).tolist()}
    unseen = {tuple(task) for task in law.tasks.tolist()}
    assert unseen and not unseen & own
    assert not name.startswith("decoder/data/")  # the role of the training prompts


def test_every_chunk_of_prompts_is_fresh(monkeypatch):
    law, met = A.law(task_set("all", A.M1), 0.8), []

    class Silent:
        def attention(self, codes):
            met.append(codes.kappa)
            return torch.ones_like(codes.kappa[..., :-1])

        def output(self, codes, attention):
            return codes.y[..., -1]

    monkeypatch.setattr(classification, "CHUNK_TOKENS", 2 * 5 * 4)
    classification.read(Silent(), law, prompts=12, length=4, lead=(2,), seed=0, name="fresh")
    drawn = torch.cat(met, -2).flatten()
    assert len(met) == 3 and len(drawn.unique()) == drawn.numel()
