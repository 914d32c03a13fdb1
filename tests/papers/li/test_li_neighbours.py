"""Section 5 of Li et al.: the law for nearest neighbours."""

from itertools import product

import numpy as np
import pytest

from icl_lib.seeds import stream
from papers.li.patterns import PatternClassification, orthogonal_patterns, write
from papers.li.task_sets import all_tasks
from papers.li.theory import floor, neighbours


@pytest.mark.parametrize(("l", "alpha", "k"), [(1, 0.7, 1), (3, 0.8, 3), (4, 0.5, 3), (5, 1.0, 3), (5, 0.6, 5)])
def test_neighbours_error_by_enumeration(l, alpha, k):
    """Over own/right/wrong for every context; the others that vote are the first of them."""
    total = 0.0
    for kinds in product((("own", alpha / 2), ("right", (1 - alpha) / 2), ("wrong", 0.5)), repeat=l):
        names, weights = zip(*kinds, strict=True)
        votes = [name for name in names if name == "own"] + [name for name in names if name != "own"]
        total += np.prod(weights) * (votes[:k].count("wrong") > k / 2)
    assert neighbours.neighbours_error(l, alpha, k) == pytest.approx(total, rel=1e-12)


def test_neighbours_error_by_hand_and_beside_the_vote():
    assert neighbours.neighbours_error(2, 0.8, 1) == pytest.approx(0.3, rel=1e-14)
    assert neighbours.neighbours_error(3, 1.0, 3) == 0.5
    for l, alpha in product((1, 2, 5, 8, 20), (0.3, 0.6, 0.8)):
        one = neighbours.neighbours_error(l, alpha, 1)
        assert one == pytest.approx(floor.missing(l, alpha) * floor.wrong_label(alpha), rel=1e-12)
        assert one <= floor.vote_error(l, alpha) * (1 + 1e-12) <= one * (2 - alpha) * (1 + 1e-9)


def test_radii_contain_all_distances():
    patterns = orthogonal_patterns(3, 2, 5, 2.0)
    law = PatternClassification(patterns, all_tasks(3), 0.6, 0.5)
    codes = law.codes(stream(0, "radii"), (400,), 8)
    prompts = write(codes, patterns)
    distance = (prompts.x - prompts.x_query[:, None]).square().sum(-1)
    same = codes.pattern[:, :-1] == codes.pattern[:, -1:]
    assert neighbours.radii(0.25, 2.0) == (1.0, 8.0)
    own, other = neighbours.radii(0.5, 2.0)
    assert (own, other) == (4.0, 8.0)
    assert 0.8 * own < float(distance[same].max()) <= own and float(distance[~same].min()) >= other


@pytest.mark.parametrize(("l", "alpha", "k"), [(3, 0.5, 2), (2, 0.5, 3), (3, 0.0, 1), (3, 1.1, 1)])
def test_neighbours_error_refuses(l, alpha, k):
    with pytest.raises(ValueError, match="odd k"):
        neighbours.neighbours_error(l, alpha, k)
