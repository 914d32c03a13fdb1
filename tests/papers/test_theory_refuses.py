"""What a formula of the theory has no answer for is refused in one sentence, and never answered with another number."""

import numpy as np
import pytest

from papers.ahn.theory import depth, wishart
from papers.dherin.theory import contextual_blocks, modern_blocks
from papers.garg.theory import bayes
from papers.lenses.theory import own_weights
from papers.li.theory import coefficient_sum, coverage, floor, mechanism, prompt_length, pruning
from papers.zhang.theory import pl_inequality, random_covariance_flow

TWO = np.eye(2)
SELF_PAIR = np.array([[0, 0], [1, 2]])

REFUSED = {
    "tasks on a line have no Gamma": (lambda: own_weights.Gamma(TWO, np.ones((2, 2)), 0.0, 2), "vary in every direction"),
    "five moments for three layers": (lambda: depth.error(wishart.moments(3, 5, 4), np.ones(3)), "give m_0 to m_6"),
    "more examples than dimensions": (lambda: bayes.posterior_mean(np.eye(3)[:, :2], np.ones(3), 0.0), "k <= d, or noise"),
    "an input twice": (lambda: bayes.posterior_mean(np.ones((2, 3)), np.ones(2), 0.0), "k <= d, or noise"),
    "a negative norm": (lambda: pruning.silent_share_inputs(1.0, -1.0, 6), "q >= 0"),
    "a task of one pattern": (lambda: coverage.value_push(SELF_PAIR, 3, 0.5), "pairs of different patterns"),
    "no task": (lambda: coverage.unseen_error(np.zeros((0, 2), int), 4, 0.3, 0.1), "at least one of them"),
    "a sum that none shares": (lambda: coefficient_sum.remainder_gram(2.0, 6, 3), "take 1.414 at most"),
    "two patterns": (lambda: floor.best_error(3, 0.5, 2), "so M1 >= 3"),
    "no context": (lambda: prompt_length.attention_mass(1.0, 0.5, 0), "at least one"),
    "more contexts than there are": (lambda: mechanism.attention_mass(5, 3, 1.0), "take 0 to 3"),
    "a start of another size": (lambda: pl_inequality.u_last_bound_any_sigma(TWO, 5, TWO, 0.1, 1.0), "scale Theta"),
    "and for random covariances": (
        lambda: random_covariance_flow.u_lower_bound_any_sigma(TWO, 0.1, np.ones(2), TWO, 1.0),
        "scale Theta",
    ),
    "shares before they are divided": (lambda: modern_blocks.expert_ratio(np.full(2, 0.1), np.ones(2)), "sum to 0.2"),
    "a sphere of one dimension": (lambda: contextual_blocks.aligned_share(0.1, 0.4, 1), "d >= 2"),
    "an interval from above": (lambda: contextual_blocks.aligned_share(0.4, 0.1, 4), "low <= high"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name):
    asked, told = REFUSED[name]
    with pytest.raises(ValueError, match=told):
        asked()
