"""What a formula of the theory has no answer for is refused in one sentence, and never answered with another number."""

import numpy as np
import pytest

from papers.ahn.theory import depth, wishart
from papers.dherin.theory import contextual_blocks, convergence, finetuning, modern_blocks
from papers.engine.theory import operations
from papers.garg.theory import bayes
from papers.lenses.theory import one_block, one_function, own_weights, population, read_out, task_sets
from papers.li.theory import coefficient_sum, coverage, floor, mechanism, prompt_length, pruning
from papers.zhang.theory import loss, pl_inequality, random_covariance_flow, wall

TWO = np.eye(2)
SELF_PAIR = np.array([[0, 0], [1, 2]])

REFUSED = {
    "tasks on a line have no Gamma": (lambda: own_weights.Gamma(TWO, np.ones((2, 2)), 0.0, 2), "vary in every direction"),
    "five moments for three layers": (lambda: depth.error(wishart.moments(3, 5, 4), np.ones(3)), "give m_0 to m_6"),
    "three moments for two steps": (lambda: depth.step_sizes(wishart.moments(2, 9, 2), 2), "give m_0 to m_4"),
    "steps of no layer": (lambda: depth.step_sizes(wishart.moments(2, 9, 4), 0), "1 layers or more"),
    "no layer": (lambda: depth.equal_step(wishart.moments(2, 9, 4), 0), "1 layers or more"),
    "tasks of length two": (lambda: task_sets.long_prompts(2 * TWO, 0.5), "of length 1"),
    "one task without noise": (lambda: task_sets.long_prompts(np.array([[0.6, 0.48, 0.64]]), 0.0), "take noise or more tasks"),
    "labels that are all 0": (lambda: task_sets.optimum(task_sets.moments(np.zeros((2, 2)), 0.0), 5), "take tasks or noise"),
    "no covariance": (lambda: population.tasks(TWO, np.zeros(2), np.diag([1.0, -1.0]), 0.0), "none below 0"),
    "logits too wide": (lambda: one_function.pattern_left(4, 10.0), "good for 0 <= x <= 5"),
    "near misses beyond it": (lambda: one_function.pattern_left_mean_curvature(4, 10.0), "good for 0 <= x <= 5"),
    "logits of no variance": (lambda: one_function.pattern_left_at_zero(2, -1.0), "good for 0 <= x"),
    "a matrix without its labels": (
        lambda: one_block._missed.__wrapped__(TWO, TWO, np.ones((5, 2)), np.ones(5)),
        r"W has shape \(2, 2\) and y \(5,\): give \(2, 3\), labels last, and \(5,\)",
    ),
    "moments of NumPy's numbers": (
        lambda: wishart.moments.__wrapped__.__wrapped__(np.int64(2), 3, 2),
        "Python's whole numbers",
    ),
    "moments of no input": (lambda: wishart.moments(2, 0, 2), "1 or more"),
    "a score that is none": (lambda: floor.start_vote_error(5, 0.4, np.nan), "the score is NaN"),
    "a hinge above 0": (lambda: pruning.plateau(0.5), "take 1 or more"),
    "one length for two shares": (
        lambda: modern_blocks.expert_ratio.__wrapped__(np.full(2, 0.5), np.ones(1)),
        "one length a share, none 0",
    ),
    "an expert that reads nothing": (lambda: modern_blocks.expert_ratio(np.full(2, 0.5), np.array([1.0, 0.0])), "none 0"),
    "a scale without end": (lambda: finetuning.rescaled(TWO, np.ones(2), np.ones(2), np.inf), "needs s > 0, not inf"),
    "a share above one": (lambda: floor.wrong_label(1.5), "0 < alpha <= 1"),
    **{
        f"{deleted} deleted of 4 rows, {n_label} of a label": (
            lambda n_label=n_label, deleted=deleted: pruning.label_lost(n_label, 4, deleted),
            f"{deleted} of 4 rows are deleted, and {n_label} are of a label: take 0 to 4",
        )
        for n_label, deleted in ((2, 5), (-1, 2), (5, 3), (1, -1))
    },
    **{
        f"values of shape {values}": (
            lambda values=values: convergence.running_average.__wrapped__(np.ones(3), np.ones(values)),
            r"scores and values have the shapes \(3,\) and \(",
        )
        for values in ((2, 1), (3,))
    },
    **{
        f"a matrix of shape {shape} before two": (
            lambda shape=shape: read_out.conserved.__wrapped__(np.ones(2), np.ones(shape)),
            r"have the shapes \(2,\) and \(.*\): give \(m,\) and \(m, D\)",
        )
        for shape in ((2,), (1, 3), (3, 2))
    },
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
    "of the paper's bound": (lambda: pl_inequality.u_last_squared_bound(TWO, 2, TWO, 0.01), "scale Theta"),
    "of its PL constant": (lambda: pl_inequality.pl_constant(TWO, 2, TWO, 0.01), "scale Theta"),
    "of Theorem 4.5": (lambda: random_covariance_flow.sigma_squared_bound(TWO, np.ones((1, 2)), 2), "scale Theta"),
    "of Lemma C.7": (lambda: random_covariance_flow.u_lower_bound(TWO, 0.01, np.ones((1, 2)), 2), "scale Theta"),
    "just not a unit": (lambda: loss.W_KQ_start(np.eye(1) * 1.00001, 0.1), "not 1.00001: scale"),
    "a wall on a line": (lambda: wall.sure_length(np.eye(1)), "two dimensions"),
    "a wall too far": (lambda: wall.sure_length(np.diag([1.0, 1e-9])), "too small beside its trace"),
    "shares before they are divided": (lambda: modern_blocks.expert_ratio(np.full(2, 0.1), np.ones(2)), "sum to 0.2"),
    "a gain of 0": (lambda: modern_blocks.nearest(np.array([1.0, 0.0]), np.array([3.0, 1.0])), "an entry of m is 0"),
    "a form that is level": (lambda: finetuning.mean_direction(np.diag([1.0, 0.0])), "positive definite K"),
    "a decoder of no layer": (lambda: operations.forward_operations(0, 1, 1, 1, 1), "one layer or more"),
    "a sphere of one dimension": (lambda: contextual_blocks.aligned_share(0.1, 0.4, 1), "d >= 2"),
    "an interval from above": (lambda: contextual_blocks.aligned_share(0.4, 0.1, 4), "low <= high"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name):
    asked, told = REFUSED[name]
    with pytest.raises(ValueError, match=told):
        asked()
