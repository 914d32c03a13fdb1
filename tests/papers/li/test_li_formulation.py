"""Section 2 of Li et al.: prompt, model and start, by a second route and by hand."""

from dataclasses import replace
from itertools import product
from math import exp, pi, sqrt

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.integrate import quad

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.li.patterns import Codes, PatternClassification, combined_patterns, orthogonal_patterns, write
from papers.li.s2_formulation import claims
from papers.li.s2_formulation import start as start_experiment
from papers.li.s2_formulation.start import Start
from papers.li.s2_formulation.training import Course, blind
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights
from papers.li.task_sets import task_set
from papers.li.theory import start
from papers.li.trained import A, train_models

SMALL = replace(A, M2=4, d_Y=2, m=8, B=16, T=4)

# --- prompt and model from the displayed equations, in plain loops ---------------------------------------------------


def loop_prompt(codes, relevant, irrelevant, q):
    """Columns p_1..p_l and p_query of one prompt: x = mu_j + kappa nu_k, y = +-q, and (x_query; 0)."""
    pattern, distractor, kappa, y = (part.tolist() for part in codes)
    columns = []
    for i in range(len(pattern)):
        x = [float(relevant[pattern[i]][c]) + kappa[i] * float(irrelevant[distractor[i]][c]) for c in range(len(relevant[0]))]
        last = i == len(pattern) - 1
        columns.append(x + [0.0 if last else y[i] * float(part) for part in q])
    return columns


def loop_model(W_Q, W_K, W_V, W_O, a, columns):
    """F = a^T ReLU(W_O sum_i W_V p_i attn_i), attn = softmax over the contexts of (W_K p_i)^T W_Q p_query."""

    def times(W, p):
        return [sum(W[i][j] * p[j] for j in range(len(p))) for i in range(len(W))]

    asked = times(W_Q, columns[-1])
    scores = [sum(k * s for k, s in zip(times(W_K, p), asked, strict=True)) for p in columns[:-1]]
    attention = [exp(score) / sum(exp(other) for other in scores) for score in scores]
    value = [0.0] * len(W_V)
    for weight, p in zip(attention, columns[:-1], strict=True):
        value = [v + weight * part for v, part in zip(value, times(W_V, p), strict=True)]
    hidden = [max(0.0, h) for h in times(W_O, value)]
    return sum(w * h for w, h in zip(a, hidden, strict=True)), attention


def random_model(D: int, m: int, d_Y: int) -> SoftmaxAttentionMLP:
    shapes = {"W_Q": (3, D), "W_K": (3, D), "W_V": (5, D), "W_O": (m, 5), "a": (m,), "q": (d_Y,)}
    return SoftmaxAttentionMLP(
        **{k: torch.randn(shape, generator=stream(1, k), dtype=torch.float64) for k, shape in shapes.items()}
    )


@pytest.mark.parametrize(("M1", "l", "beta"), [(3, 1, 1.0), (4, 3, 0.7), (5, 6, 2.0)])
def test_model_and_prompt_against_plain_loops(M1, l, beta):
    patterns = orthogonal_patterns(M1, 4, M1 + 4, beta)
    model = random_model(M1 + 4 + 2, 7, 2)
    codes = PatternClassification(patterns, task_set("all", M1), 0.6, 0.5).codes(stream(0, "codes"), (6,), l)
    prompts, short = write(codes, patterns), model.on(patterns)
    weights = [getattr(model, name).tolist() for name in ("W_Q", "W_K", "W_V", "W_O", "a")]
    for b in range(6):
        columns = loop_prompt([part[b] for part in codes], patterns.relevant, patterns.irrelevant, model.q)
        F, attention = loop_model(*weights, columns)
        for found in (model(prompts)[b], short(codes)[b]):
            assert float(found) == pytest.approx(F, rel=1e-11, abs=1e-13)
        for found in (model.attention(prompts)[b], short.attention(codes)[b]):
            assert found.tolist() == pytest.approx(attention, rel=1e-11)
    if l > 1:
        columns[-1] = columns[0]  # a planted fault: another query, with a label; one context takes all attention anyway
        assert loop_model(*weights, columns)[0] != pytest.approx(float(model(prompts)[5]), rel=1e-6)


def test_combined_patterns_in_the_model():
    own = orthogonal_patterns(5, 4, 9, 1.5)
    relevant = combined_patterns(stream(0, "odr"), own.relevant, 3, 0.8, 1)[0]
    patterns, model = own._replace(relevant=relevant), random_model(11, 6, 2)
    codes = PatternClassification(patterns, task_set("all", 3), 0.9, 0.3).codes(stream(0, "codes"), (4,), 5)
    weights = [getattr(model, name).tolist() for name in ("W_Q", "W_K", "W_V", "W_O", "a")]
    for b in range(4):
        F, _ = loop_model(*weights, loop_prompt([part[b] for part in codes], relevant, own.irrelevant, model.q))
        assert float(model.on(patterns)(codes)[b]) == pytest.approx(F, rel=1e-11)


def test_prompt_of_the_notebook_by_hand():
    """Scores (ln 4, 0, 0): attention (4, 1, 1)/6; labels +1, -1, -1: mean 1/3; neurons 1 +- 1; F = 2. Uniform: -1/3, F = -2."""
    prompt = Prompts(torch.eye(3).double(), torch.tensor([1.0, -1, -1]).double(), torch.eye(3)[0].double(), torch.tensor(1.0))
    prompt = Prompts(*(part[None] for part in prompt))
    W = np.log(4) ** 0.5 * torch.diag(torch.tensor([1.0, 1, 1, 0])).double()
    rows, a = torch.tensor([[1.0, 1, 1, 3], [1, 1, 1, -3]]).double(), torch.tensor([1.0, -1]).double()
    model = SoftmaxAttentionMLP(W, W, torch.eye(4).double(), rows, a, torch.ones(1).double())
    assert model.attention(prompt)[0].tolist() == pytest.approx([4 / 6, 1 / 6, 1 / 6])
    assert model(prompt).item() == pytest.approx(2)
    assert replace(model, W_Q=0 * W)(prompt).item() == pytest.approx(-2)


# --- the start in closed form -----------------------------------------------------------------------------------------


def enumerate_prompts(alpha: float, l: int, M1: int):
    """Every prompt of a task (0, 1) with query 0, z = 1: probability, patterns and labels."""
    other = (1 - alpha) / (M1 - 2) / 2
    token = [(0, 1, alpha / 2), (1, -1, alpha / 2)] + [(j, y, other) for j in range(2, M1) for y in (1, -1)]
    for chosen in product(token, repeat=l):
        yield np.prod([p for *_, p in chosen]), [j for j, *_ in chosen], np.array([y for _, y, _ in chosen])


@pytest.mark.parametrize(("alpha", "l", "M1", "g"), [(0.6, 3, 4, 1.0), (0.8, 3, 3, 1.7), (1.0, 4, 3, 2.5)])
def test_start_against_every_prompt(alpha, l, M1, g):
    here, mass, uniform, signal, square = 0.0, 0.0, 0.0, 0.0, 0.0
    beta, K, q = 1.3, 0.4, 0.7
    for P, pattern, y in enumerate_prompts(alpha, l, M1):
        weight = np.array([g if j == 0 else 1.0 for j in pattern])
        weight /= weight.sum()
        own = np.array([j == 0 for j in pattern])
        here, mass, uniform = here + P * own.any(), mass + P * weight[own].sum(), uniform + P * own.mean()
        signal += P * weight @ y
        for signs in product((1, -1), repeat=l):  # kappa = +-K/sqrt(3) has the variance of U(-K, K)
            x = [beta * weight[np.array(pattern) == j].sum() for j in range(M1)]
            noise = beta * (weight @ np.array(signs)) * K / sqrt(3)
            square += P / 2**l * (sum(part**2 for part in x) + noise**2 + (q * weight @ y) ** 2)
    assert start.present(alpha, l) == pytest.approx(here, rel=1e-12)
    assert start.mass(alpha, l, g) == pytest.approx(mass / here, rel=1e-12)
    assert start.uniform_mass(alpha, l) == pytest.approx(uniform / here, rel=1e-12)
    assert start.label_signal(alpha, l, g) == pytest.approx(signal, rel=1e-11, abs=1e-14)
    assert start.mean_square(alpha, l, g, M1=M1, beta=beta, K=K, q=q) == pytest.approx(square, rel=1e-11)


def test_start_by_hand():
    """alpha = 1, l = 2, g = 3: n = 0, 1, 2 with probability 1/4, 1/2, 1/4 and mass -, 3/4, 1."""
    assert start.present(1.0, 2) == 0.75
    assert start.uniform_mass(1.0, 2) == pytest.approx(2 / 3)
    assert start.mass(1.0, 2, 3.0) == pytest.approx((3 / 8 + 1 / 4) / (3 / 4))
    assert start.label_signal(1.0, 2, 3.0) == pytest.approx(-1 / 4 + 1 / 4 + 1 / 4)
    assert start.mean_square(1.0, 1, 5.0, M1=3, beta=2.0, K=0.6, q=0.5) == pytest.approx(4 * (1 + 0.12) + 0.25)
    assert start.ratio(0.2, 2.0) == pytest.approx(exp(0.16))
    assert start.long_mass(0.8, 2.0) == pytest.approx(0.8 / 1.4)
    assert start.long_mass(0.8, 1.5) == pytest.approx(start.mass(0.8, 100_000, 1.5), rel=1e-4)
    assert start.blind_hinge(np.array([0.3, -2.0, 1.5])).tolist() == [1.0, 1.5, 1.25]
    assert [(max(0, 1 - F) + max(0, 1 + F)) / 2 for F in (0.3, -2.0, 1.5)] == [1.0, 1.5, 1.25]


def test_output_size_is_the_spread_of_a_relu():
    def moment(k):
        return quad(lambda h: h**k * exp(-(h**2) / 2) / sqrt(2 * pi), 0, 20)[0]

    assert start.output_size(2.0, 3.0, 1.0) == pytest.approx(6 * sqrt(moment(2) - moment(1) ** 2), rel=1e-9)
    assert start.output_size_coins(2.0, 3.0, 1.0) == pytest.approx(6 * sqrt(moment(2)), rel=1e-9)
    assert start.output_size(2.0, 3.0, 4.0) == 2 * start.output_size(2.0, 3.0, 1.0)


@pytest.mark.parametrize(("alpha", "l"), [(0.0, 5), (1.2, 5), (0.5, 0)])
def test_bad_numbers_are_refused(alpha, l):
    for formula in (start.present, start.uniform_mass, lambda alpha, l: start.mass(alpha, l, 1.0)):
        with pytest.raises(ValueError, match="context"):
            formula(alpha, l)


# --- experiments --------------------------------------------------------------------------------------------------------


def result(declaration) -> xr.Dataset:
    return declaration.expect(declaration.run(0, "cpu"), 0)


@pytest.fixture(scope="module")
def untrained() -> xr.Dataset:
    return result(Start(setting=SMALL, beta=(1.0, 4.0), length=(3, 8), seeds=10, networks=15, prompts=40))


def test_start_experiment(untrained):
    judgement = claims.L1b.judge(untrained)
    assert judgement.verdict != "fails" and judgement.control_verdict == "fails"
    assert abs(untrained.mass.mean("seed") - untrained.mass_theory).max() < 0.02
    assert untrained.query_norm.values == pytest.approx([0.2, 0.8])
    assert abs(untrained.error.mean() - 0.5) < 0.02
    assert abs(untrained.hinge.mean() - 1) < 1e-3
    assert (untrained.error_label_neurons.mean("seed") < untrained.error.mean("seed")).all()


def test_a_wrong_start_is_noticed(monkeypatch):
    def twice(generator, d_X, d_Y, m, delta, xi):
        return initial_weights(generator, d_X, d_Y, m, 2 * delta, xi)

    monkeypatch.setattr(start_experiment, "initial_weights", twice)
    faulty = result(Start(setting=SMALL, beta=(2.0,), length=(8,), seeds=10, networks=10, prompts=40))
    assert claims.L1b.judge(faulty).verdict == "fails"
    assert (faulty.square.mean("seed") > 2 * faulty.square_theory).all()


def test_blind_models_do_not_see_the_query():
    trained = train_models((SMALL,), 2, 0, "cpu")[SMALL.T][0]
    patterns = SMALL.patterns()
    codes = SMALL.law(task_set("all", 6), 0.8).codes(stream(0, "codes"), (2, 50), 6)
    other = Codes(codes.pattern.clone(), *codes[1:])
    other.pattern[..., -1] = (other.pattern[..., -1] + 1) % 6
    hidden, seeing = (models.model().on(patterns) for models in (blind(trained), trained))
    assert torch.equal(hidden(codes), hidden(other))
    assert not torch.equal(seeing(codes), seeing(other))
    assert hidden.attention(codes) == pytest.approx(1 / 6)


def test_training_experiment():
    setting = replace(A, M2=6, m=20, B=32, T=80, eta=1.5)
    course = Course(setting=setting, tasks=("cyclic 3", "cyclic 1", "one-sided"), steps=(0, 30), seeds=2, prompts=400)
    dataset = result(course)
    assert dataset.step.values.tolist() == [0, 30, 80]
    assert float(dataset.absent) == pytest.approx(0.6**20)
    assert abs(dataset.hinge_training.sel(step=0) - 1).max() < 0.01
    assert float(dataset.hinge_training.isel(step=-1).max()) < 0.05
    assert abs(dataset.hinge_blind - dataset.hinge_blind_theory).max() < 0.1
    assert float(dataset.error_unseen.isel(step=-1).sel(tasks="one-sided").min()) > 0.2
    assert claims.L2.judge(dataset).control_verdict == "fails"
    stuck = dataset.assign(error_training=dataset.error_training + 0.1)
    assert claims.L2.judge(stuck).verdict == "fails"
