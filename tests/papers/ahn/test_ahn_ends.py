"""Formulas of the theory at the ends of what they admit: many layers, and moments of random covariances by hand."""

from fractions import Fraction

import numpy as np
import pytest

from papers.ahn.theory import depth, random_covariances, wishart


@pytest.mark.parametrize("L", [1, 4, 12, 20])
def test_many_layers_keep_their_digits(L):
    """At rho = 1/2 the least error is 1/(2^(L+1) - 1), the best equal step 2/3, as in the limit."""
    moments = depth.limit_moments(Fraction(1, 2), 2 * L)
    assert depth.least_error(moments, L) == pytest.approx(1 / (2 ** (L + 1) - 1), rel=1e-12, abs=0)
    assert depth.error(moments, depth.step_sizes(moments, L)) == pytest.approx(1 / (2 ** (L + 1) - 1), rel=1e-6, abs=0)
    assert depth.equal_step(moments, L) == pytest.approx(2 / 3, rel=1e-12)
    equal = np.full(L, 2 / 3)
    assert depth.error(moments, equal) == pytest.approx(depth.limit_equal(0.5, L), rel=1e-9, abs=0)


def test_the_error_of_steps_is_a_mean_over_the_nodes_of_a_rule():
    moments = wishart.moments(5, 10, 8)
    nodes, weights = wishart.gauss_rule(*wishart.recurrence(wishart.moments(5, 10, 9)))
    steps = np.array([0.3, 0.7, 1.1, 0.2])
    by_rule = weights @ np.prod(1 - np.outer(nodes, steps), axis=1) ** 2 / float(moments[0])
    assert depth.error(moments, steps) == pytest.approx(by_rule, rel=1e-10)


def test_a_moment_of_random_covariances_by_hand():
    """E tr(S^3 of three inputs in two examples), where the order of the factors counts."""
    assert random_covariances.moments(3, 2, 3)[3] == 177
