"""Courses, lengths, phases and silenced labels of Li et al., on planted readings and by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.seeds import stream
from papers.li.evaluate import Readings
from papers.li.odr import ODRPatterns
from papers.li.s2_formulation import training
from papers.li.s3_2_data_and_tasks import first_push
from papers.li.s3_3_generalization import coefficient_sum, prompt_length, task_fraction
from papers.li.s3_3_generalization.odr import ODRTest, Responses
from papers.li.s3_3_how_many_steps import iterations
from papers.li.s3_4_pruning import pruning_reasons
from papers.li.softmax_attention import initial_weights, output_weights
from papers.li.trained import A, Trained

TINY = replace(A, tasks="cyclic 1", T=2, B=4, M1=4, M2=3, d_Y=2, m=8, l=6)
TEST = ODRTest(count=3, distractors=2, draws=2, prompts=3, alpha=0.8, length=6)


@pytest.fixture(scope="module")
def start() -> Trained:
    """Two networks as they start."""
    delta, xi = (torch.full((2,), number, dtype=torch.float64) for number in (TINY.delta, 0.3))
    weights = initial_weights(stream(0, "weights"), TINY.M1 + TINY.M2, TINY.d_Y, TINY.m, delta, xi)
    return Trained(TINY, weights, torch.ones(2, 2, dtype=torch.float64))


def test_excess_of_a_blind_course_by_hand(monkeypatch, start):
    """F = 1/2, -2, 3, 1: |F| is 0, 1, 2, 0 above 1; a coin for z makes the hinge 1, 3/2, 2, 1."""
    margin = torch.tensor([[0.5, -2.0, 3.0, 1.0]] * 2, dtype=torch.float64)
    monkeypatch.setattr(training, "train_models", lambda *_, **__: {0: (start,)})
    monkeypatch.setattr(training.Course, "_margin", lambda self, where, *_: margin * (where == "blind"))
    course = training.Course(TINY, tasks=("cyclic 1",), steps=(0,), seeds=2, prompts=4)
    dataset = course.expect(course.run(0, "cpu"), 0)
    assert np.allclose(dataset.excess_blind, 0.75) and np.allclose(dataset.hinge_blind_theory, 1.375)
    assert np.allclose(dataset.hinge_blind, (0.5 + 3) / 4) and np.allclose(dataset.error_blind, 0.25)
    assert np.allclose(dataset.hinge_unseen, 1) and np.allclose(dataset.error_training, 0.5)


def test_rest_of_a_push_has_the_row_of_the_irrelevant_pattern(monkeypatch):
    """It is 0 for a fair sign of kappa; contexts whose kappa has the sign of their label push that row."""
    of_task = first_push.Enumerated._of_task

    def told(self, a, b):
        codes, weight = of_task(self, a, b)
        return codes, weight * (codes.kappa * codes.y > 0)[:, :-1].all(-1)

    monkeypatch.setattr(first_push.Enumerated, "_of_task", told)
    declared = replace(first_push.FIRST_PUSH.quick, law=replace(first_push.SMALL, M1=3, alpha=1.0), named=("single",))
    assert declared._pushes("single")[3] > 1e-3


def test_the_expected_vote_of_uniform_attention_is_none():
    """alpha = 1, l = 2: mass 2/3 where the pattern is present, 3/4 of the prompts; 1/2 of the weight for each label."""
    test = replace(TEST, alpha=1.0, length=2)
    assert coefficient_sum.expected_vote(np.zeros((1, 4, 4)), test) == pytest.approx([0.0], abs=1e-12)


def test_feature_over_label_response_keeps_the_sign_of_features(monkeypatch, start):
    """(1 - 2 + 3)/(1 + 1 + 2) = 1/2."""
    phi, lam = np.array([[1.0, -2.0, 3.0]] * 2), np.array([[-1.0, 1.0, 2.0]] * 2)
    monkeypatch.setattr(coefficient_sum, "train_models", lambda *_, **__: {TINY.T: (start,)})
    monkeypatch.setattr(coefficient_sum, "responses", lambda trained: Responses(np.ones(3), phi, lam))
    declared = coefficient_sum.CoefficientSum(("A",), (TINY,), (1.0, 0.5), TEST, 2)
    assert declared.run(0, "cpu").ratio.values.tolist() == [[0.5, 0.5]]


def test_phases_of_training_by_a_planted_law(monkeypatch):
    """Times c, c/2 and c + c^2 at levels 0.9, 0.5 and 0.1 with c = 1/alpha: the last phase takes c^2."""
    declared = replace(iterations.ITERATIONS.quick, sweeps=(("alpha", (0.5, 1.0)),), M1=(4, 5), seeds=2)
    monkeypatch.setattr(iterations.Iterations, "_train", lambda self, *_: {one: one for row in self._cells() for one in row})
    planted = [lambda c: c, lambda c: c / 2, lambda c: c + c**2]
    monkeypatch.setattr(
        iterations.Iterations, "_times", lambda self, one: np.array([[time(1 / one.alpha)] * 2 for time in planted])
    )
    slope = declared.run(0, "cpu").slope.sel(letter="alpha").isel(start=0, seed=0)
    expected = {"to 0.5": -1.0, "from 0.9 to 0.1": -2.0, "to 0.1": -np.log2(3)}
    assert {phase: float(slope.sel(phase=phase)) for phase in expected} == pytest.approx(expected)


def test_the_literal_prompt_is_as_long_as_the_paper_says(monkeypatch, start):
    """1/alpha' rounded up: 4 at 0.3, 2 at 0.5, 1 at 1."""
    seen, declared = [], prompt_length.PROMPT_LENGTH.quick
    found = Readings(torch.ones(2, 1, 3, dtype=torch.float64), torch.full((2, 1, 3), 0.5, dtype=torch.float64))
    monkeypatch.setattr(ODRTest, "combined", lambda self, *_: seen.append((self.alpha, self.length)) or found)
    for alpha in (0.3, 0.5, 1.0):
        declared._literal(start, alpha, 0)
    assert seen == [(0.3, 4), (0.5, 2), (1.0, 1)]


def test_bounds_on_the_needed_length_by_hand():
    """alpha' = 1, eps = 1/100: ln 50, since half of the prompts without the pattern are right, and 2 ln 100."""
    declared = replace(prompt_length.PROMPT_LENGTH.quick, alpha=(1.0,), lengths=(2, 4), seeds=2)
    errors = xr.DataArray(np.full((1, 2, 2), 0.1), dims=("alpha", "length", "seed"), coords={"alpha": [1.0], "length": [2, 4]})
    scores = xr.DataArray(np.broadcast_to(2 * np.eye(4), (2, 4, 4)), dims=("seed", "key", "query"))
    dataset = declared.expect(xr.Dataset({"error": errors, "error_untrained": errors, "scores": scores}), 0)
    assert float(dataset.needed_theory_low[0]) == pytest.approx(np.log(50))
    assert float(dataset.needed_theory_high[0]) == pytest.approx(2 * np.log(100))
    assert dataset.missing.values[0].tolist() == [1 / 4, 1 / 16]


def test_numbers_of_tasks_by_hand(monkeypatch, start):
    """r M1 tasks are trained; sqrt(M1 - 1) of M1 shifts are stated: 5 * 2 of the 20 tasks over 5 patterns."""
    found = Readings(torch.ones(2, 2, 2, dtype=torch.float64), torch.ones(2, 2, 2, dtype=torch.float64))
    monkeypatch.setattr(task_fraction, "train_models", lambda settings, *_: {TINY.T: (start,) * len(settings)})
    monkeypatch.setattr(task_fraction.TaskFraction, "_in_domain", lambda self, one, seed: np.zeros(2))
    monkeypatch.setattr(ODRTest, "combined", lambda self, *_: found)
    tiny = replace(task_fraction.TASK_FRACTION.quick, base=replace(TINY, M1=5), shifts=(1, 2), test=TEST, seeds=2)
    assert tiny.run(0, "cpu").tasks.values.tolist() == [5, 10]
    scores = xr.Dataset({"scores": (("shifts", "seed", "key", "query"), np.zeros((2, 2, 5, 5)))})
    assert float(replace(tiny, frames=2).expect(scores, 0).tasks_stated) == 10


# --- labels that deletion may silence -------------------------------------------------------------------------------

REASONS = replace(
    pruning_reasons.PRUNING_REASONS.quick,
    settings=(("A", TINY), ("B", TINY)),
    seeds=2,
    R=(0.0, 0.4, 0.6, 1.0),
    repeats=2,
    odr=ODRPatterns(count=3, distractors=2, draws=1),
    prompts=4,
)


def test_labels_lost_at_random_by_hand():
    """Two rows for +1 and three for -1; of five, 0, 2, 3 and 5 go. In the second network a small row speaks for +1."""
    dims = {"error": "setting order R seed", "large": "setting label seed", "safe": "setting label seed"}
    values = {"error": np.full((2, 2, 4, 2), 0.2), "large": np.array([[[2, 2], [3, 3]]] * 2)}
    values["safe"] = np.array([[[0, 1], [0, 0]]] * 2)
    columns = {name: (dims[name].split(), values[name]) for name in dims}
    deleted = np.repeat([[[0], [2], [3], [5]]] * 2, 2, axis=2)
    found = REASONS.expect(xr.Dataset(columns | {"deleted": (("setting", "R", "seed"), deleted)}), 0).isel(setting=1)
    assert np.allclose(found.lost, [[0, 0], [0.1, 0], [0.4, 0.1], [1, 1]])
    one = 0.25 + 0.2 / 2  # a coin where the label is gone
    expected = [[0.2, 0.2], [0.9 * 0.2 + 0.1 * one, 0.2], [0.6 * 0.2 + 0.4 * one, 0.9 * 0.2 + 0.1 * one], [0.5, one]]
    assert np.allclose(found.error_theory, expected)


def test_rows_that_are_counted(monkeypatch, start):
    """Rows of lengths 1 and 0.1; a small one is safe when it contributes; a share of the long ones is deleted."""
    positive = output_weights(TINY.m) > 0
    plus, minus = (torch.nonzero(mask)[:, 0] for mask in (positive, ~positive))
    W_O = torch.zeros_like(start.parameters["W_O"])
    W_O[..., 0] = 1.0
    W_O[:, plus[:1], 0] = W_O[:, minus[:3], 0] = 0.1  # long: three for +1, one for -1
    speaks = torch.ones(2, TINY.m, dtype=torch.float64)
    speaks[:, minus[0]] = 0.0
    monkeypatch.setattr(pruning_reasons, "contributions", lambda trained: speaks)
    monkeypatch.setattr(pruning_reasons, "deleted_margins", lambda trained, kept, *_, **__: torch.ones(2, kept.shape[1], 4))
    found = REASONS.read(start._replace(parameters=start.parameters | {"W_O": W_O}), 0)
    assert found["large"][:, 0].tolist() == [3, 1] and found["safe"][:, 0].tolist() == [1, 2]
    assert found["deleted"][:, 0].tolist() == [0, 2, 2, 4]


def test_repeats_are_averaged_within_a_fraction():
    two = replace(REASONS, R=(0.0, 0.5))
    loss = torch.tensor([[10.0, 20.0, 1.0, 3.0, 5.0, 7.0]])  # largest first, then two repeats of each fraction
    assert two.by_order(loss)[..., 0].tolist() == [[10, 20], [2, 6]]
