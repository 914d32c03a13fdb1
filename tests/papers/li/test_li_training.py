"""Training one-layer models: one batch is the same as one by one, marks, and readings on fresh prompts."""

from dataclasses import replace

import pytest
import torch

from icl_lib.seeds import stream
from papers.li.classification import Readings, attention_mass, hinge, read, wrong
from papers.li.evaluate import combined, in_domain, out_of_domain, rescaled
from papers.li.patterns import Codes, PatternClassification, write
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from papers.li.task_sets import task_set
from papers.li.trained import A, train_models

SMALL = replace(A, m=20, B=32, T=6, l=8, xi=0.1)
OTHER = replace(SMALL, tasks="all", beta=1.0, q=0.5, K=0.1, delta=0.1, xi=0.3, eta=0.2, alpha=0.5)


@pytest.fixture(scope="module")
def trained():
    return train_models((SMALL, OTHER), 2, 0, "cpu", (0, 3))


def test_a_step_by_hand(trained):
    """One plain torch step on written prompts, model by model, gives the weights after the first step."""
    first = train_models((replace(SMALL, T=1), replace(OTHER, T=1)), 2, 0, "cpu")[1]
    column = {name: [getattr(s, name) for s in (SMALL, SMALL, OTHER, OTHER)] for name in ("delta", "xi", "K", "alpha")}
    starts = initial_weights(stream(0, "weights"), 30, 10, 20, torch.tensor(column["delta"]), torch.tensor(column["xi"]))
    tasks = torch.stack([task_set(s.tasks, 6).repeat(90 // len(task_set(s.tasks, 6)), 1) for s in (SMALL, SMALL, OTHER, OTHER)])
    patterns = type(SMALL.patterns())(*(rows.float() for rows in SMALL.patterns()))
    law = PatternClassification(patterns, tasks, torch.tensor(column["alpha"]), torch.tensor(column["K"]))
    codes = law.codes(stream(0, "data/0"), (4, 32), 8)
    for k, setting in enumerate((SMALL, SMALL, OTHER, OTHER)):
        own = type(patterns)(*(rows.float() for rows in setting.patterns()))
        weights = {name: w[k].clone().requires_grad_() for name, w in starts.items()}
        model = SoftmaxAttentionMLP(**weights, a=output_weights(20, torch.float32), q=setting.label().float())
        prompts = write(Codes(*(part[k] for part in codes)), own)
        loss = (1 - prompts.y_query * model(prompts)).clamp(min=0).mean()
        loss.backward()
        assert first[k // 2].losses[0, k % 2].item() == pytest.approx(loss.item(), rel=1e-5)
        for name, w in weights.items():
            moved = (w - setting.eta * w.grad).detach().double()
            assert torch.allclose(first[k // 2].parameters[name][k % 2], moved, rtol=1e-4, atol=1e-6), name


def test_marks_split_the_run_and_do_not_change_it(trained):
    plain = train_models((SMALL, OTHER), 2, 0, "cpu")[6]
    assert list(trained) == [0, 3, 6] and trained[3][0].losses.shape == (3, 2) and trained[0][1].losses.shape == (0, 2)
    for with_marks, without in zip(trained[6], plain, strict=True):
        assert torch.equal(with_marks.losses, without.losses)
        assert all(torch.equal(with_marks.parameters[k], without.parameters[k]) for k in without.parameters)
    assert torch.equal(trained[0][0].parameters["W_V"][0], torch.eye(40).double() * torch.tensor(0.2).double().float())


def test_seeds_give_other_models(trained):
    W_O = trained[6][0].parameters["W_O"]
    assert not torch.allclose(W_O[0], W_O[1])
    assert not torch.allclose(W_O, train_models((SMALL, OTHER), 2, 1, "cpu")[6][0].parameters["W_O"])


def test_what_cannot_be_trained_together_is_refused():
    with pytest.raises(ValueError, match="agree in m"):
        train_models((SMALL, replace(SMALL, m=22)), 1, 0, "cpu")
    with pytest.raises(ValueError, match="from 0 to T"):
        train_models((SMALL,), 1, 0, "cpu", (7,))


def test_losses_by_hand():
    margin = torch.tensor([-2.0, 0.0, 0.25, 3.0])
    assert hinge(margin).tolist() == [3, 1, 0.75, 0] and wrong(margin).tolist() == [1, 0.5, 0, 0]


def test_attention_mass_by_hand():
    """Query pattern 2: contexts 1 and 3 of the first prompt carry it, none of the second."""
    pattern = torch.tensor([[2, 0, 2, 2], [0, 1, 0, 2]])
    codes = Codes(pattern, pattern, pattern.double(), pattern.double())
    mass = attention_mass(torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]]).double(), codes)
    assert mass[0] == pytest.approx(0.8) and mass[1].isnan()


def test_read_is_the_model_on_the_prompts_of_its_stream(trained):
    one = trained[6][0]
    law = one.setting.law(task_set("all", 6), 0.8)
    found = read(one.model().on(law.patterns), law, prompts=50, length=4, lead=(2,), seed=3, name="here")
    codes = law.codes(stream(3, "here"), (2, 50), 4)
    expected = codes.y[..., -1] * one.model()(write(codes, law.patterns))
    assert isinstance(found, Readings) and torch.allclose(found.margin, expected, rtol=1e-9, atol=1e-15)


def test_readings_in_and_out_of_domain(trained):
    one = trained[6][1]
    inside = in_domain(one, task_set("all", 6), alpha=0.8, length=5, prompts=30, seed=0, name="in")
    patterns = combined(one, 1.1, count=3, distractors=10, draws=4, seed=0, name="odr")
    outside = out_of_domain(one, patterns, alpha=0.8, length=5, prompts=30, seed=0, name="out")
    scaled = out_of_domain(one, rescaled(one, 0.5), alpha=0.8, length=5, prompts=30, seed=0, name="out")
    assert inside.margin.shape == (2, 30) and outside.margin.shape == (2, 4, 30) and scaled.margin.shape == (2, 1, 30)
    assert patterns.relevant.shape == (2, 4, 3, 30) and patterns.irrelevant.shape == (2, 4, 10, 30)


def test_rescaling_by_one_is_in_domain(trained):
    one = trained[6][0]
    same = out_of_domain(one, rescaled(one, 1.0), alpha=0.8, length=5, prompts=40, seed=0, name="same")
    law = one.setting.law(task_set("all", 6), 0.8)
    codes = law.codes(stream(0, "same"), (2, 1, 40), 5)
    for s in range(2):
        model = SoftmaxAttentionMLP(**{k: w[s] for k, w in one.parameters.items()}, a=output_weights(20), q=one.setting.label())
        prompts = write(Codes(*(part[s, 0] for part in codes)), law.patterns)
        assert torch.allclose(same.margin[s, 0], prompts.y_query * model(prompts), rtol=1e-9, atol=1e-15)
