"""What is left: best steps by other routes, estimates without bias, and readers against the networks that they read."""

from math import prod

import numpy as np
import pytest
import torch

from icl_lib.companion import HOLDS, agreement
from icl_lib.models.gpt2 import interleaved_tokens
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.ahn.theory import depth, wishart
from papers.dherin.trained import predictions, trained
from papers.dherin.trainings import ONE_BLOCK
from papers.garg.theory.bayes import posterior_mean
from papers.lenses.s4_what_is_left import any_prior, contexts, parts
from papers.lenses.s4_what_is_left.any_prior import ANY_PRIOR
from papers.lenses.s4_what_is_left.readers import LinearReader, readers
from papers.lenses.s4_what_is_left.selectivity_alignment import selectivity
from papers.lenses.s4_what_is_left.which_vector import best_steps, descended
from papers.lenses.theory import what_is_left as left
from papers.regression.decoders import repeated
from papers.regression.spectra import stacked_limits
from papers.regression.trainings import FIXED

rng = np.random.default_rng(7)
LAMBDA = torch.tensor([[1.5, 0.3], [0.3, 0.5]], dtype=torch.float64)


def normal(*shape):
    return torch.tensor(rng.standard_normal(shape))


# --- best steps ---------------------------------------------------------------------------------------------------


def test_descent_leaves_the_polynomial_of_the_second_moment():
    x, w, a = normal(4, 6, 3), normal(4, 3), best_steps(3, 6, 3)
    y = torch.einsum("bkd,bd->bk", x, w)
    S = torch.einsum("bki,bkj->bij", x, x) / 6
    values, basis = torch.linalg.eigh(S)
    P = torch.einsum("bik,bk,bjk->bij", basis, prod(1 - step * values for step in a.tolist()), basis)
    assert torch.allclose(descended(x, y, a), w - torch.einsum("bij,bj->bi", P, w), atol=1e-12)


def test_best_steps_leave_what_is_said_on_prompts():
    drawn = contexts.isotropic(3, "steps", (20_000, 10, 1), 4)
    for L in (1, 2, 3):
        error = (descended(*drawn.first(10), best_steps(4, 10, L)) - drawn.w).square().sum(-1) / 4
        expected = depth.least_error(wishart.moments(4, 10, 2 * L), L)
        assert abs(error.mean() - expected) < 4 * error.std() / len(error) ** 0.5
    assert left.excess(0.4, 4, 10) == 0.4 and left.excess(0.8, 20, 10) == 0.8 - 0.5


# --- estimates ----------------------------------------------------------------------------------------------------


def test_estimates_have_the_means_of_a_cubic_model():
    """T = <b, x> + x_1^3/3 + 1/5 with x ~ N(0, Lambda): G = b + Lambda_11 e_1, by Stein, and moments of x_1."""
    B, s, b = 60_000, 1.5, torch.tensor([1.0, -0.5], dtype=torch.float64)
    x = normal(B, 8, 2) @ torch.linalg.cholesky(LAMBDA).mT
    t = x @ b + x[..., 0] ** 3 / 3 + 0.2
    c, inverse = torch.tensor([0.8, 0.1], dtype=torch.float64), torch.linalg.inv(LAMBDA)
    off = b + torch.tensor([s, 0.0]) - c
    bent, far = (15 * s**3 - 9 * s**3) / 9 + 0.04, off @ LAMBDA @ off
    each = c.expand(B, 2)
    found = {
        far: parts.distance(t, x, each, inverse),
        off @ off: parts.distance(t, x, each, inverse @ inverse),
        far + bent: parts.square(t, x, each),
        torch.tensor(bent): parts.curved(t, x, inverse),
    }
    for expected, values in found.items():
        assert abs(values.mean() - expected) < 4 * values.std() / B**0.5
    plain = parts.distance_plain(t, x, each, inverse)
    delta = t - x @ c
    scatter = (delta**2 * torch.einsum("bqd,de,bqe->bq", x, inverse, x)).mean() - far
    assert abs(plain.mean() - far - scatter / 8) < 4 * plain.std() / B**0.5
    assert plain.mean() - far > 20 * plain.std() / B**0.5


def test_a_vector_leaves_nothing():
    x, c = normal(3, 10, 2), normal(3, 2)
    t = torch.einsum("bqd,bd->bq", x, c)
    inverse = torch.linalg.inv(LAMBDA)
    assert parts.curved(t, x, inverse).abs().max() < 1e-20 and parts.square(t, x, c).max() < 1e-20
    assert parts.distance(t, x, c, inverse).abs().max() < 1e-20
    assert torch.allclose(parts.fitted(t, x), c)


def test_parts_add_up_in_the_sample_for_least_squares():
    """The same decomposition with averages over the queries themselves, where it is Pythagoras."""
    x, t, m = normal(2, 30, 3), normal(2, 30), normal(2, 3)
    G = parts.fitted(t, x)
    square = torch.einsum("bqi,bqj->bij", x, x) / 30
    distance = torch.einsum("bi,bij,bj->b", G - m, square, G - m)
    assert torch.allclose(parts.square(t, x, m), parts.square(t, x, G) + distance)


def test_posterior_means_by_other_routes():
    x, y = normal(2, 3, 5), normal(2, 3)
    each = list(zip(x.numpy(), y.numpy(), strict=True))
    assert np.allclose(contexts.least_norm(x, y), [posterior_mean(*one, 0.0) for one in each])
    assert np.allclose(contexts.ridge(x, y, 0.49), [posterior_mean(*one, 0.7) for one in each])
    tasks = normal(4, 5)
    weight = torch.stack([torch.exp(-(y - x @ w).square().sum(-1) / 2 / 0.49) for w in tasks], -1)
    assert torch.allclose(contexts.among(x, y, tasks, 0.7), (weight / weight.sum(-1, keepdim=True)) @ tasks)


def test_a_wrong_posterior_mean_is_noticed(monkeypatch):
    monkeypatch.setattr(any_prior, "ridge", lambda x, y, penalty: contexts.ridge(x, y, 3 * penalty))
    found = ANY_PRIOR.quick.expect(ANY_PRIOR.quick.run(1, "cpu"), 1)
    assert agreement(found.sel(prior=["Gaussian tasks, noise"]), "risk").verdict(1.0) != HOLDS


# --- readers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 7])
def test_a_decoder_is_read_as_it_answers(k):
    drawn = contexts.isotropic(5, "decoder", (3, 9, 4), 5)
    x, y = drawn.first(k)
    for reader, model in zip(readers(FIXED[0], 0, "cpu"), repeated(FIXED[0], 3, 0, "cpu"), strict=True):
        found = reader.read(drawn.x, drawn.y, drawn.queries, k)
        each = [model(Prompts(x, y, drawn.queries[:, j], y[:, 0]))[0] for j in range(4)]
        assert torch.allclose(found.output, torch.stack(each, 1), atol=1e-5)
        prompts = Prompts(x, y, drawn.queries[:, 2], y[:, 0])
        rows = model.decoder.attention(model.weights, interleaved_tokens(prompts).float()[None]).attention[0]
        told = rows[..., :-1].unflatten(-1, (k, 2)).sum(-1)
        assert torch.allclose(found.attention[:, :, :, 2].float(), told.permute(1, 2, 0, 3), atol=1e-5)


def test_a_block_is_read_as_it_answers():
    found, drawn = trained(ONE_BLOCK, 0, "cpu"), contexts.isotropic(6, "block", (3, 9, 4), 2)
    x, y = drawn.first(5)
    for s, reader in enumerate(readers(ONE_BLOCK, 0, "cpu")):
        read = reader.read(drawn.x, drawn.y, drawn.queries, 5)
        each = [predictions(found.network, found.replicate(s), Prompts(x, y, drawn.queries[:, j], y[:, 0])) for j in range(4)]
        assert torch.allclose(read.output, torch.stack(each, 1), atol=1e-12)
        assert ((read.attention > 0) & (read.attention < 1)).all() and read.attention.sum(-1).max() < 1


def test_linear_attention_is_read_as_zhangs_step():
    drawn, N = contexts.isotropic(8, "linear", (3, 6, 4), 3), 9
    limit = LinearReader(LinearSelfAttention(*(each[0] for each in stacked_limits(np.eye(3), (N,)))))
    step = N / (N + 4) * torch.einsum("bkd,bk->bd", drawn.x, drawn.y) / 6
    read = limit.read(drawn.x, drawn.y, drawn.queries, 6)
    assert torch.allclose(read.output, torch.einsum("bqd,bd->bq", drawn.queries, step)) and read.attention.numel() == 0


def test_selectivity_is_from_one_to_all():
    uniform, single = torch.full((2, 4), 0.1), torch.tensor([[0.0, 0.3, 0.0, 0.0]])
    assert torch.allclose(selectivity(uniform), torch.ones(2)) and torch.allclose(selectivity(single), torch.tensor([4.0]))
    p = torch.rand(1, 5, generator=stream(0, "selectivity"))
    mean, variance = p.mean(), p.var(unbiased=False)
    assert selectivity(p).item() == pytest.approx(1 + float(variance / mean**2), rel=1e-5)
