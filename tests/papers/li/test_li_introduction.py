"""Section 1 of Li et al.: the variants without softmax or ReLU, by a second route and by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.seeds import stream
from papers.li.patterns import Codes, PatternClassification, Patterns, orthogonal_patterns, write
from papers.li.s1_introduction import claims
from papers.li.s1_introduction import nonlinearity as experiment
from papers.li.s1_introduction.nonlinearity import Nonlinearity
from papers.li.s1_introduction.trained_variants import train_variant
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.softmax_attention_variants import VARIANTS, LinearMLP, variant
from papers.li.task_sets import task_set
from papers.li.theory import nonlinearity, start
from papers.li.trained import A, train_models

PATTERNS = orthogonal_patterns(4, 3, 8, 1.2)


def random_model(d: int = 8, m: int = 6) -> SoftmaxAttentionMLP:
    D = d + 2
    shapes = {"W_Q": (3, D), "W_K": (3, D), "W_V": (5, D), "W_O": (m, 5), "a": (m,), "q": (2,)}
    return SoftmaxAttentionMLP(
        **{k: torch.randn(shape, generator=stream(2, k), dtype=torch.float64) for k, shape in shapes.items()}
    )


def arrays(model: SoftmaxAttentionMLP) -> dict[str, np.ndarray]:
    return {name: getattr(model, name).numpy() for name in ("W_Q", "W_K", "W_V", "W_O", "a", "q")}


def loop_output(name: str, model: SoftmaxAttentionMLP, x, y, x_query) -> tuple[float, list[float]]:
    """One prompt, one context at a time."""
    W = arrays(model)
    tokens = [np.concatenate([x[i], y[i] * W["q"]]) for i in range(len(y))]
    query = W["W_Q"] @ np.concatenate([x_query, 0 * W["q"]])
    scores = [float((W["W_K"] @ p) @ query) for p in tokens]
    attention, mlp = name.split(", ")
    if attention == "softmax":
        weights = [np.exp(s) / sum(np.exp(t) for t in scores) for s in scores]
    else:
        weights = [(s + (attention == "shifted linear")) / len(scores) for s in scores]
    hidden = W["W_O"] @ sum(w * (W["W_V"] @ p) for w, p in zip(weights, tokens, strict=True))
    return float(sum(a * (max(h, 0) if mlp == "ReLU" else h) for a, h in zip(W["a"], hidden, strict=True))), weights


@pytest.mark.parametrize("name", list(VARIANTS))
def test_variants_against_plain_loops(name):
    model = random_model()
    codes = PatternClassification(PATTERNS, task_set("all", 4), 0.7, 0.5).codes(stream(0, "codes"), (8,), 5)
    prompts, found = write(codes, PATTERNS), variant(name, model, PATTERNS)
    for b in range(8):
        F, weights = loop_output(name, model, prompts.x[b].numpy(), prompts.y[b].numpy(), prompts.x_query[b].numpy())
        assert float(found(codes)[b]) == pytest.approx(F, rel=1e-11, abs=1e-13)
        assert found.attention(codes)[b].tolist() == pytest.approx(weights, rel=1e-11, abs=1e-13)
        others = [other for other in VARIANTS if other != name]
        assert all(float(variant(other, model, PATTERNS)(codes)[b]) != pytest.approx(F, rel=1e-6) for other in others)


def test_the_first_variant_is_the_model_and_unknown_ones_are_refused():
    assert type(variant("softmax, ReLU", random_model(), PATTERNS)) is type(random_model().on(PATTERNS))
    with pytest.raises(ValueError, match="unknown variant"):
        variant("hardmax, ReLU", random_model(), PATTERNS)


@pytest.mark.parametrize("name", ["softmax, linear", "linear, linear"])
def test_a_linear_mlp_is_a_vote_and_a_feature_term(name):
    model = random_model()
    codes = PatternClassification(PATTERNS, task_set("all", 4), 0.7, 0.5).codes(stream(0, "codes"), (3,), 4)
    prompts, found, W = write(codes, PATTERNS), variant(name, model, PATTERNS), arrays(model)
    u = nonlinearity.readout(W["a"], W["W_O"], W["W_V"])
    for b in range(3):
        attention, x, y = found.attention(codes)[b].numpy(), prompts.x[b].numpy(), prompts.y[b].numpy()
        assert nonlinearity.vote(attention, x, y, u, W["q"]) == pytest.approx(float(found(codes)[b]), rel=1e-11)


def test_vote_by_hand():
    """u = (1, 2; 3), q = 2: vote 6 (1/2 - 1/4), features 1/2 (1 + 2) + 1/4 (2)."""
    x, u = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    assert nonlinearity.vote(np.array([0.5, 0.25]), x, np.array([1.0, -1.0]), u, np.array([2.0])) == 1.5 + 1.5 + 0.5


# --- the mean margin without both nonlinearities -------------------------------------------------------------------------


def exact_margin(model: SoftmaxAttentionMLP, patterns: Patterns, alpha: float, l: int, name: str) -> float:
    """E z F over all tasks, both queries and every prompt without distractors, for 3 patterns."""
    P, pattern, y = [], [], []
    for a, b in task_set("all", 3).tolist():
        c = 3 - a - b
        token = [(a, 1.0, alpha / 2), (b, -1.0, alpha / 2), (c, 1.0, (1 - alpha) / 2), (c, -1.0, (1 - alpha) / 2)]
        for z, chosen in product((1.0, -1.0), product(token, repeat=l)):
            P.append(np.prod([p for *_, p in chosen]) / 12)
            pattern.append([j for j, *_ in chosen] + [a if z > 0 else b])
            y.append([label for _, label, _ in chosen] + [z])
    index, labels = torch.tensor(pattern), torch.tensor(y, dtype=torch.float64)
    F = variant(name, model, patterns)(Codes(index, 0 * index, 0 * labels, labels))
    return float((torch.tensor(np.array(P)) * labels[:, -1] * F).sum())


def test_mean_margin_against_every_prompt():
    patterns = orthogonal_patterns(3, 1, 4, 1.3)
    model = random_model(4)
    W = arrays(model)
    u = nonlinearity.readout(W["a"], W["W_O"], W["W_V"])
    G = nonlinearity.margin_slope(patterns.relevant.numpy(), W["W_K"].T @ W["W_Q"], u, W["q"])
    for alpha, l in ((0.3, 1), (0.8, 2), (1.0, 2)):
        assert exact_margin(model, patterns, alpha, l, "linear, linear") == pytest.approx(alpha / 2 * G, rel=1e-10)
    softmax = [exact_margin(model, patterns, alpha, 3, "softmax, linear") for alpha in (0.4, 0.8)]
    assert softmax[1] != pytest.approx(2 * softmax[0], rel=0.05)


def test_mean_margin_by_hand():
    """M = identity on features, u = (0; 1), q = 3, |mu| = 2: (4 - 0) 3. With u_X: no label in the scores, no effect."""
    relevant, eye = 2 * np.eye(3), np.diag([1.0, 1, 1, 0])
    for u_X in (0.0, 5.0):
        u = np.array([u_X, 0, 0, 1.0])
        assert nonlinearity.margin_slope(relevant, eye, u, np.array([3.0])) == pytest.approx(12)


# --- other formulas -------------------------------------------------------------------------------------------------------


def test_two_types_by_hand_and_as_a_network():
    assert nonlinearity.two_types(1.0, 1.0, 0.5, gamma=0.4, eta=2.0) == pytest.approx(1.4)
    assert nonlinearity.two_types(-1.0, 1.0, 0.5, gamma=0.4, eta=2.0) == pytest.approx(0.6)
    assert nonlinearity.two_types(1.0, 0.5, -0.5, gamma=0.4, eta=2.0) == pytest.approx(-1.2)
    assert nonlinearity.two_types(1.0, 1.0, 0.1, gamma=0.4, eta=2.0) == pytest.approx(0.4)  # both gates open
    assert nonlinearity.two_types_linear(0.5, eta=2.0) == 2.0
    own = orthogonal_patterns(4, 3, 7, 2.0)
    h = torch.cat([own.relevant.sum(0) / 4, torch.zeros(1)]).double()
    rows = torch.stack([0.4 * h, 0.4 * h]) + torch.tensor([[0.0] * 7 + [2.0], [0.0] * 7 + [-2.0]]).double()
    one, a = torch.ones(1).double(), torch.tensor([1.0, -1.0]).double()
    model = SoftmaxAttentionMLP(*3 * (torch.eye(8).double(),), rows, a, one)
    codes = PatternClassification(own, task_set("all", 4), 0.7, 0.0).codes(stream(0, "codes"), (20,), 5)
    for scale in (0.5, 1.0, -0.3):
        patterns = Patterns(scale * own.relevant, own.irrelevant)
        short = model.on(patterns)
        votes = (short.attention(codes) * codes.y[:, :-1]).sum(-1).tolist()
        expected = [nonlinearity.two_types(scale, 1.0, v, gamma=0.4, eta=2.0) for v in votes]
        assert short(codes).tolist() == pytest.approx(expected, rel=1e-11)


def test_first_signals():
    for alpha, l in ((0.8, 20), (0.5, 3)):
        c = 1e-5
        exact = start.label_signal(alpha, l, np.exp(c))
        assert nonlinearity.softmax_signal(c, alpha, l) == pytest.approx(exact, rel=1e-4)
    P = [(0.4, 1.0, 1.0), (0.4, 0.0, -1.0), (0.1, 0.0, 1.0), (0.1, 0.0, -1.0)]  # probability, same pattern, z y
    assert nonlinearity.linear_signal(0.3, 0.8) == pytest.approx(sum(p * 0.3 * same * zy for p, same, zy in P))


def test_absent_error_by_hand_and_by_every_prompt():
    assert nonlinearity.absent_error(0.8, 2, 1) == pytest.approx(0.36 * (25 + 5) / 36)
    assert nonlinearity.absent_error(0.8, 2, -1) == pytest.approx(0.36 * (1 + 5) / 36)
    for sign in (1, -1):
        total = 0.0
        for chosen in product([(-1, 0.3), (1, 0.2), (-1, 0.2)], repeat=3):  # alpha = 0.6: the partner, and the others
            vote = sign * sum(y for y, _ in chosen)
            total += np.prod([p for _, p in chosen]) * (vote < 0)
        assert nonlinearity.absent_error(0.6, 3, sign) == pytest.approx(total)
    with pytest.raises(ValueError, match="sign = 0"):
        nonlinearity.absent_error(0.8, 2, 0)


# --- the experiment ---------------------------------------------------------------------------------------------------------

TINY = Nonlinearity(
    setting=replace(A, M2=4, d_Y=2, m=12, B=32, T=110),
    eta=(0.8,),
    seeds=4,
    alpha=(0.4, 0.8),
    S_1=(-1.0, 1.0),
    short=(2, 4),
    length=15,
    draws=4,
    prompts=400,
)


@pytest.fixture(scope="module")
def tiny() -> xr.Dataset:
    return TINY.expect(TINY.run(0, "cpu"), 0)


def test_training_equals_the_core():
    setting = replace(TINY.setting, T=4)
    ours = train_variant("softmax, ReLU", setting, (0.5, 1.0), 2, 3, "cpu")
    core = train_models((replace(setting, eta=0.5), setting), 2, 3, "cpu")[4]
    for mine, theirs in zip(ours, core, strict=True):
        assert mine.setting == theirs.setting
        for name, value in mine.parameters.items():
            assert torch.allclose(value, theirs.parameters[name], rtol=1e-4, atol=1e-6)


def test_experiment_on_a_tiny_declaration(tiny):
    assert abs(tiny.total_S_1.sel(variant=["softmax, ReLU", "softmax, linear"]) - 1).max() < 1e-9
    assert (tiny.feature.sel(variant=["softmax, linear", "linear, linear"]) == 0).all()
    assert (tiny.error_blind.sel(variant=["linear, ReLU", "linear, linear"]) == 0.5).all()
    assert abs(tiny.error_blind - 0.5).max() < 0.1
    for claim in (claims.L0a, claims.L0b, claims.L0c, claims.L0d):
        judged = claim.judge(tiny.assign_attrs(profile="quick"))
        assert judged.control_verdict == "fails" or claim is claims.L0b, claim.id  # two models do not resolve 1/l
        assert judged.verdict != "fails", claim.id


def test_a_variant_in_the_wrong_place_is_noticed(tiny, monkeypatch):
    monkeypatch.setitem(VARIANTS, "linear, linear", LinearMLP)  # softmax where none should be
    short = replace(TINY, setting=replace(TINY.setting, T=40), prompts=200, seeds=6)
    faulty = short.expect(short.run(0, "cpu"), 0)
    assert claims.L0b.judge(faulty).verdict == "fails"
    doubled = tiny.assign(feature=2 * tiny.feature)
    assert claims.L0c.judge(doubled).verdict == "fails"


def test_step_sizes_are_chosen_by_training_loss():
    models = train_variant("linear, linear", replace(TINY.setting, T=20), (1e-6, 1.0), 2, 0, "cpu")
    assert experiment._best(models).setting.eta == 1.0
    broken = models[1]._replace(losses=torch.full_like(models[1].losses, torch.nan))
    assert experiment._best((models[0], broken)).setting.eta == 1e-6
    assert experiment._half_time(torch.tensor([[1.0, 1.0]] * 15 + [[0.0, 1.0]] * 15)).tolist() == [11.0, 30.0]
