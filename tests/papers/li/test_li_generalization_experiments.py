"""Section 3.3, both rooms: experiments and claims on small runs, with faults that must show."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS, Claim
from papers.li import evaluate
from papers.li.mechanism import neurons
from papers.li.s3_3_generalization import claims as generalization
from papers.li.s3_3_generalization import claims_prompt_length, odr
from papers.li.s3_3_generalization.coefficient_sum import CoefficientSum, expected_vote
from papers.li.s3_3_generalization.odr import ODRTest
from papers.li.s3_3_generalization.prompt_length import PromptLength
from papers.li.s3_3_generalization.rescaling import Rescaling
from papers.li.s3_3_generalization.sum_reasons import SumReasons
from papers.li.s3_3_generalization.task_fraction import TaskFraction
from papers.li.s3_3_how_many_steps import claims as how_many_steps
from papers.li.s3_3_how_many_steps.iterations import Iterations, first_passage
from papers.li.s3_3_how_many_steps.small_steps import SMALL_STEPS
from papers.li.s3_3_how_many_steps.training_length import TrainingLength, first_fall
from papers.li.theory import escape_time
from papers.li.trained import A, Trained, train_models

CLAIMS = [
    v
    for module in (generalization, claims_prompt_length, how_many_steps)
    for v in vars(module).values()
    if isinstance(v, Claim)
]
SHORT = replace(A, M2=8, d_Y=2, m=16, B=16, T=6)
TEST = ODRTest(count=3, distractors=4, draws=2, prompts=20, alpha=0.8, length=8)
SUMS = (-1.0, -0.5, 0.0, 0.3, 0.5, 1.0, 1.3)
TINY = {
    "li-coefficient-sum": CoefficientSum(("A",), (SHORT,), SUMS, TEST, 2),
    "li-rescaling": Rescaling((SHORT,), SUMS, (0.5, 1.0), (4, 8, 20), TEST, 2),
    "li-training-length": TrainingLength(SHORT, (1, 2, 3), (0.4, 0.8), 3, 2, 0.8, 8, 40),
    "li-small-steps": replace(
        SMALL_STEPS.quick,
        base=replace(SHORT, T=25, eta=8.0),
        M1=(5, 6),
        window=2,
        seeds=2,
        sweeps=(("alpha", (0.5, 1.0)), ("beta", (1.0, 2.0)), ("eta", (1.0, 2.0))),
    ),
    "li-sum-reasons": SumReasons(("β = 1", "β = 1, r = 1"), (SHORT, replace(SHORT, tasks="cyclic 1")), SUMS, TEST, 50, 2),
    "li-task-fraction": TaskFraction(SHORT, (1, 3, 5), 1.1, TEST, 50, 2),
    "li-prompt-length": PromptLength((SHORT,), (0.5, 1.0), (2, 4, 8), 0.01, 1.1, TEST, 2),
    "li-iterations": Iterations(
        replace(SHORT, T=25),
        ((0.01, 8.0), (0.1, 6.0)),
        (("alpha", (0.5, 1.0)), ("beta", (1.0, 2.0)), ("eta", (0.5, 1.0)), ("K", (0.2, 0.4))),
        (5, 6),
        2,
        2,
    ),
}


def result(law, seed: int) -> xr.Dataset:
    return law.expect(law.run(seed, "cpu"), seed)


@pytest.fixture(scope="module")
def tiny():
    return {slug: result(law, 11).assign_attrs(slug=slug) for slug, law in TINY.items()}


@pytest.fixture(scope="module")
def trained():
    """Two small models, trained to classify."""
    setting = replace(A, M2=8, d_Y=2, m=24, B=64, T=120, eta=2.0)
    return train_models((setting,), 2, 5, "cpu")[120][0]


# --- readings -----------------------------------------------------------------------------------------------------


def test_responses_are_those_of_the_layer(trained):
    """A context of the mean pattern, or of a label alone, shows what each neuron answers."""
    a, phi, lam = odr.responses(trained)
    model = trained.model()
    mean = torch.cat([trained.setting.patterns().relevant.mean(0), torch.zeros(2, dtype=torch.float64)])
    label = torch.cat([torch.zeros(14, dtype=torch.float64), model.q])
    for token, response in ((mean, phi), (label, lam)):
        hidden = model.W_O @ (model.W_V @ token)[..., None]
        assert np.allclose(hidden[..., 0].numpy(), response)
    assert a.shape == (24,) and phi.shape == lam.shape == (2, 24)


def test_idr_scores_are_those_of_tokens(trained):
    W, model = odr.idr_scores(trained), trained.model()
    context, query = torch.zeros(16, dtype=torch.float64), torch.zeros(16, dtype=torch.float64)
    context[1] = query[4] = 2.0
    score = (model.W_K @ context * (model.W_Q @ query)).sum(-1)
    assert np.allclose(W[:, 1, 4], score.numpy())


def test_models_without_features_answer_to_labels_alone(trained):
    deaf = odr.without_features(trained)
    rows, before = neurons(deaf.model()), neurons(trained.model())
    assert rows.feature[..., :6].abs().max() == 0 and torch.equal(rows.label, before.label)
    assert trained.parameters["W_V"][..., :6].abs().max() > 0


def test_means_by_hand():
    nan = torch.nan
    readings = evaluate.Readings(torch.tensor([[[2.0, -1.0], [0.0, 0.5]]]), torch.tensor([[[0.5, nan], [0.7, 0.6]]]))
    found = evaluate.means(readings)
    assert [float(column[0]) for column in found] == pytest.approx([0.375, (0 + 2 + 1 + 0.5) / 4, 0.375, 0.6])


def test_the_expected_vote_of_sharp_attention_is_one(trained):
    sharp = {**trained.parameters, "W_Q": trained.parameters["W_Q"] * 1000}
    vote = expected_vote(odr.idr_scores(trained._replace(parameters=sharp)), replace(TEST, alpha=1.0, length=40))
    assert np.allclose(vote, 1, atol=1e-9)


def test_predicted_margin_meets_the_layer(trained):
    law = CoefficientSum(("x",), (trained.setting,), (-0.5, 1.0), replace(TEST, draws=4, prompts=500, length=20), 2)
    dataset = result(law, 5)
    assert np.allclose(dataset.margin, dataset.margin_theory, atol=0.12)
    assert abs(dataset.margin - dataset.margin_labels_only).max() > 0.15


# --- times --------------------------------------------------------------------------------------------------------


def test_first_passage_by_hand():
    losses = np.array([[1.0, 1.0], [0.8, 1.0], [0.2, 1.0], [0.1, 1.0]])
    assert first_passage(losses, 0.55, 2)[0] == 1.5 and np.isnan(first_passage(losses, 0.55, 2)[1])
    assert first_passage(losses, 0.95, 1)[0] == 1.0  # after one update
    for window in (0, 5):
        with pytest.raises(ValueError, match="window"):
            first_passage(losses, 0.5, window)


def test_first_fall_by_hand():
    """Halfway between the second and the third reading; at the first; at none."""
    readings = np.array([[1.0, 0.4, 1.0], [0.6, 0.3, 0.9], [0.4, 0.7, 0.8]])
    assert first_fall(readings, 0.5)[:2].tolist() == pytest.approx([1.5, 0.0]) and np.isnan(first_fall(readings, 0.5)[2])


def test_slopes_are_those_of_a_planted_law(monkeypatch):
    """Losses that fall on the scale of the escape time give back its exponents."""
    law = replace(TINY["li-iterations"], base=replace(SHORT, T=4000, eta=0.01), window=1)

    def drop(self, seed, device):
        found = {}
        for one in (one for row in self._cells() for one in row):
            letters = ("eta", "alpha", "beta", "q", "delta", "M1", "l", "K")
            step = escape_time.escape_time(**{name: getattr(one, name) for name in letters})
            losses = (1 - 0.95 * torch.arange(4000.0, dtype=torch.float64)[:, None] / step).clamp(min=0).expand(-1, 2)
            found[one] = Trained(one, {}, losses)
        return found

    monkeypatch.setattr(Iterations, "_train", drop)
    dataset = result(law, 0)
    found = dataset.slope.sel(phase="to 0.1").mean("seed").isel(start=0)
    assert np.allclose(found, dataset.slope_escape, atol=0.02)
    assert dataset.slope_stated.sel(letter="beta") == pytest.approx(-2 / 3)
    assert dataset.slope_escape.sel(letter="eta") == pytest.approx(-1)


def test_steps_of_a_planted_course(monkeypatch):
    """The hinge falls by 0.2 in three steps: to 1/2 between the sixth and the ninth; an error that is read only at the end."""
    law = replace(TINY["li-training-length"], base=replace(SHORT, T=18))
    course = [*2 * list(range(7)), 6, 6]  # all marks of both shares, then the last of each
    planted = iter(len(law.lengths) * course)

    def read(self, trained, seed):
        return evaluate.Means(np.full(2, 0.25), np.full(2, 1 - 0.2 * next(planted)), None, None)

    monkeypatch.setattr(TrainingLength, "_read", read)
    dataset = law.run(0, "cpu")
    assert np.allclose(dataset.steps, 7.5) and (dataset.error == 0.25).all()


def test_prompts_without_the_pattern_count_in_the_literal_error_only(monkeypatch, trained):
    nan = torch.nan
    readings = evaluate.Readings(torch.tensor([[[2.0, -1.0, -0.5]]]), torch.tensor([[[0.5, 0.3, nan]]]))
    monkeypatch.setattr(ODRTest, "combined", lambda self, *given: readings)
    literal, guaranteed = TINY["li-prompt-length"]._literal(trained, 0.5, 0)
    assert (literal.item(), guaranteed.item()) == (pytest.approx(2 / 3), 0.5)


# --- verdicts -----------------------------------------------------------------------------------------------------


VERDICTS = {
    "L7": ("hinge", 0.0, 0.02),
    "L7n": ("error", 0.04, 0.001),
    "L8": ("error_out", 0.001, 0.01),
    "L9n": ("error_literal", 0.3, 0.1),
    "L9o": ("error_guaranteed", 0.005, 0.05),
    "L7i": ("error_length", 0.04, lambda d: 1 / d.length.values[:, None]),
    "L9p": ("error", 0.001, 0.1),
    "L9q": ("steps", lambda d: 60 / d.alpha.values[:, None], 60.0),
    "L9r": ("error", 0.001, 0.1),
    "L10o": ("slope", lambda d: d.slope_stated.values[:, None], lambda d: d.slope_escape.values[:, None]),
    "L9": ("needed", lambda d: 8 / d.alpha.values[:, None], 10.0),
    "L10n": ("slope", lambda d: d.slope_stated.values[:, None], lambda d: d.slope_escape.values[:, None]),
}
"""A variable, with what it is where the claim holds, and where it fails."""


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.id in VERDICTS], ids=lambda claim: claim.id)
def test_verdicts_follow_the_numbers(claim, tiny):
    dataset, (name, *planted) = tiny[claim.experiment], VERDICTS[claim.id]
    for value, verdict in zip(planted, (HOLDS, FAILS), strict=True):
        values = np.broadcast_to(value(dataset) if callable(value) else value, dataset[name].shape)
        assert claim.check(dataset.assign({name: (dataset[name].dims, values)})).verdict(claim.margin) == verdict


def test_a_length_that_is_never_reached_fails(tiny):
    dataset = tiny["li-prompt-length"]
    assert xr.DataArray(dataset.needed_untrained).isnull().all()
    assert claims_prompt_length.L9.judge(dataset).control_verdict == FAILS


def test_a_tenth_more_than_the_escape_time_does_not_hold(stored):
    dataset = stored("li-iterations")
    late = dataset.assign(escape_theory=1.1 * dataset.escape_theory)
    claim = next(one for one in CLAIMS if one.id == "L10c")
    assert (claim.judge(dataset).verdict, claim.judge(late).verdict) == (HOLDS, "undecided")


@pytest.mark.parametrize("factor", [1 / 1.1, 1.1])
def test_with_falling_scores_a_tenth_off_the_escape_time_fails(stored, factor):
    dataset = stored("li-iterations")
    off = dataset.assign(escape_falling=factor * dataset.escape_falling)
    claim = next(one for one in CLAIMS if one.id == "L10p")
    assert (claim.judge(dataset).verdict, claim.judge(off).verdict) == (HOLDS, FAILS)
