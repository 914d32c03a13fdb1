"""What was a claim on section 5 and is a test: on the stored results, each beside the near miss that has to fail."""

import numpy as np

from tests.papers.zhang.margins import holds, misses


def test_Z19c(stored):
    """The loss never rises along the flow of Lemma 5.2.

    Up to the integrator's tolerance of 1e-10; the flow with Lambda in place of Gamma falls and climbs again.
    """
    flow = stored("zhang-dynamics")
    assert holds(flow.loss.diff("time"), 1e-8)
    assert misses(flow.loss_towards_plain.diff("time"), 1e-8)


def test_Z20(stored):
    """Over all live parameters the loss is odd part + even part under w → −w, each an exact polynomial.

    Relative to the loss, which is averaged by a quadrature that is exact for its degree; the even part is not 0.
    """
    full = stored("zhang-full-loss")
    odd_only = full.loss_theory.where(full.parity == "odd", 0.0)
    assert holds(abs(full.loss_theory - full.loss) / full.loss.sum("parity"), 1e-10)
    assert misses(abs(odd_only - full.loss) / full.loss.sum("parity"), 1e-10)


def test_Z20b(stored):
    """The limit of Theorem 4.1 minimises the full loss: no sampled parameter point lies below it.

    Rounding leaves about 1e-15; below the loss at the inverse of Lambda there are points.
    """
    points = stored("zhang-full-loss")
    assert points.excess.min() >= -1e-12
    assert points.excess_over_plain.min() < -1e-12


def test_Z20c(stored):
    """The Hessian of the full loss at that limit is positive semi-definite with exactly one zero mode.

    Counts of eigenvalues beyond 1e-10 of the largest; the Hessian is exact to rounding. The origin is a saddle.
    """
    full = stored("zhang-full-loss")
    wrong = full.negative + abs(full.zero - 1)
    assert holds(wrong.sel(place="limit"), 0)
    assert misses(wrong.sel(place="origin"), 0)


def test_Z24d(stored):
    """The slack of the PL inequality also grows with the condition number κ, at every d.

    It does not: in dimension 2 the slack falls as kappa grows, in the largest it grows at every step.
    """
    slack = np.log(stored("zhang-pl").slack)
    assert slack.sel(d=2).diff("kappa").min() < 0
    assert slack.isel(d=-1).diff("kappa").min() > 0


def test_Z25(stored):
    """The condition on σ is sufficient, not necessary: no failure found from far below to far above it.

    Relative distance of the product from the inverse of Gamma at the end; that of Lambda is no end.
    """
    starts = stored("zhang-start-size")
    assert holds(starts.miss, 1e-6)
    assert misses(starts.miss_plain, 1e-6)
