"""What the rooms of Li et al. measure, on planted readings and by hand: worst draws, shares, exponents, groups of patterns."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.seeds import stream
from papers.li.evaluate import Readings
from papers.li.mechanism import neurons
from papers.li.odr import ODRPatterns
from papers.li.s1_introduction.nonlinearity import _pooled, _response
from papers.li.s2_formulation.start import _label_rows
from papers.li.s3_2_data_and_tasks.task_sets import _by_share
from papers.li.s3_3_generalization import rescaling, task_fraction
from papers.li.s3_3_generalization.odr import ODRTest
from papers.li.s3_3_generalization.sum_reasons import SUM_REASONS
from papers.li.s3_4_pruning import pruning_reasons, pruning_shares
from papers.li.s4_mechanism import attention, growth, hinge_margin
from papers.li.softmax_attention import initial_weights
from papers.li.theory.coverage import shifts_by_share
from papers.li.trained import A, Trained

TINY = replace(A, tasks="cyclic 1", T=2, B=4, M1=4, M2=3, d_Y=2, m=8, l=6)
FEW = ODRPatterns(count=3, distractors=2, draws=1)
TEST = ODRTest(count=3, distractors=2, draws=2, prompts=3, alpha=0.8, length=6)
NAN = torch.nan


@pytest.fixture(scope="module")
def start() -> Trained:
    """Two networks as they start."""
    delta, xi = (torch.full((2,), number, dtype=torch.float64) for number in (TINY.delta, 0.3))
    weights = initial_weights(stream(0, "weights"), TINY.M1 + TINY.M2, TINY.d_Y, TINY.m, delta, xi)
    return Trained(TINY, weights, torch.ones(2, 2, dtype=torch.float64))


def readings(margin: list, mass: list) -> Readings:
    return Readings(torch.tensor(margin, dtype=torch.float64), torch.tensor(mass, dtype=torch.float64))


def test_feature_response_by_a_loop_over_rows(start):
    """Half of sum_r |a_r| <row r of W_O W_V, mean pattern>."""
    model, mean = start.model(), start.setting.patterns().relevant.mean(0)
    rows = neurons(model).feature
    expected = [sum(abs(model.a[r]) * (rows[s, r] @ mean) for r in range(TINY.m)) / 2 for s in range(2)]
    assert torch.allclose(_response(start), torch.stack(expected))


def test_standard_error_of_a_pooled_ratio_by_hand():
    """Two shares, two models: variances 2 and 8 over two models make 1 and 4; the mean of both has (1 + 4)/4."""
    found = _pooled(np.array([[1.0, 3.0], [2.0, 6.0]]), {"half": 0.5})
    assert found["margin_ratio"].values.tolist() == [3.0, -2.0]
    assert found["margin_ratio_se"].values.tolist() == pytest.approx([5**0.5 / 2, 5**0.5])
    assert found["margin_ratio_se"].attrs["blocks"] == 2  # 1 + 25/17 degrees of freedom, rounded down


def test_neurons_that_know_the_label_speak_for_it():
    """Row r is 10 sign(a_r) times the unit vector of the label: it fires on q with a_r > 0 and on -q with a_r < 0."""
    rows = _label_rows(torch.tensor([0.1, -0.1], dtype=torch.float64), TINY)
    q = torch.cat([torch.zeros(7, dtype=torch.float64), TINY.label()])
    assert (rows @ q).tolist() == pytest.approx([10 * TINY.q, -10 * TINY.q])


@pytest.mark.parametrize("M1", [3, 5, 6, 10, 17])
def test_fewest_shifts_are_at_least_the_root(M1):
    """5 and 17 have a whole root: (M1 - 1)^(1/2) shifts are then enough."""
    fewest = next(r for r in range(1, M1) if r >= (M1 - 1) ** 0.5)
    assert _by_share(M1) == shifts_by_share(M1) == fewest


def test_only_relevant_patterns_are_rescaled(monkeypatch, start):
    seen, found = [], readings([[[1.0]]] * 2, [[[0.5]]] * 2)
    monkeypatch.setattr(rescaling, "out_of_domain", lambda trained, patterns, **_: seen.append(patterns) or found)
    tiny = replace(rescaling.RESCALING.quick, settings=(TINY,), test=TEST, seeds=2)
    for S_1 in (0.5, 1.0):
        tiny._new(start, S_1, 0)
    lengths = [[rows.norm(dim=-1) for rows in patterns] for patterns in seen]
    for (relevant, irrelevant), S_1 in zip(lengths, (0.5, 1.0), strict=True):
        assert torch.allclose(relevant, torch.full_like(relevant, S_1 * TINY.beta))
        assert torch.allclose(irrelevant, torch.full_like(irrelevant, TINY.beta))


def test_pairs_of_a_task_are_so_from_either_side(monkeypatch, start):
    """One shift over four patterns is a ring: neighbours (0, 1), (1, 2), (2, 3), (3, 0) met, (0, 2) and (1, 3) never did."""
    score = np.random.default_rng(0).random((1, 4, 4))
    monkeypatch.setattr(task_fraction, "idr_scores", lambda trained: score)
    met, never = task_fraction._pair_gaps(start, 1)
    gap = score[0].diagonal()[None] - score[0]
    ring = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 0), (0, 3)]
    assert met == pytest.approx([np.mean([gap[pair] for pair in ring])])
    assert never == pytest.approx([np.mean([gap[pair] for pair in ((0, 2), (2, 0), (1, 3), (3, 1))])])


def test_worst_draws_are_worst(monkeypatch, start):
    """Two draws: half of the prompts wrong at little attention, none wrong at much."""
    found = readings([[[1.0, -1.0], [1.0, 1.0]]] * 2, [[[0.1, NAN], [0.5, 0.7]]] * 2)
    monkeypatch.setattr(task_fraction, "train_models", lambda settings, *_: {TINY.T: (start,)})
    monkeypatch.setattr(task_fraction.TaskFraction, "_in_domain", lambda self, one, seed: np.zeros(2))
    monkeypatch.setattr(ODRTest, "combined", lambda self, *given: found)
    dataset = replace(task_fraction.TASK_FRACTION.quick, base=TINY, shifts=(1,), test=TEST, seeds=2).run(0, "cpu")
    expected = {"error_out": 0.25, "error_worst": 0.5, "mass_out": 0.35, "mass_worst": 0.1}
    for name, value in expected.items():
        assert np.allclose(dataset[name], value), name


def test_spread_of_the_gap_is_in_units_of_the_scores():
    """Twice the scores, twice the spread; a multiple of the identity has none, for the patterns are orthonormal."""
    tiny = replace(SUM_REASONS.quick, names=("A",), settings=(TINY,), S_1=(0.5,), frames=20, test=TEST, seeds=3)
    W = np.random.default_rng(0).standard_normal((4, 4))
    scores = (("setting", "seed", "key", "query"), np.stack([W, 2 * W, np.eye(4)])[None])
    one, two, none = tiny.expect(xr.Dataset({"scores": scores}), 0).gap_spread.values[0, 0]
    assert two == pytest.approx(2 * one) and one > 0.1 and none < 1e-12


def test_mixed_prompts_speak_through_both_labels(monkeypatch, start):
    """Four prompts: both, plus alone, minus alone, neither."""
    tiny = replace(pruning_reasons.PRUNING_REASONS.quick, R=(0.0, 0.5), repeats=1, odr=FEW, prompts=4)

    def margins(trained, kept, *_, **__):
        found = torch.ones(2, kept.shape[1], 4, dtype=torch.float64)
        found[:, -2] = torch.tensor([0.3, 0.3, 0.0, 0.0])
        found[:, -1] = torch.tensor([-0.2, 0.0, -0.2, 0.0])
        return found

    monkeypatch.setattr(pruning_reasons, "deleted_margins", margins)
    assert tiny.read(start, 0)["mixed"].tolist() == [0.25, 0.25]


def test_orders_of_deletion(monkeypatch, start):
    """By length of the rows of W_O: what goes first is the shortest, or the longest."""
    kept = []
    monkeypatch.setattr(pruning_shares, "train_models", lambda *_: {TINY.T: (start,)})
    monkeypatch.setattr(
        pruning_shares, "deleted_margins", lambda trained, mask, *_, **__: kept.append(mask) or torch.ones(2, 4, 3)
    )
    replace(pruning_shares.PRUNING_SHARES.quick, setting=TINY, seeds=2, R=0.25, alphas=(0.8,), odr=FEW).run(0, "cpu")
    none, short, long, _ = kept[0].unbind(1)
    size = start.parameters["W_O"].norm(dim=-1)
    assert none.all() and (~short).sum(-1).tolist() == [2, 2]
    for s in range(2):
        assert size[s][~short[s]].max() < size[s][short[s]].min() and size[s][~long[s]].min() > size[s][long[s]].max()


def test_attention_counts_where_there_is_some_to_read(monkeypatch, start):
    """Prompts without the query's pattern are left out, in domain and out of it."""
    monkeypatch.setattr(attention, "in_domain", lambda *_, **__: readings([[1.0] * 3] * 2, [[0.2, NAN, 0.4]] * 2))
    monkeypatch.setattr(attention, "out_of_domain", lambda *_, **__: readings([[[1.0] * 3]] * 2, [[[0.6, NAN, 0.8]]] * 2))
    inside, outside = replace(attention.ATTENTION.quick, odr=FEW)._mass(start, 0)
    assert inside == pytest.approx([0.3, 0.3]) and outside == pytest.approx([0.7, 0.7])


def test_scores_have_not_changed_at_the_start(start):
    """There u'W_K'W_Q u = delta^2 for every pattern; twice the scores are a change of 1."""
    twice = start._replace(parameters=start.parameters | {"W_Q": 2 * start.parameters["W_Q"]})
    assert np.allclose(growth._changes(start, start)[:2], 0, atol=1e-6)
    assert np.allclose(growth._changes(twice, start)[:2], 1, atol=1e-6)


def test_kinds_of_patterns_by_hand():
    """Tasks of the first half of four patterns name 0 and 1; 2 and 3 are relevant and in no task; 4 to 6 are irrelevant."""
    values = torch.arange(7.0)[None].double()
    assert growth._by_kind(values, replace(TINY, tasks="first half"))[:, 0].tolist() == [0.5, 5.0, 2.5]


def test_active_prompts_are_those_below_the_own_margin(monkeypatch, start):
    monkeypatch.setattr(hinge_margin, "in_domain", lambda *_, **__: readings([[0.5, 1.5, 3.0, 9.0]] * 2, [[0.4] * 4] * 2))
    declaration = hinge_margin.HINGE_MARGIN.quick
    active = [declaration._readings(start, c, 0)[1].tolist() for c in (1.0, 2.0, 4.0)]
    assert active == [[0.25, 0.25], [0.5, 0.5], [0.75, 0.75]]
