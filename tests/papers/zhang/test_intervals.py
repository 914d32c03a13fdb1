"""Bootstrap intervals and ratios of means."""

import numpy as np
import pytest
import scipy.stats
import torch

from icl_lib.measure.estimate import ratio_of_means
from icl_lib.seeds import stream
from papers.zhang.bootstrap import percentile_interval


def test_the_interval_is_scipys():
    units = torch.randn((3, 40), generator=stream(0, "units"), dtype=torch.float64).exp()
    lower, upper = percentile_interval(units, 4000, 0.9, stream(0, "resamples")).numpy()
    rng = np.random.default_rng(0)
    theirs = scipy.stats.bootstrap(
        (units.numpy(),), np.mean, axis=-1, n_resamples=4000, confidence_level=0.9, method="percentile", rng=rng
    ).confidence_interval
    spread = units.std(-1).numpy() / 40**0.5
    assert (abs(lower - theirs.low) < 0.1 * spread).all() and (abs(upper - theirs.high) < 0.1 * spread).all()


def test_the_interval_by_hand():
    """Units 0 and 1: resampled means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4; quantiles 0.3 and 0.7 are 1/2, 0.05 and 0.95
    the ends."""
    units = torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert percentile_interval(units, 20_000, 0.4, stream(1, "hand")).tolist() == [0.5, 0.5]
    assert percentile_interval(units, 20_000, 0.9, stream(1, "hand")).tolist() == [0.0, 1.0]


def test_shared_covariances_widen_the_interval():
    """64 groups of 64 equal values: prompts resampled singly pretend to 64 times the sample."""
    groups = torch.randn((64, 1), generator=stream(2, "groups"), dtype=torch.float64).expand(64, 64)
    widths = [
        float(percentile_interval(units, 500, 0.9, stream(2, "r")).diff(dim=0)) for units in (groups.flatten(), groups[:, 0])
    ]
    assert widths[1] / widths[0] == pytest.approx(8, rel=0.15)


def test_ratios_of_means():
    """By hand: 1, 3 over 1, 1 is 2; residuals -1, 1 have sd sqrt 2, over sqrt 2. And its spread over many samples."""
    found = ratio_of_means(torch.tensor([1.0, 3]).double(), torch.tensor([1.0, 1]).double())
    assert (float(found.value), float(found.standard_error)) == (2.0, pytest.approx(1.0))
    below = ratio_of_means(torch.tensor([1.0, 3]).double(), torch.tensor([-1.0, -1]).double())
    assert (float(below.value), float(below.standard_error)) == (-2.0, pytest.approx(1.0))
    common, own = torch.rand((2, 4000, 50), generator=stream(3, "pairs"), dtype=torch.float64)
    found = ratio_of_means(common + 0.3 * own, common + 1)
    assert found.value.std() == pytest.approx(found.standard_error.mean(), rel=0.05)
    with pytest.raises(ValueError, match="at least 2 units"):
        ratio_of_means(common[0, :1], own[0, :1])


@pytest.mark.parametrize(("units", "resamples", "level"), [(1, 5, 0.9), (3, 0, 0.9), (3, 5, 1.0), (3, 5, 0.0)])
def test_impossible_intervals_are_refused(units, resamples, level):
    with pytest.raises(ValueError, match="take"):
        percentile_interval(torch.zeros(units, dtype=torch.float64), resamples, level, stream(0, "r"))
