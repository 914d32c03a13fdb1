"""Section 3.2: vote law, start's vote and best predictor, by second routes and by hand; the experiment over length."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.seeds import stream
from papers.li.classification import wrong
from papers.li.patterns import Codes
from papers.li.s3_2_data_and_tasks import claims
from papers.li.s3_2_data_and_tasks import floor as experiment
from papers.li.task_sets import all_tasks
from papers.li.theory import floor
from papers.li.trained import A

DRAWS = 200_000


def drawn(alpha: float, l: int) -> Codes:
    return A.law(all_tasks(6), alpha).codes(stream(0, f"floor/{alpha}/{l}"), (DRAWS,), l)


@pytest.mark.parametrize(("alpha", "l"), [(0.3, 1), (0.6, 4), (0.8, 3), (1.0, 5)])
def test_vote_law_on_drawn_prompts_and_as_a_product(alpha, l):
    codes = drawn(alpha, l)
    y, z = codes.y[:, :-1], codes.y[:, -1]
    own = codes.pattern[:, :-1] == codes.pattern[:, -1:]
    lost = torch.where(own.any(-1), 0.0, wrong(z * y.sum(-1)))
    assert floor.vote_error(l, alpha) == pytest.approx(float(lost.mean()), abs=0.005)
    assert floor.missing(l, alpha) == pytest.approx(1 - float(own.any(-1).double().mean()), abs=0.005)
    assert floor.vote_error(l, alpha) == pytest.approx(floor.missing(l, alpha) * floor.majority_wrong(l, alpha), rel=1e-13)
    score = 0.36
    weighted = wrong(z * (torch.where(own, np.exp(score), 1.0) * y).sum(-1))
    assert floor.start_vote_error(l, alpha, score) == pytest.approx(float(weighted.mean()), abs=0.005)


def test_laws_by_hand():
    assert floor.missing(2, 0.8) == pytest.approx(0.36) and floor.wrong_label(0.8) == pytest.approx(5 / 6)
    assert floor.majority_wrong(2, 0.8) == pytest.approx(5 / 6) and floor.vote_error(2, 0.8) == pytest.approx(0.3)
    assert floor.vote_error(3, 1.0) == 1 / 8 and floor.vote_error(0, 0.5) == 0.5
    assert floor.start_vote_error(7, 0.6, 0.0) == pytest.approx(0.5) and floor.start_vote_error(1, 1.0, 0.3) == pytest.approx(
        0.5
    )
    assert floor.best_error(1, 0.8, 6) == pytest.approx(0.1) and floor.best_error(1, 0.4, 9) == pytest.approx(0.3)
    assert floor.best_error(3, 1.0, 6) == 0 and floor.best_error(0, 1.0, 6) == floor.best_error(0, 0.7, 5) == 0.5
    for l, alpha in ((1, 0.2), (6, 0.9), (9, 0.5)):
        assert 0.5 <= floor.vote_error(l, alpha) / floor.missing(l, alpha) <= 1


@pytest.mark.parametrize(("M1", "alpha", "l"), [(3, 0.5, 3), (4, 0.8, 3), (4, 0.3, 2)])
def test_best_predictor_against_bayes_over_every_task_and_prompt(M1, alpha, l):
    """Second route: the joint distribution of task, query and prompt from Definition 3.2, no formula of the page."""
    risk, j = 0.0, 0
    cells = list(product(range(M1), (1.0, -1.0)))
    for prompt in product(cells, repeat=l):
        joint = {1.0: 0.0, -1.0: 0.0}
        for partner, z in product(range(1, M1), (1.0, -1.0)):
            weight = 1 / (2 * (M1 - 1))
            for k, y in prompt:
                if k in (j, partner):
                    weight *= alpha / 2 * (y == (z if k == j else -z))
                else:
                    weight *= (1 - alpha) / (M1 - 2) / 2
            joint[z] += weight
        risk += min(joint.values())
        pattern, y = (np.array([[cell[side] for cell in prompt]]) for side in (0, 1))
        score = floor.best_score(pattern, y, np.array([j]), alpha, M1)[0]
        if sum(joint.values()) > 0 and abs(joint[1.0] - joint[-1.0]) > 1e-12:
            assert np.sign(score) == np.sign(joint[1.0] - joint[-1.0])
    assert floor.best_error(l, alpha, M1) == pytest.approx(risk, rel=1e-12)


@pytest.mark.parametrize(("l", "alpha"), [(-1, 0.5), (3, 0.0), (3, 1.2)])
def test_bad_lengths_and_shares(l, alpha):
    for law in (floor.missing, floor.vote_error, lambda l, alpha: floor.best_error(l, alpha, 6)):
        with pytest.raises(ValueError, match="alpha"):
            law(l, alpha)


def test_no_score_for_infinite_odds():
    with pytest.raises(ValueError, match="infinite"):
        floor.best_score(np.array([[1]]), np.array([[1.0]]), np.array([0]), 1.0, 4)


class Voter:
    """A model that follows the query's pattern where it is, else the majority: what the vote law describes."""

    def __call__(self, codes: Codes) -> torch.Tensor:
        own = (codes.pattern[..., :-1] == codes.pattern[..., -1:]).double()
        return (codes.y[..., :-1] * (1 + 100 * own)).sum(-1)


def test_counting_of_errors():
    codes = drawn(0.8, 4)
    lost, own = experiment._lost(Voter(), codes)
    assert float(lost.mean()) == pytest.approx(floor.vote_error(4, 0.8), abs=0.004)
    assert not lost[own > 0].any()
    assert torch.equal(own, (codes.pattern[:, :-1] == codes.pattern[:, -1:]).sum(-1))


def test_experiment_on_a_tiny_declaration():
    base = replace(A, M1=4, M2=3, d_Y=2, m=8, B=6, T=2, l=3)
    sets = (("cyclic 2", 2.0, 1.0), ("cyclic 1", 2.0, 1.0), ("all", 2.0, 1.0))
    declared = experiment.Floor(base, sets, sets, 2, (0.5, 0.8), (2, 4), 60, 4_000, 2)
    dataset = declared.expect(declared.run(0, "cpu"), 0)
    assert dataset.error.shape == (3, 2, 2, 2) and dataset.all_pairs.values.tolist() == [1, 0, 1]
    assert dataset.best_theory.isnull().values.tolist() == [[False, True], [False, True]]
    assert float(dataset.best_theory[0, 0]) == floor.best_error(2, 0.5, 4)
    assert abs(dataset.best - dataset.best_theory).max() < 0.03
    assert float(dataset.error_theory.sel(alpha=0.8, l=2)) == pytest.approx(0.3)


def ideal() -> xr.Dataset:
    """What the claims would see if all they say were exactly true; the second task set does not train every pair."""
    alphas, lengths = [0.5, 0.8], [2, 4, 14]
    law = np.array([[floor.vote_error(l, alpha) for l in lengths] for alpha in alphas])
    best = np.array([[floor.best_error(l, alpha, 6) if l < 9 else np.nan for l in lengths] for alpha in alphas])
    error = np.stack([law, 3 * law])[..., None] * ([0.99, 1.01] * 3)
    grid = ("alpha", "l")
    columns = {"error_theory": law, "best_theory": best, "best": np.nan_to_num(best), "best_se": 0 * law}
    columns["error_shorter"] = np.array([[floor.vote_error(l - 1, alpha) for l in lengths] for alpha in alphas])
    columns["missing"] = np.array([[floor.missing(l, alpha) for l in lengths] for alpha in alphas])
    full = {"error": error, "error_guaranteed": 0 * error}
    return xr.Dataset(
        {name: (grid, values) for name, values in columns.items()}
        | {name: (("tasks", *grid, "seed"), values) for name, values in full.items()}
        | {"error_start": ((*grid, "seed"), 0 * error[0] + 0.5), "all_pairs": ("tasks", [1, 0])},
        coords={"tasks": ["cyclic 3", "cyclic 1"], "alpha": alphas, "l": lengths},
    )


def test_claims_hold_on_ideal_data_and_fail_on_each_planted_fault():
    judged = (claims.L6f, claims.L6c, claims.L6e)
    found = [claim.judge(ideal()) for claim in judged]
    assert [(one.verdict, one.control_verdict) for one in found] == [("holds", "fails")] * 3
    coin = ideal().assign(error=ideal().missing / 2 + 0 * ideal().error)
    assert claims.L6f.judge(coin).verdict == "fails"
    assert claims.L6c.judge(ideal().assign(best=ideal().missing / 2)).verdict == "fails"
    guaranteed = ideal().error_guaranteed
    for l in guaranteed.l.values:
        assert claims.L6e.judge(ideal().assign(error_guaranteed=guaranteed + 0.01 * (guaranteed.l == l))).verdict == "fails", l
