"""Formulas of the theory at the ends of what they admit: long prompts, scores that decide alone, many patterns."""

import numpy as np
import pytest

from papers.li.theory import coverage, floor, mechanism, prompt_length, pruning


@pytest.mark.parametrize("M1", [3, 24, 60, 300])
def test_silent_rows_are_counted_for_many_patterns(M1):
    """At q = beta, v is one more of M1 + 1 equal draws: 2 int_0 phi(v) Phi(-v)^M1 dv = 2^-M1/(M1 + 1)."""
    assert pruning.silent_share_inputs(2.0, 2.0, M1) == pytest.approx(2.0**-M1 / (M1 + 1), rel=1e-9, abs=0)


@pytest.mark.parametrize("score", [0.7, 710.0, 1e6, np.inf])
def test_a_score_that_decides_leaves_the_vote_of_the_others(score):
    """Without the query's pattern the others vote; with it its contexts alone, from a score on that no number can hold."""
    expected = prompt_length.vote_error(min(score, 700.0), 0.4, 5)
    assert floor.start_vote_error(5, 0.4, score) == pytest.approx(expected, rel=1e-12)


def test_a_score_far_below_leaves_the_vote_of_the_others_as_well():
    assert floor.start_vote_error(3, 0.4, -1e6) == pytest.approx(floor.start_vote_error(3, 0.4, -50.0), rel=1e-12)


@pytest.mark.parametrize("l", [1031, 1200])
def test_votes_of_long_prompts_are_counted(l):
    for found in (floor.vote_error(l, 0.01), floor.missing(l, 0.01) * floor.majority_wrong(l, 0.01)):
        assert found == pytest.approx(floor.vote_error(1029, 0.01), rel=0.7) and found > 0
    assert floor.vote_error(l, 0.01) == pytest.approx(floor.missing(l, 0.01) * floor.majority_wrong(l, 0.01), rel=1e-9)
    assert coverage.attention_gap(0.1, l, 0.0) == pytest.approx(0, abs=1e-12)


def test_the_gap_of_attention_by_its_two_ways_of_one_context():
    """One context: the query's pattern has all of the mass, or the partner has it with alpha/2."""
    assert coverage.attention_gap(0.5, 1, 3.0) == pytest.approx(0, abs=1e-15)
    two = 0.0625 + 2 * 0.25 * 0.75 * (np.e - 1 / 3) / (np.e + 1) - 0.5625 / 3
    assert coverage.attention_gap(0.5, 2, 1.0) == pytest.approx(two, rel=1e-12)


def test_all_or_none_of_the_contexts_hold_all_or_none_of_the_attention():
    for g in (-800.0, 0.0, 746.0):
        assert mechanism.attention_mass(np.array([0, 5]), 5, g).tolist() == [0, 1]


def test_score_gaps_are_numbers_however_large():
    scores = np.diag([2000.0, 3000.0, 4000.0])
    others = (np.ones((3, 3)) - np.eye(3)) / 2
    assert mechanism.score_gap(scores, others) == pytest.approx([2000, 3000, 4000])


def test_one_lost_label_is_a_coin_on_its_side():
    assert pruning.random_error(0.3, 0.4, 0.1) == pytest.approx(0.5 * 0.3 + 0.4 * (0.25 + 0.15) + 0.05)


def test_disjoint_tasks_memorise_as_the_short_form_says():
    tasks = np.array([[0, 3], [1, 4], [2, 5]])
    assert coverage.key_memory(tasks, 6, 0.5, 4.0, 3.0) == pytest.approx(6**0.5 * 3 / (0.5 * 4))
    assert coverage.value_memory(tasks, 6, 4.0, 3.0) == pytest.approx(16 / (6 * 9))
