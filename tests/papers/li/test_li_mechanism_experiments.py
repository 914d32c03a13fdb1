"""Section 4 of Li et al.: the experiments on tiny declarations against independent values, and the claims' controls."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import HOLDS, UNDECIDED, Claim
from icl_lib.seeds import stream
from papers.li.classification import hinge
from papers.li.odr import ODRPatterns
from papers.li.patterns import write
from papers.li.s4_mechanism import claims
from papers.li.s4_mechanism.attention import Attention, other_contexts
from papers.li.s4_mechanism.course import NAMES, Course, pattern_scores
from papers.li.s4_mechanism.growth import GrowthOfScores
from papers.li.s4_mechanism.hinge_margin import HingeMargin, resume
from papers.li.s4_mechanism.neurons import Alignment
from papers.li.s4_mechanism.training_map import TrainingMap
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.task_sets import task_set
from papers.li.theory import mechanism
from papers.li.trained import A, B

SMALL = dict(M2=6, d_Y=2, m=24, B=64, l=10, T=60)
COURSE = Course(replace(A, **SMALL), replace(B, **SMALL), seeds=2, marks=(0, 30, 60))
ATTENTION = Attention(
    COURSE, alpha=0.8, length=10, prompts=2000, S_1=1.1, odr=ODRPatterns(count=3, distractors=3, draws=2), checked=5
)
CLAIMS = [c for c in vars(claims).values() if isinstance(c, Claim)]


@pytest.fixture(scope="module")
def datasets() -> dict[str, xr.Dataset]:
    declared = {
        "li-attention": ATTENTION,
        "li-growth": GrowthOfScores(COURSE, shown=(0, 30, 60), early=30),
        "li-neurons": Alignment(COURSE, shown=(0, 60)),
        "li-hinge-margin": HingeMargin(COURSE, (1.0, 20.0), (1, 10), alpha=0.8, length=10, prompts=300),
        "li-training-map": TrainingMap(COURSE, alpha=0.8, length=10, prompts=2000),
    }
    return {slug: one.expect(one.run(0, "cpu"), 0) for slug, one in declared.items()}


@pytest.fixture(scope="module")
def models():
    return COURSE.models(0, "cpu")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_controls_fail_by_a_number(claim, datasets):
    """Not by a NaN or a missing label; two models may leave a control open, and none holds."""
    for control in claim.controls.values():
        found = claim.check(control(datasets[claim.experiment].copy(deep=True)))
        assert np.isfinite(found.worst()).all() and found.verdict(claim.margin) != HOLDS


@pytest.mark.parametrize("claim_id", ["L13e", "L14b", "L15b"])
def test_what_needs_no_long_training_holds_already(claim_id, datasets):
    claim = next(c for c in CLAIMS if c.id == claim_id)
    judgement = claim.judge(datasets[claim.experiment].drop_attrs().assign_attrs(profile="quick"))
    most = {"L14b": 0.03}.get(claim_id, claim.margin)  # the noise of a tiny batch
    assert judgement.verdict in (claim.recorded, UNDECIDED) and judgement.value <= most, judgement


def test_untrained_attention_is_the_odds_law_at_the_start(datasets):
    start = datasets["li-attention"].sel(step=0)
    for setting, g in (("A", 0.16), ("B", 0.64)):
        law = mechanism.attention_mass_from_gap(np.array([g]), 10, 0.4).item()
        assert np.allclose(start.mass_theory.sel(setting=setting), law, atol=1e-6)
        assert np.allclose(start.mass.sel(setting=setting), law, atol=0.03)


def test_the_example_is_a_softmax_sorted_by_pattern(datasets):
    found = datasets["li-attention"]
    own = (found.example_pattern == found.example_query).values
    assert np.allclose(found.example.sum("context"), 1) and own.any()
    assert not own[own.sum() :].any()  # the query's pattern comes first
    assert float(found.example.isel(step=-1)[own].sum()) > float(found.example.isel(step=0)[own].sum()) + 0.1


def test_other_contexts_by_hand():
    """One task (0, 1) of three patterns at share 0.8: of the others, 0.4/0.6 carry the partner and 0.2/0.6 the third."""
    others, queries = other_contexts(np.array([[0, 1]]), 3, 0.8)
    assert np.allclose(others, [[0, 2 / 3, 1 / 2], [2 / 3, 0, 1 / 2], [1 / 3, 1 / 3, 0]])
    assert queries.tolist() == [0.5, 0.5, 0.0]


def test_a_wrong_score_gradient_is_found(monkeypatch, datasets):
    monkeypatch.setattr(mechanism, "score_gradient", lambda attention, phi: attention * (phi - phi.mean()))
    assert float(ATTENTION.expect(datasets["li-attention"], 0).gradient_error.sel(step=60)) > 1e-3
    assert float(datasets["li-attention"].gradient_error.max()) < 1e-12


def test_growth_is_read_off_the_weights(models, datasets):
    trained, found = models["A"][60], datasets["li-growth"].sel(setting="A", step=60)
    W_Q, d, beta = trained.parameters["W_Q"].numpy(), 12, 2.0
    lengths = beta * np.linalg.norm(W_Q[:, :, :d], axis=1)
    assert np.allclose(found.length.sel(kind="relevant", quantity="|W_Q p|"), lengths[:, :6].mean(1))
    assert np.allclose(found.length.sel(kind="irrelevant", quantity="|W_Q p|"), lengths[:, 6:].mean(1))
    own = np.einsum("saj,saj->sj", trained.parameters["W_K"].numpy(), W_Q)[:, 6:d]
    assert np.allclose(found.change.sel(kind="irrelevant"), abs(own / 0.04 - 1).mean(1), atol=1e-9)
    assert np.isnan(found.length.sel(kind="relevant, in no task")).all()


def test_unnamed_patterns_are_those_of_no_task(models, datasets):
    half = datasets["li-growth"].length.sel(setting="half of the patterns", step=60, quantity="|W_Q p|")
    W_Q = models["half of the patterns"][60].parameters["W_Q"]
    assert np.allclose(half.sel(kind="relevant, in no task"), 2 * W_Q[:, :, 3:6].norm(dim=1).mean(-1))
    assert np.allclose(half.sel(kind="relevant"), 2 * W_Q[:, :, :3].norm(dim=1).mean(-1))


def test_scores_are_those_of_the_model(models):
    """A pattern as only context beside another: the difference of log attention is that of the scores."""
    trained = models["B"][60]
    model, x = trained.model(), trained.setting.patterns().relevant
    p = torch.cat([x, torch.zeros(6, 2, dtype=torch.float64)], -1)
    scores = torch.einsum("jd,sad,sae,ke->sjk", p, model.W_K, model.W_Q, p) / 16
    assert np.allclose(pattern_scores(trained)[:, :6, :6], scores)


def test_neurons_are_counted_as_by_a_loop(models, datasets):
    start, end = models["A"][0], models["A"][60]
    W_O, mu = end.parameters["W_O"], start.setting.patterns().relevant
    small = W_O.norm(dim=-1) < 0.5 * W_O.norm(dim=-1).amax(-1, keepdim=True)
    rows = 0.2 * start.parameters["W_O"]  # W_V = delta I
    right = np.array([[1.0 if r % 2 == 0 else -1.0 for r in range(24)]] * 2)
    at = lambda feature, s, r: float(rows[s, r, :12] @ feature + right[s, r] * rows[s, r, 12])  # noqa: E731
    lucky = np.array([[at(mu.mean(0), s, r) > 0 for r in range(24)] for s in range(2)])
    matches = np.array([[sum(at(mu_j, s, r) > 0 for mu_j in mu) for r in range(24)] for s in range(2)])
    found = datasets["li-neurons"].sel(setting="A")
    assert found["rows"].sel(start="lucky").values.tolist() == lucky.sum(1).tolist()
    assert found.small.sel(start="lucky").values.tolist() == (lucky & small.numpy()).sum(1).tolist()
    assert found.small.sel(start="right on no pattern").values.tolist() == ((matches == 0) & small.numpy()).sum(1).tolist()
    assert found.rows_matched.values.tolist() == np.bincount(matches.ravel(), minlength=7).tolist()


def test_the_map_is_read_off_what_the_model_gives_on_patterns(models, datasets):
    """Through the table of scores and the neurons of ``on``, in which a prompt's tokens are written."""
    found = datasets["li-training-map"]
    for name, step in (("A", 30), ("B", 60)):
        trained, cell = models[name][step], found.sel(setting=name, step=step)
        seen = trained.model().on(trained.setting.patterns())
        assert np.allclose(cell.scores, seen.table[0, :6, :6].T)
        feature, label = seen.neurons[0, :, :6].mean(-1).numpy(), seen.neurons[0, :, -1].numpy()
        assert np.allclose(cell.feature_response, feature) and np.allclose(cell.label_response, label)
        right = [feature[r] + label[r] * (-1) ** r > 0 for r in range(24)]
        wrong = [feature[r] - label[r] * (-1) ** r > 0 for r in range(24)]
        pairs = [(True, False), (True, True), (False, True), (False, False)]
        assert cell["rows"].values.tolist() == [list(zip(right, wrong, strict=True)).count(pair) for pair in pairs]


def test_the_map_and_the_course_of_attention_agree(datasets):
    """Other prompts of the same distribution, the same networks."""
    course = datasets["li-attention"].mass.sel(split="unseen tasks")
    assert float(abs(datasets["li-training-map"].mass - course).max()) < 0.03


def test_one_resumed_step_is_a_gradient_step(models):
    trained = models["A"][30]
    setting = trained.setting
    (moved,), (wider,) = resume(trained, (1.0, 5.0), (1,), 7, "cpu")
    law = setting.law(task_set(setting.tasks, setting.M1), setting.alpha)
    law = replace(law, patterns=type(law.patterns)(*(rows.float() for rows in law.patterns)))
    codes = law.codes(stream(7, "margin/0"), (4, setting.B), setting.l)
    prompts = write(type(codes)(*(part[0] for part in codes)), law.patterns)
    leaves = {name: w[0].float().requires_grad_() for name, w in trained.parameters.items()}
    model = SoftmaxAttentionMLP(**leaves, a=trained.model().a.float(), q=setting.label().float())
    slopes = torch.autograd.grad(hinge(prompts.y_query * model(prompts)).mean(), list(leaves.values()))
    for (name, w), slope in zip(leaves.items(), slopes, strict=True):
        assert np.allclose(moved.parameters[name][0], (w - slope).detach(), atol=1e-6)
    assert not np.allclose(moved.parameters["W_O"][0], trained.parameters["W_O"][0], atol=1e-4)
    assert moved.parameters["W_O"].shape == wider.parameters["W_O"].shape == (2, 24, 14)


@pytest.mark.parametrize("marks", [(), (0, 3), (3, 2), (2, 2)])
def test_resumed_marks_are_checked(models, marks):
    with pytest.raises(ValueError, match="must rise from 1 or more"):
        resume(models["A"][60], (1.0,), marks, 0, "cpu")


def test_course_runs_from_the_start_to_the_end():
    assert tuple(COURSE.models(0, "cpu")) == NAMES
    with pytest.raises(ValueError, match="begin at 0 and end at T"):
        replace(COURSE, marks=(0, 30))
    with pytest.raises(ValueError, match="take steps out of the marks"):
        Alignment(COURSE, shown=(0, 45))
