"""The explorers of Li et al.: what they draw from, against routes of its own."""

from itertools import islice

import numpy as np
import pytest
import torch
from moved import settings

from book.explorers import li_coefficient_sum, li_training_map
from icl_lib.companion import results
from papers import BOOK
from papers.li.classification import hinge, read, wrong
from papers.li.patterns import Codes
from papers.li.softmax_attention import OnPatterns
from papers.li.task_sets import task_set
from papers.li.theory import coefficient_sum, prompt_length
from papers.li.trained import A

PROMPTS = 20_000


def model_of(state: dict) -> OnPatterns:
    """A network with one score gap whose rows give phi times the sum on every relevant pattern, and lambda on the label."""
    a, phi, lam = (torch.from_numpy(part) for part in li_coefficient_sum.rows_of(state["setting"]))
    table = torch.zeros(A.M1 + A.M2, A.M1 + A.M2 + 1, dtype=torch.float64)
    table[range(A.M1), range(A.M1)] = li_coefficient_sum.gap_at(state)
    neurons = torch.zeros(len(phi), A.M1 + A.M2 + 1, dtype=torch.float64)
    neurons[:, : A.M1], neurons[:, -1] = state["S"] * phi[:, None], lam
    return OnPatterns(table, neurons, a, A.M1)


@pytest.mark.parametrize("k", range(8))
def test_losses_are_those_of_such_a_network_on_prompts(k):
    """Drawn prompts without noise, against the distribution of the counts; within five standard errors."""
    state = next(islice(settings(li_coefficient_sum.EXPLORER, 8), k, None))
    law = A.law(task_set("all", A.M1), li_coefficient_sum.ALPHA)
    law = type(law)(law.patterns, law.tasks, law.alpha, 0.0)
    seen = read(model_of(state), law, prompts=PROMPTS, length=li_coefficient_sum.LENGTH, lead=(), seed=k, name="explorer")
    found = li_coefficient_sum.values(state)
    for name, loss in (("hinge", hinge(seen.margin)), ("error", wrong(seen.margin))):
        noise = (loss.std() + 1 / PROMPTS**0.5) / PROMPTS**0.5
        assert abs(loss.mean() - found[name]) < 5 * noise, (state, name)


def test_the_lines_pass_through_what_was_measured():
    """The mean margin of the network that is shown, at every sum, in both settings."""
    dataset = results.load(BOOK.result("li-coefficient-sum")).isel(seed=0)
    for setting in ("A", "B"):
        for S, measured in zip(dataset.S_1.values, dataset.margin.sel(setting=setting).values, strict=True):
            found = li_coefficient_sum.values({"S": float(S), "norm": "fixed", "setting": setting})
            assert found["margin"] == pytest.approx(measured, abs=0.03)
            assert found["right"] - found["wrong"] == pytest.approx(found["margin"], abs=1e-12)


def test_the_answer_is_no_at_fixed_norm_and_part_of_it_under_rescaling():
    """Between 0 and 1 answers are right at fixed norm, and a tenth of them is wrong at 0.3 when patterns are rescaled."""
    for setting, data in li_coefficient_sum.stored().items():
        at = [k for k, S in enumerate(data["S"]) if 0 <= S < 1]
        assert max(data["error"]["fixed"][k][0] for k in at) < 1e-3 < 0.1 < data["error"]["rescaled"][data["S"].index(0.3)][0]
        assert li_coefficient_sum.course("fixed", setting)["error"].max() < 1e-3


def test_rescaled_losses_are_near_those_measured():
    """At every measured sum; a gap linear in the sum would err by 0.1 and more at 0.3."""
    for setting, data in li_coefficient_sum.stored().items():
        for k, S in enumerate(data["S"]):
            found = li_coefficient_sum.values({"S": S, "norm": "rescaled", "setting": setting})
            assert found["hinge"] == pytest.approx(data["hinge"]["rescaled"][k][0], abs=0.03)
            if S > -1.3:  # there rows of setting B fall silent
                assert found["error"] == pytest.approx(data["error"]["rescaled"][k][0], abs=0.03)


def test_kinks_are_where_the_slope_jumps():
    for setting in ("A", "B"):
        vote = li_coefficient_sum.values({"S": 0.0, "norm": "fixed", "setting": setting})["vote"]
        a, phi, lam = li_coefficient_sum.rows_of(setting)
        ends = np.array(li_coefficient_sum.kinks("fixed", setting))
        ends = ends[np.diff(ends, prepend=-9) > 1e-3]
        ends = ends[np.diff(ends, append=9) > 1e-3]
        slopes = [
            [coefficient_sum.slope(S + side, a, phi[None], lam[None], vote).item() for side in (-1e-4, 1e-4)] for S in ends
        ]
        assert len(ends) > 3 and all(abs(before - after) > 1e-6 for before, after in slopes)


def test_the_law_of_the_label_has_the_mean_and_the_signs_of_the_votes():
    for gap, alpha, l in ((0.3, 0.8, 20), (2.0, 0.4, 7), (4.0, 1.0, 3)):
        chance, label = prompt_length.label_law(gap, alpha, l)
        mass = (1 - (1 - alpha / 2) ** l) * prompt_length.attention_mass(gap, alpha, l)
        assert chance.sum() == pytest.approx(1)
        assert chance @ label == pytest.approx(coefficient_sum.mean_label(mass, alpha))
        lost = (label < -1e-9) + 0.5 * (abs(label) <= 1e-9)
        assert chance @ lost == pytest.approx(prompt_length.vote_error(gap, alpha, l))


def test_both_losses_by_hand():
    """Two rows, phi = 2 and lambda = 3 or -3, one context with a fair coin's label: zF is 5 or -5."""
    law = prompt_length.label_law(1.0, 1.0, 1)
    assert dict(zip(law[1][law[0] > 0], law[0][law[0] > 0], strict=True)) == pytest.approx({-1: 0.5, 1: 0.5})
    losses = coefficient_sum.mean_losses(1.0, np.array([1.0, -1.0]), np.array([2.0, 2.0]), np.array([3.0, -3.0]), law)
    assert losses == pytest.approx((3.0, 0.5))
    certain = (np.ones(1), np.ones(1))
    silent = coefficient_sum.mean_losses(-3.0, np.array([1.0, -1.0]), np.array([2.0, 2.0]), np.array([3.0, -3.0]), certain)
    assert silent == pytest.approx((1.0, 0.5))  # all inputs are below 0, and a coin decides
    diverged = coefficient_sum.mean_losses(1.0, np.array([1.0, -1.0]), np.array([2.0, 2.0]), np.full(2, np.nan), certain)
    assert np.isnan(diverged).all()


@pytest.mark.parametrize("k", range(6))
def test_the_map_is_a_softmax_over_six_contexts(k):
    """Through the attention of a model on codes: one context of each pattern under every query."""
    state = next(islice(settings(li_training_map.EXPLORER, 6), k, None))
    scores = li_training_map.stored()[state["setting"]]["scores"][li_training_map.STEPS.index(state["step"])]
    table = torch.zeros(7, 8, dtype=torch.float64)
    table[:6, :6] = torch.tensor(scores, dtype=torch.float64).reshape(6, 6).T
    pattern = torch.cat([torch.arange(6).expand(6, 6), torch.arange(6)[:, None]], 1)
    nothing = torch.zeros(6, 7, dtype=torch.float64)
    codes = Codes(pattern, torch.zeros_like(pattern), nothing, nothing)
    attention = OnPatterns(table, torch.zeros(1, 8, dtype=torch.float64), torch.ones(1), 6).attention(codes)
    found = li_training_map.values(state)
    own = attention.diagonal()
    assert (found["most"], found["least"]) == pytest.approx((float(own.max()), float(own.min())))
    assert np.allclose(li_training_map.attention(np.reshape(scores, (6, 6))), attention.T)


def test_the_rows_of_the_map_are_those_of_the_results_beside_it():
    """The same networks were read by two other results: directions of rows in setting A, and the attention."""
    data = li_training_map.stored()
    neurons, attention = (results.load(BOOK.result(f"li-{name}")) for name in ("neurons", "attention"))
    for step in neurons.shown.values.tolist():
        cell, k = neurons.sel(shown=step), data["steps"].index(step)
        for mine, theirs in (("phi", cell.point_feature), ("lam", cell.point_label)):
            clear = abs(np.array(data["A"][mine][k])) > 1
            assert clear.sum() > 80 and (np.sign(data["A"][mine][k]) == np.sign(theirs.values))[clear].all()
    for short, name in li_training_map.SETTINGS.items():
        theirs = attention.mass.sel(setting=name, split="unseen tasks").mean("seed")
        mine = [data[short]["mass"][data["steps"].index(step)] for step in attention.step.values.tolist()]
        assert np.allclose(mine, theirs, atol=0.01)


def test_rows_lie_where_they_are_counted():
    """The counts come from the exact responses, the places from rounded ones: only rows beside a diagonal may differ."""
    data = li_training_map.stored()
    for short in li_training_map.SETTINGS:
        for k in range(len(data["steps"])):
            phi, lam = (np.array(data[short][name][k]) for name in ("phi", "lam"))
            lam = lam * (1 - 2 * (np.arange(len(lam)) % 2))
            counted = np.array([(lam > abs(phi)).sum(), (phi > abs(lam)).sum(), (-lam > abs(phi)).sum()])
            beside = (abs(abs(phi) - abs(lam)) <= 1).sum()
            assert (abs(counted - data[short]["on"][k][:3]) <= beside).all()
