"""Every prompt distribution against its definition: moments, labels, bad input, equal streams."""

import pytest
import torch

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts, antithetic, covariance_root
from icl_lib.tasks.regression import CubicLabels, LinearLabels, LinearRegression, QueryShift, linear_labels
from papers.regression.prompts import (
    NoisyContext,
    OrthantContext,
    OrthogonalQuery,
    RepeatedQuery,
    ScaledInputs,
    ScaledWeights,
    SkewedCovariance,
    SubspaceInputs,
)
from papers.zhang.random_covariance import ExponentialSpectrum, RandomDiagonalRegression, UniformSpectrum

# Not diagonal, condition number about 60: a transposed or missing matrix shows.
LAMBDA = torch.tensor([[1.0, 0.5, -0.4], [0.5, 0.61, -0.02], [-0.4, -0.02, 0.29]], dtype=torch.float64)
OTHER = torch.tensor([[1.0, -0.4, 0.0], [-0.4, 0.7, 0.1], [0.0, 0.1, 2.0]], dtype=torch.float64)
W = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
SCALE = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
EYE = torch.eye(3, dtype=torch.float64)

LAWS = {
    "linear regression": LinearRegression(LAMBDA),
    "linear labels": LinearLabels(LAMBDA, W, 0.5),
    "cubic labels": CubicLabels(LAMBDA, W),
    "query shift": QueryShift(LAMBDA, OTHER, W),
    "noisy context": NoisyContext(3, 0.5),
    "scaled inputs": ScaledInputs(3, 2.0),
    "scaled weights": ScaledWeights(3, 2.0),
    "skewed covariance": SkewedCovariance(3),
    "subspace": SubspaceInputs(3, 2),
    "orthant": OrthantContext(3),
    "orthogonal query": OrthogonalQuery(LAMBDA),
    "repeated query": RepeatedQuery(LAMBDA),
    "exponential spectrum": RandomDiagonalRegression(ExponentialSpectrum(SCALE)),
    "uniform spectrum": RandomDiagonalRegression(UniformSpectrum(SCALE / 2, SCALE)),
}
NOISELESS = [name for name in LAWS if name not in ("linear labels", "cubic labels", "noisy context")]


def sample(law, size: int = 40_000, length: int = 4, name: str = "prompts") -> Prompts:
    return law.sample(stream(0, name), (size,), length)


def assert_mean(samples: torch.Tensor, expected) -> None:
    """Every entry of the mean over the first dimension lies within 5 standard errors of what it should be."""
    error = samples.std(dim=0) / len(samples) ** 0.5
    assert ((samples.mean(dim=0) - torch.as_tensor(expected)).abs() <= 5 * error + 1e-12).all()


def outer(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.einsum("bi,bj->bij", a, b)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_shapes_precision_and_equal_draws(law):
    x, y, x_query, y_query = prompts = law.sample(stream(0, "a"), (2, 5), 2)
    assert (x.shape, y.shape, x_query.shape, y_query.shape) == ((2, 5, 2, 3), (2, 5, 2), (2, 5, 3), (2, 5))
    assert {part.dtype for part in prompts} == {torch.float64}
    again, other = law.sample(stream(0, "a"), (2, 5), 2), law.sample(stream(0, "b"), (2, 5), 2)
    assert all(torch.equal(part, same) for part, same in zip(prompts, again, strict=True))
    assert not torch.equal(x, other.x) and not torch.equal(y_query, other.y_query)


@pytest.mark.parametrize("name", NOISELESS)
def test_noiseless_labels_share_one_linear_function(name):
    """The least-norm w that fits context and query together fits them exactly, and no two prompts share it."""
    length = 2 if name == "orthogonal query" else 4
    x, y, x_query, y_query = sample(LAWS[name], 50, length)
    inputs, labels = torch.cat([x, x_query[:, None]], 1), torch.cat([y, y_query[:, None]], 1)
    w = torch.einsum("bdm,bm->bd", torch.linalg.pinv(inputs, rtol=1e-10), labels)
    assert torch.allclose(torch.einsum("bmd,bd->bm", inputs, w), labels, atol=1e-8)
    if name != "query shift":
        assert len(torch.unique(w.round(decimals=6), dim=0)) == 50


def task_weights(prompts: Prompts) -> torch.Tensor:
    return torch.einsum("bdm,bm->bd", torch.linalg.pinv(prompts.x), prompts.y)


@pytest.mark.parametrize(
    ("name", "covariance"),
    [("linear regression", LAMBDA), ("linear labels", LAMBDA), ("cubic labels", LAMBDA), ("query shift", LAMBDA)]
    + [("repeated query", LAMBDA), ("scaled inputs", 4 * EYE), ("scaled weights", EYE), ("noisy context", EYE)]
    + [("subspace", EYE), ("orthant", EYE), ("exponential spectrum", SCALE.diag())]
    + [("uniform spectrum", 0.75 * SCALE.diag())],
)
def test_inputs_have_the_declared_covariance(name, covariance):
    x = sample(LAWS[name]).x
    assert_mean(outer(x[:, 0], x[:, 0]), covariance)
    assert_mean(outer(x[:, -1], x[:, -1]), covariance)
    assert_mean(x[:, 1], torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("name", ["linear regression", "scaled weights", "exponential spectrum", "repeated query"])
def test_examples_are_uncorrelated(name):
    x = sample(LAWS[name]).x
    assert_mean(outer(x[:, 0], x[:, 1]), torch.zeros(3, 3, dtype=torch.float64))


@pytest.mark.parametrize(("name", "scale"), [("linear regression", 1), ("scaled weights", 2), ("scaled inputs", 1)])
def test_tasks_are_drawn_from_the_declared_normal(name, scale):
    w = task_weights(sample(LAWS[name], 20_000, 8))
    assert_mean(outer(w, w), scale**2 * EYE)
    assert_mean(w**4, torch.full((3,), 3.0 * scale**4, dtype=torch.float64))


def test_linear_regression_queries_are_fresh():
    prompts = sample(LAWS["linear regression"])
    assert_mean(outer(prompts.x_query, prompts.x_query), LAMBDA)
    assert_mean(outer(prompts.x_query, prompts.x[:, 0]), torch.zeros(3, 3, dtype=torch.float64))


def test_linear_labels_carry_noise_everywhere():
    x, y, x_query, y_query = sample(LAWS["linear labels"])
    noise, query_noise = y - x @ W, y_query - x_query @ W
    assert_mean(noise**2, 0.25)
    assert_mean(query_noise**2, 0.25)
    assert_mean(noise * query_noise[:, None], 0.0)
    assert_mean(outer(x_query, x_query), LAMBDA)
    clean = sample(LinearLabels(LAMBDA, W, 0.0))
    assert torch.allclose(clean.y_query, clean.x_query @ W) and torch.allclose(clean.y, clean.x @ W)


def test_cubic_labels():
    x, y, x_query, y_query = sample(LAWS["cubic labels"])
    assert torch.allclose(y, (x @ W) ** 3) and torch.allclose(y_query, (x_query @ W) ** 3)
    assert_mean(outer(x_query, x_query), LAMBDA)


def test_query_shift_moves_the_query_alone():
    x, y, x_query, y_query = sample(LAWS["query shift"])
    assert_mean(outer(x_query, x_query), OTHER)
    assert torch.allclose(y, x @ W) and torch.allclose(y_query, x_query @ W)


def test_noisy_context_has_a_clean_target():
    noisy, clean = sample(LAWS["noisy context"]), sample(NoisyContext(3, 0.0))
    assert torch.equal(noisy.y_query, clean.y_query) and torch.equal(noisy.x, clean.x)
    assert_mean((noisy.y - clean.y) ** 2, 0.25)
    assert torch.allclose(torch.einsum("bd,bd->b", task_weights(clean), clean.x_query), clean.y_query, atol=1e-6)


def test_skewed_covariance_by_hand():
    """d = 3: eigenvalues proportional to 1, 1/4, 1/9 with sum 3, so 108/49, 27/49, 12/49."""
    law = LAWS["skewed covariance"]
    x = sample(law, 100_000).x.reshape(-1, 3)
    eigenvalues = torch.linalg.eigvalsh(x.mT @ x / len(x))
    assert torch.allclose(eigenvalues, torch.tensor([12, 27, 108], dtype=torch.float64) / 49, rtol=0.02)
    bases = [torch.linalg.eigh(torch.cov(sample(law, 20_000, name=name).x[:, 0].mT)).eigenvectors for name in "ab"]
    assert (bases[0].mT @ bases[1]).abs().max(dim=0).values.min() < 0.95


def test_subspace_prompts_span_k_dimensions():
    x, _, x_query, _ = sample(LAWS["subspace"], 200)
    singular = torch.linalg.svdvals(torch.cat([x, x_query[:, None]], 1))
    assert (singular[:, 1] > 1e-6).all() and (singular[:, 2] < 1e-12).all()
    query = sample(LAWS["subspace"]).x_query
    assert_mean(outer(query, query), EYE)


@pytest.mark.parametrize("k", [0, 4])
def test_subspace_dimension_must_fit(k):
    with pytest.raises(ValueError, match="between 1 and d=3"):
        sample(SubspaceInputs(3, k), 1)


def test_orthants_are_one_a_prompt_and_the_query_has_its_own():
    x, _, x_query, _ = sample(LAWS["orthant"])
    assert torch.equal(x.sign(), x[:, :1].sign().expand_as(x))
    assert_mean(x[:, 0].sign() * x_query.sign(), torch.zeros(3, dtype=torch.float64))
    assert_mean(outer(x_query, x_query), EYE)
    assert_mean(x[:, 0].abs(), torch.full((3,), (2 / torch.pi) ** 0.5, dtype=torch.float64))


def test_orthogonal_query_is_orthogonal_and_as_long_as_an_unconstrained_one():
    x, _, x_query, _ = sample(LAWS["orthogonal query"], length=2)
    inner = torch.einsum("bmd,bd->bm", x, x_query).abs()
    assert (inner <= 1e-9 * x.norm(dim=-1) * x_query.norm(dim=-1, keepdim=True)).all()
    assert_mean((x_query**2).sum(-1), LAMBDA.trace())
    assert_mean(outer(x[:, 0], x[:, 0]), LAMBDA)


@pytest.mark.parametrize("length", [3, 4])
def test_orthogonal_query_needs_room(length):
    with pytest.raises(ValueError, match="take length < 3"):
        sample(LAWS["orthogonal query"], 1, length)


def test_repeated_query_copies_an_example():
    x, y, x_query, y_query = sample(LAWS["repeated query"], 20)
    assert torch.equal(x_query, x[:, 0]) and torch.equal(y_query, y[:, 0])


@pytest.mark.parametrize(
    ("name", "second_moment"), [("exponential spectrum", 2 * SCALE**2), ("uniform spectrum", 7 / 12 * SCALE**2)]
)
def test_one_spectrum_a_prompt(name, second_moment):
    """E x_1i^2 x_2i^2 = E lambda_i^2 and E x_1i^4 = 3 E lambda_i^2; Exp(1): 2, Uniform(1/2, 1): 7/12."""
    prompts = sample(LAWS[name], 200_000)
    x, x_query = prompts.x, prompts.x_query
    assert_mean(x[:, 0] ** 2 * x[:, 1] ** 2, second_moment)
    assert_mean(x[:, 0] ** 2 * x_query**2, second_moment)
    assert_mean(x[:, 0] ** 4, 3 * second_moment)
    first = SCALE if name == "exponential spectrum" else 0.75 * SCALE
    assert_mean(x[:, 0, 0] ** 2 * x[:, 0, 1] ** 2, first[0] * first[1])


def test_uniform_spectrum_stays_between_its_ends():
    draws = UniformSpectrum(SCALE / 2, SCALE).sample(stream(0, "u"), (1000,))
    assert ((draws >= SCALE / 2) & (draws <= SCALE)).all()


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (torch.ones(2, 3, dtype=torch.float64), "square"),
        (torch.ones(2, dtype=torch.float64), "square"),
        (torch.tensor([[1.0, 0.5], [0.4, 1.0]], dtype=torch.float64), "symmetric"),
        (torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64), "positive semi-definite"),
        (torch.full((2, 2), torch.nan, dtype=torch.float64), "finite floats"),
    ],
)
def test_what_is_no_covariance_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        covariance_root(matrix)


def test_covariance_root_by_hand():
    """[[5, 4], [4, 5]] has eigenvalues 9 and 1, so its symmetric root is [[2, 1], [1, 2]]; a singular one is allowed."""
    five = torch.tensor([[5.0, 4.0], [4.0, 5.0]], dtype=torch.float64)
    assert torch.allclose(covariance_root(five), torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64))
    ones = torch.ones(2, 2, dtype=torch.float64)
    assert torch.allclose(covariance_root(ones), ones / 2**0.5)


def test_antithetic_pairs_negate_labels_alone():
    prompts = sample(LAWS["linear regression"], 6)
    pairs = antithetic(prompts)
    assert pairs.x.shape == (12, 4, 3) and pairs.y_query.shape == (12,)
    assert torch.equal(pairs.x[6:], prompts.x) and torch.equal(pairs.x_query[6:], prompts.x_query)
    assert torch.equal(pairs.y[6:], -prompts.y) and torch.equal(pairs.y_query[6:], -prompts.y_query)
    replicates = antithetic(LAWS["linear regression"].sample(stream(0, "r"), (2, 6), 4))
    assert replicates.x.shape == (2, 12, 4, 3) and replicates.y.shape == (2, 12, 4)


def test_weights_of_other_inputs_give_no_labels():
    with pytest.raises(ValueError, match=r"w has shape \(1,\) and x \(5, 3\): give as many entries"):
        linear_labels.__wrapped__(torch.ones(5, 3), torch.ones(1))
