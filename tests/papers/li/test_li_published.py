"""The points of the authors' plots, read a second time: another text that has to hold the same numbers."""

import math

import pytest

from papers.li import published

SUMS = """
1.3  .048  .0145  .009  .0052  .0048  .0045  .0035  .0025  .002
1.1  .052  .019   .009  .0068  .0058  .0055  .0045  .0035  .0035
0.9  .052  .019   .011  .0098  .014   .0115  .013   .014   .0135
0.7  .065  .033   .027  .019   .024   .024   .027   .022   .024
0.5  .08   .038   .038  .031   .033   .039   .041   .041   .047
"""
"""GPT-2 out of domain: the coefficient sum, then the error at 4, 6, ... 20 examples."""

LEARNERS = """
0.8  ICL           .036  .015   .010  .0085  .003   .0025  .0015  -
0.8  logistic      .035  .0125  .010  .005   .0035  .0025  .002   .0015
0.8  linear SVM    .05   .02    .017  .015   .0125  .0125  .015   .012
0.8  3-NN          .18   .06    .03   .0125  .011   .005   .003   .002
0.6  ICL           .08   .042   .023  .0075  .007   .0035  .0025  .0015
"""
"""The share of relevant examples and the learner, then the error at 6, 8, ... 20 examples."""

ENDS = {
    (0.8, "Gaussian SVM"): (0.13, 0.0055),
    (0.8, "1-NN"): (0.06, 0.0027),
    (0.6, "logistic"): (0.11, 0.0035),
    (0.6, "linear SVM"): (0.12, 0.035),
    (0.6, "Gaussian SVM"): (0.18, 0.013),
    (0.6, "1-NN"): (0.11, 0.007),
    (0.6, "3-NN"): (0.18, 0.009),
}
"""Curves of which the first and the last point alone were read."""


def _rows(text: str, names: int) -> dict[str, list[float]]:
    rows = (line.rsplit(maxsplit=names) for line in text.strip().splitlines())
    return {head: [math.nan if each == "-" else float(each) for each in values] for head, *values in rows}


def _alike(found: list[float], asked: list[float]) -> bool:
    return found == pytest.approx(asked, rel=1e-12, nan_ok=True)


def test_errors_by_coefficient_sum():
    rows = _rows(SUMS, 9)
    assert {*map(float, rows)} == {*published.SUMS}
    assert all(_alike([published.sum_points(float(S_1), l) for l in range(4, 21, 2)], row) for S_1, row in rows.items())
    assert math.isnan(published.sum_points(1.0, 20)) and math.isnan(published.sum_points(1.3, 5))


def test_errors_of_learners():
    rows = {(float(head[:3]), head[3:].strip()): row for head, row in _rows(LEARNERS, 8).items()}
    rows |= {key: [first, *[math.nan] * 6, last] for key, (first, last) in ENDS.items()}
    assert {*rows} == {*published.LEARNERS}
    assert all(_alike(published.learner_points(*key, tuple(range(6, 21, 2))), row) for key, row in rows.items())
    assert all(map(math.isnan, published.learner_points(0.5, "ICL", (6, 8))))


def test_errors_after_deletion():
    points = published.pruned_points()
    assert _alike([*points["deleted_share"].values], [share / 100 for share in (0, 5, 10, 16, 20, 25, 30, 35, 40)])
    by_magnitude, at_random = points["slides_pruned"].values * 1000
    assert _alike([*by_magnitude], [7, 5.3, 5.8, 6.3, 8.5, 11, 18, 23, 30])
    assert _alike([*at_random], [7, 8, 11, 15, 18, 26, 29, 38, 45])
    assert published.PRUNED_BY_SHARE == {1.0: 0.0072, 0.8: 0.0105, 0.6: 0.03}


def test_errors_by_share_and_the_course_of_attention():
    assert {
        **{("out", share): error / 1000 for share, error in ((1.0, 10), (0.9, 42), (0.8, 72))},
        **{("in", share): error / 1000 for share, error in ((1.0, 20), (0.9, 54), (0.8, 75))},
    } == published.SHARES
    assert [[round(100 * each) for each in layer] for layer in published.ATTENTION] == [[52, 85], [43, 77], [43, 88]]
    assert dict(zip(published.ATTENTION_STEPS, published.ATTENTION_COURSE, strict=True)) == {0: 0.43, 120: 0.98, 200: 1.0}


def test_lengths_and_angles():
    assert published.ROW_LENGTHS == {"large": (0.48, 0.51), "small": (0.14, 0.18)}
    assert (*published.PROJECTED, *published.PROJECTED_ENDS) == (0.40, 1.75, 1.75, 1.45)
    assert [round(math.degrees(published.ENDS[part]), 1) for part in ("feature_angle", "label_angle_plus")] == [22.5, 25.7]
    assert published.ENDS["label_angle_minus"] + published.ENDS["label_angle_plus"] == pytest.approx(math.pi)
    assert 0.38 <= published.ENDS["feature_norm"] <= 0.46 and 1.1 <= published.ENDS["label_norm"] <= 1.3
