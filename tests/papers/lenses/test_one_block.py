"""One block in three notations: each formula by a second route and by hand, and its claims at another scale."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.companion import FAILS, HOLDS, Claim
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.seeds import stream
from papers.lenses import translate
from papers.lenses.blocks import Blocks, unlabelled
from papers.lenses.s1_one_block import claims
from papers.lenses.s1_one_block.one_norm import ONE_NORM
from papers.lenses.s1_one_block.one_pass import ONE_PASS
from papers.lenses.s1_one_block.static_step import STATIC_STEP
from papers.lenses.s1_one_block.token_steps import TOKEN_STEPS
from papers.lenses.theory import one_block
from papers.li.patterns import Codes, Patterns, write
from papers.li.softmax_attention_variants import variant
from papers.zhang.theory import optimum

D, M = 3, 7
EXPERIMENTS = {each.slug: each for each in (STATIC_STEP, TOKEN_STEPS, ONE_PASS, ONE_NORM)}


def drawn(*shape: int, role: str = "one block") -> np.ndarray:
    return torch.randn(shape, generator=stream(3, role), dtype=torch.float64).numpy()


x, y, W = drawn(M, D, role="x"), drawn(M, role="y"), drawn(4, D + 1, role="W")
GAMMA = optimum.Gamma(np.diag([3.0, 1.0, 0.5]), 5)


def test_the_step_by_hand():
    found = one_block.step(np.array([[5.0, 7.0, 2.0]]), np.diag([4.0, 2.0]), np.array([[1.0, 3.0]]), np.array([6.0]))
    assert np.allclose(found, [[3.0, 18.0, 0.0]])  # 2 * 6 * (1, 3) / (4, 2)


def test_the_gradient_is_that_of_the_loss():
    at = torch.tensor(drawn(4, D, role="D"), requires_grad=True)
    label = torch.einsum("i,m->im", torch.tensor(y), torch.tensor(W[:, -1]))
    loss = (torch.tensor(x) @ at.T - label).square().sum() / (2 * M)
    (expected,) = torch.autograd.grad(loss, at)
    assert np.allclose(one_block.gradient(at.detach().numpy(), W, x, y), expected)
    assert np.isclose(one_block.loss(at.detach().numpy(), W, x, y), loss.item())


def test_the_least_loss_is_least_squares():
    fitted = np.outer(W[:, -1], np.linalg.lstsq(x, y, rcond=None)[0])
    assert np.allclose(one_block.gradient(fitted, W, x, y), 0)


def test_one_change_serves_all_queries_whatever_the_matrices():
    V, K, z = drawn(D + 1, D + 1, role="V"), drawn(D + 1, D + 1, role="K"), drawn(D + 1, role="z")
    mixed = z + sum(V @ t * (t @ K @ z) for t in np.c_[x, y]) / 2.5
    change = one_block.static_change(W, V, K, one_block.second_moment(x, y, rho=2.5))
    assert np.allclose((W + change) @ z, W @ mixed)


def test_the_limit_makes_the_step():
    V, K = one_block.limit_weights(GAMMA)
    change = one_block.static_change(W, V, K, one_block.second_moment(x, y, M))
    assert np.allclose(change[:, :D], one_block.step(W, GAMMA, x, y)[:, :D])
    prediction = optimum.prediction(np.diag([3.0, 1.0, 0.5]), 5, x, y, np.array([0.3, -1.0, 2.0]))
    assert np.allclose(one_block.step(W, GAMMA, x, y)[:, :D] @ [0.3, -1.0, 2.0], W[:, -1] * prediction)


def test_a_cut_acts_on_its_query_alone():
    change, z = drawn(4, D + 1, role="change"), np.array([1.0, 2.0, 0.0, 0.0])
    cut = one_block.cut(change, z)
    assert np.allclose(cut @ z, change @ z) and np.allclose(cut @ [2.0, -1.0, 5.0, 7.0], 0)


def test_steps_of_both_kinds_agree_in_the_first_example_alone():
    start, there = (steps(W, GAMMA, x, y) for steps in (one_block.tangents, one_block.descents))
    assert np.allclose(start.sum(0), one_block.step(W, GAMMA, x, y)[:, :D])
    assert np.allclose(start[0], there[0]) and not np.allclose(start[1], there[1])
    assert np.allclose(there[1], -one_block.gradient(there[0], W, x[1:2], y[1:2]) @ np.linalg.inv(GAMMA) / M)


def test_shares_by_hand():
    two = np.diag([2.0, 1.0])
    assert np.isclose(one_block.share_of_pass(two, two, 2), 0.75)
    assert np.isclose(one_block.share_of_pass(two, two, 10**6), 1 - np.exp(-1), atol=1e-6)
    assert np.isclose(one_block.share_of_context(two, np.diag([4.0, 4.0])), (1 / 2 + 1 / 4) / 2)


def test_the_factor_is_what_an_rms_norm_takes_away():
    assert np.isclose(one_block.norm_factor(12.0, np.array([3.0, 4.0])), 13 / 5)


def test_weights_of_one_paper_are_the_others_in_both_directions():
    model = LinearSelfAttention(*(torch.tensor(drawn(D + 1, D + 1, role=role)) for role in ("PV", "KQ")))
    z = unlabelled(torch.tensor(drawn(1, 1, D, role="query")))
    tokens = torch.cat([torch.tensor(np.c_[x, y]), z[0]])
    block = Blocks(translate.contextual(model, M), {})
    found = block.mixed(tokens[None, :, :D], tokens[None, :, D], z)[0, 0]  # the query is in its own sum
    assert torch.allclose(found, model.tokens(tokens.T[None])[0, :, -1])
    mixing = torch.tensor(drawn(D + 1, D + 1, role="factor"))
    weights = {"W_Q": mixing, "W_K": torch.linalg.inv(mixing).T @ model.W_KQ.T / M, "W_V": model.W_PV}
    for each in (translate.contextual(model, M), weights):
        back = translate.self_attention(each, M)
        scores = torch.einsum("ki,kj->ij", each["W_K"], each["W_Q"]) * M
        assert torch.allclose(back.W_KQ, scores) and torch.equal(back.W_PV, model.W_PV)


def test_a_network_of_li_et_al_is_a_layer_and_its_read_out_in_both_directions():
    patterns = Patterns(*(torch.tensor(drawn(2, D, role=role)) for role in ("relevant", "irrelevant")))
    places = [torch.randint(2, (5, M + 1), generator=stream(3, role)) for role in ("pattern", "distractor")]
    codes = Codes(*places, *(torch.tensor(drawn(5, M + 1, role=role)) for role in ("kappa", "label")))
    weights = {f"W_{name}": torch.tensor(drawn(D + 1, D + 1, role=name)) for name in "QKV"}
    W_O, a, prompts = torch.tensor(W), torch.tensor(drawn(4, role="a")), write(codes, patterns)
    network = translate.classifier(weights, W_O, a, M)
    z = unlabelled(prompts.x_query)[:, None]
    added = (Blocks(weights, {}).mixed(prompts.x, prompts.y, z) - z)[:, 0]
    assert torch.allclose(variant("linear, linear", network, patterns)(codes), torch.einsum("m,mv,bv->b", a, W_O, added))
    assert all(torch.allclose(each, weights[name]) for name, each in translate.layer(network, M).items())


@pytest.fixture(scope="module")
def elsewhere() -> dict:
    other = {
        STATIC_STEP: replace(STATIC_STEP.quick, d=(2, 6), M=(5, 13), N=(12, 3), kappa=9.0),
        TOKEN_STEPS: replace(TOKEN_STEPS.quick, d=3, M=6, N=20),
        ONE_PASS: replace(ONE_PASS.quick, d=(2, 5), M=(8, 24), kappa=9.0),
        ONE_NORM: replace(ONE_NORM.quick, d=(2, 6), M=5, N=30),
    }
    return {each.slug: replace(each, quick=declared).run("quick", 4) for each, declared in other.items()}


@pytest.mark.parametrize("claim", [each for each in vars(claims).values() if isinstance(each, Claim)], ids=lambda each: each.id)
def test_claims_hold_and_controls_fail_at_another_scale(claim, elsewhere):
    judged = claim.judge(elsewhere[claim.experiment])
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS)
