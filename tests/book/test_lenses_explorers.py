"""The explorers of the lenses: what they draw, against routes of its own, and what their sentences say."""

import numpy as np
import pytest
import torch
from moved import settings

from book.explorers import lenses_cut, lenses_floor, lenses_log_partition
from papers.dherin.theory import contextual_blocks
from papers.lenses.s2_own_weights import descents
from papers.lenses.theory import one_block, one_function, own_weights, population
from papers.regression import running_example as example
from papers.zhang.theory import optimum

# --- the cut --------------------------------------------------------------------------------------------------------


def test_the_numbers_at_the_start_are_those_of_the_example_by_hand():
    """Gamma = diag(3.25, 2) and h = (1.5, 1.5)."""
    found = lenses_cut.values(lenses_cut.EXPLORER.start)
    assert (found["step1"], found["step2"]) == pytest.approx((1.5 / 3.25, 0.75))
    assert found["cut1"] == found["cut2"] == pytest.approx((1.5 / 3.25 + 0.75) / 2)


def test_the_tip_of_the_cut_is_on_the_circle_and_on_the_line_of_changes_that_are_right():
    for state in settings(lenses_cut.EXPLORER, 25):
        found = lenses_cut.values(state)
        step, cut, query = (np.array(each) for each in (pair(found, "step"), pair(found, "cut"), state["query"]))
        assert np.linalg.norm(cut - step / 2) == pytest.approx(np.linalg.norm(step) / 2)
        assert cut @ query == pytest.approx(step @ query) == pytest.approx(found["answer"])
        for other in np.random.default_rng(0).normal(size=(5, 1)):
            across = cut + other * np.array([-query[1], query[0]])
            assert across @ query == pytest.approx(found["answer"]) and np.linalg.norm(across) >= np.linalg.norm(cut)


def test_the_changes_are_those_of_attention_a_patch_and_a_product_of_matrices():
    x, y, M = example.x, example.y, len(example.y)
    for state in settings(lenses_cut.EXPLORER, 25):
        Gamma, found = optimum.Gamma(example.Lambda, int(state["N"])), lenses_cut.values(state)
        V, K = one_block.limit_weights(Gamma)
        query, other, *axes = (np.r_[each, 0.0] for each in (state["query"], state["other"], (1, 0), (0, 1)))
        added = [sum(V @ z * (z @ K @ q) for z in np.c_[x, y]) / M for q in (query, other, *axes)]
        left = np.eye(2)
        for each in x:
            left = (np.eye(2) - np.linalg.solve(Gamma, np.outer(each, each)) / M) @ left
        patch = contextual_blocks.update(lenses_cut.W, added[0], query)
        assert pair(found, "step") == pytest.approx([(lenses_cut.W @ each).item() for each in added[2:]])
        assert pair(found, "cut") == pytest.approx(patch[0, :2])
        assert pair(found, "pass") == pytest.approx(example.w - left @ example.w)
        answers = [lenses_cut.W @ added[0], lenses_cut.W @ added[1], patch @ other]
        assert [found[name] for name in ("answer", "whole", "part")] == pytest.approx([each.item() for each in answers])


def pair(found: dict, name: str) -> tuple[float, float]:
    return found[f"{name}1"], found[f"{name}2"]


def test_at_0_there_is_no_cut_and_all_answer_0():
    state = lenses_cut.EXPLORER.start | {"query": (0.0, 0.0)}
    found = lenses_cut.values(state)
    assert found["cut1"] == np.inf and found["answer"] == 0
    assert lenses_cut.parts(state)["n-cut"]["text"] == "none"


def test_the_pass_falls_behind_the_step_where_prompts_are_long_and_the_mean_over_contexts_says_so():
    """As the shares of the page say it: with Gamma = Lambda the step is w in the mean, and a pass is not."""
    far = lenses_cut.values(lenses_cut.EXPLORER.start | {"N": 1000})
    assert np.hypot(*pair(far, "pass")) < 0.9 * np.hypot(*pair(far, "step"))
    Gamma = optimum.Gamma(example.Lambda, 1000)
    shares = one_block.share_of_context(example.Lambda, Gamma), one_block.share_of_pass(example.Lambda, Gamma, 4)
    assert shares[1] < 0.7 < 0.99 < shares[0]


# --- the floor ------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(("mu", "N", "H"), [(1.0, 4, 1), (2.5, 10, 1), (2.5, 10, 2), (4.0, 3, 3)])
def test_the_least_risk_that_descent_finds_lies_between_the_bounds(mu, N, H):
    """Linear attention alone, and with the MLP's row; with several heads, too."""
    mean = np.r_[mu, np.zeros(lenses_floor.D - 1)]
    law = population.tasks(lenses_floor.ONE, mean, lenses_floor.ONE, 0.0)
    found = lenses_floor.values({"mu": mu, "N": N, "H": H})
    least = {}
    for row in (False, True):
        layer = descents.free(lenses_floor.D, H, row, labels=True)
        ends = descents.descend(law, N, layer, 3, 0, f"explorer/{row}")
        least[row] = min(risk for risk, _ in ends) / (lenses_floor.D + mu**2)
    assert found["lower"] - 1e-6 < least[False] < found["upper"] + 1e-6
    assert least[True] == pytest.approx(found["block"], rel=1e-4) and found["floor"] < least[False]


def test_the_bounds_are_exact_risks_of_explicit_blocks():
    """The floor is attained by heads made for one task, as its proof has them; the others by quadrature."""
    D, ONE = lenses_floor.D, lenses_floor.ONE
    for state in settings(lenses_floor.EXPLORER, 40):
        (mu, N, H), found = (state[name] for name in ("mu", "N", "H")), lenses_floor.values(state)
        mean = np.r_[mu, np.zeros(D - 1)]
        law, best = population.tasks(ONE, mean, ONE, 0.0), own_weights.optimum(ONE, mean, ONE, 0.0, N)
        block, *_ = population.risk(best.m, population.read(best.K[None], best.v[None]), law, N)
        keys = np.r_[np.linalg.inv(own_weights.Gamma(ONE, np.diag(1 + mean**2), 0.0, N)), np.zeros((1, D))]
        upper, *_ = population.risk(np.zeros(D), population.read(keys[None], np.eye(D + 1)[-1:]), law, N)
        assert (found["block"], found["upper"]) == pytest.approx((block / (D + mu**2), upper / (D + mu**2)), abs=1e-9)
        assert found["floor"] == pytest.approx(one_task(N, min(H, D)))
        assert found["lower"] == max(found["floor"], found["block"])


def one_task(N: float, heads: int) -> float:
    """The risk of heads that are made for one task, over that of no answer."""
    D = lenses_floor.D
    w = np.eye(D)[0]
    law = population.tasks(lenses_floor.ONE, w, np.zeros((D, D)), 0.0)
    sizes, basis = np.linalg.eigh(law.Sigma[0])
    v = (basis / np.maximum(sizes, 1e-9) ** 0.5).T[::-1][:heads]
    return population.risk(np.zeros(D), population.read(np.einsum("ha,i->hai", v, w) / (heads + 2 / N), v), law, N)[0]


def test_bayes_errs_in_the_directions_that_no_input_has():
    """The posterior of a task after N labels without noise keeps the prior off the span of the inputs."""
    generator = np.random.default_rng(1)
    for N in (1, 2, 3, 4, 7):
        x = generator.normal(size=(N, lenses_floor.D))
        left = np.trace(np.eye(lenses_floor.D) - np.linalg.pinv(x) @ x)
        assert lenses_floor.values({"mu": 3.0, "N": N, "H": 1})["bayes"] == pytest.approx(
            left / (lenses_floor.D + 9), abs=1e-12
        )


def test_no_risk_is_below_that_of_bayes():
    for state in settings(lenses_floor.EXPLORER, 40):
        found = lenses_floor.values(state)
        assert found["bayes"] <= found["block"] <= found["lower"] <= found["upper"] <= 1


# --- the log-partition function -------------------------------------------------------------------------------------


@pytest.mark.parametrize("N", ["8", "64", "512"])
@pytest.mark.parametrize("kind", ["gaussian", "patterns"])
def test_both_kinds_of_tokens_have_mean_0_and_variance_1(kind, N):
    z = lenses_log_partition.tokens({"tokens": kind, "N": N})
    assert len(z) == (int(N) if kind == "gaussian" else 4)
    assert z.mean() == pytest.approx(0, abs=1e-5) and z.std() == pytest.approx(1, abs=1e-5)


def test_the_places_of_patterns_are_what_the_ray_sees_of_patterns_in_the_plane():
    axes = 2**0.5 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    ray = np.array([3**0.5 / 2, 0.5])
    z = lenses_log_partition.tokens({"tokens": "patterns", "N": "64"})
    for t in (0.5, 2.0, 4.0):
        assert one_function.log_partition(t * ray, axes) == pytest.approx(one_function.log_partition(np.array([t]), z))
        assert one_function.slope(t * ray, axes) @ ray == pytest.approx(one_function.slope(np.array([t]), z)[0])


def test_gaussian_tokens_keep_the_step_for_longer_the_more_there_are_and_patterns_do_not():
    def behind(**changed):
        found = lenses_log_partition.values(lenses_log_partition.EXPLORER.start | changed)
        return 1 - found["slope"] / found["step"]

    few, some, many = (behind(N=N) for N in ("8", "64", "512"))
    assert few > 2 * some > 4 * many
    assert behind(tokens="patterns", N="8") == behind(tokens="patterns", N="512") > 0.4


def test_far_out_the_slope_is_the_largest_token_and_the_height_its_line():
    for kind in ("gaussian", "patterns"):
        found = lenses_log_partition.values({"tokens": kind, "N": "8", "t": 30.0})
        assert found["slope"] == pytest.approx(found["largest"], abs=1e-3)
        assert found["phi"] == pytest.approx(found["asymptote"], abs=1e-3)


def test_heights_slopes_and_curvatures_are_derivatives_of_a_log_sum_exp():
    for state in settings(lenses_log_partition.EXPLORER, 40):
        z, found = lenses_log_partition.tokens(state)[:, 0], lenses_log_partition.values(state)
        phi, slope, curvature = derivatives(state["t"], z)
        assert [found[name] for name in ("phi", "slope", "curvature")] == pytest.approx([phi, slope, curvature], abs=1e-9)
        assert found["step"] == pytest.approx(state["t"] * derivatives(0.0, z)[2])
        assert found["most"] == pytest.approx(np.exp(state["t"] * max(z) - np.log(len(z)) - phi))


def derivatives(t: float, z: np.ndarray) -> tuple[float, float, float]:
    """The height at t, its slope and its curvature."""
    at = torch.tensor(t, dtype=torch.float64, requires_grad=True)
    phi = torch.logsumexp(at * torch.from_numpy(z), 0) - np.log(len(z))
    (slope,) = torch.autograd.grad(phi, at, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, at)
    return phi.item(), slope.item(), curvature.item()
