"""What the page of section 5.3 says of the published results."""

import numpy as np

from tests.papers.prose import both, says

PAGE = "zhang_5_3_pl_inequality"


@says(
    PAGE,
    r"with $\sigma^2$ at 0.3 of its bound. It grows with $d$. One might expect the same of the condition number, but with this "
    r"$\sigma$ the slack in dimension 2 falls from $\kappa=1.5$ on.",
    "zhang-pl",
)
def slack_of_the_inequality(d):
    falls = bool((d.slack.sel(d=2).diff("kappa") < 0).all())
    return both("zhang-pl")[1].share, bool((d.slack.diff("d") > 0).all()), 2, falls, d.kappa.min()


@says(PAGE, r"was seen to fail, however large or small $\sigma$ was.", "zhang-start-size", "zhang-dense-init", "zhang-pl")
def every_size_arrives(sizes, dense, flows):
    at_end = abs(flows.u_last_unbalanced / flows.u_last_unbalanced_theory - 1) < 1e-6
    return bool((sizes.miss < 1e-6).all()), bool((dense.loss_allowed < 1.01).all()), bool(at_end.all())


@says(PAGE, "The flows that miss end near one and the same loss.", "zhang-dense-init")
def flows_that_miss(d):
    missed = d.loss.where(d.loss >= 1.01)
    return bool(missed.notnull().any("start").all()), bool(missed.max() / missed.min() < 1.01)


@says(PAGE, "short prompts or a dominant direction make this point a local minimum", "zhang-rank-one-trap")
def where_the_point_is_a_minimum(d):
    trap = (d.negative == 0).astype(int)
    return bool((trap.diff("N") <= 0).all()), bool((trap.diff("kappa") >= 0).all()), bool(0 < trap.mean() < 1)


@says(PAGE, "the rank-one point is a local minimum up to $N=10$.", "zhang-rank-one-trap")
def last_length_of_the_example(d):
    return np.floor(d.edge.sel(d=2, kappa=2))


def _minimum(d):
    """Whether a descent ended at a local minimum above the optimum, and whether that one has a last weight."""
    trap = (d.negative == 0) & (d.zero == 1) & (d.gradient < 1e-10) & (d.loss > 1.001 * d.minimum)
    return trap, trap & (d.beyond > 1) & (d.beyond < 1e6)


@says(
    PAGE,
    r"At $d=2$ and 3 there is then a local minimum with $u_{-1}\ne0$ and $u_{12},u_{21}\ne0$ at every length tried",
    "zhang-long-prompts",
)
def local_minima_beyond_the_rank_one_point(d):
    """The words follow on 'what is left beyond it', so the lengths are those where the rank-one point is a saddle."""
    there = _minimum(d)[1].any("place") | (d.rank_one_margin > 0)
    return 2, 3, 0, 0, bool(there.where(d.d <= 3, True).all())


@says(
    PAGE,
    "In dimension 5 the two descents tried both end at the optimum at some lengths, and on still longer prompts they again do "
    "not both do so",
    "zhang-long-prompts",
)
def dimension_five(d):
    both = (d.loss < 1.001 * d.minimum).all("place").sel(setting="d=5, κ=10").values.tolist()
    return 5, not all(both[both.index(True) :])


@says(PAGE, "at long prompts descents on the wall find nearly the same number", "zhang-long-prompts")
def height_of_the_wall(d):
    ratio = (d.least_on_wall - d.minimum) / d.height
    return bool((ratio >= 1).all()), bool((ratio.sel(N=10_000) < 1.02).all())


@says(
    PAGE,
    "In the full profile at $N=1000$, 10 of 24 dense flows have arrived, and the 14 others are locked in. "
    "At $N=10$, 12 of 24 arrive; at 50 and 200, 10 of 24. At this $\\Lambda$, with $d=3$, longer prompts do not help.",
    "zhang-long-prompts",
)
def dense_flows(d):
    arrived, of = d.dense_loss < 1.01, d.sizes["start"]
    count = {int(N): int(arrived.sel(dense_N=N).sum()) for N in d.dense_N}
    locked = (d.locked & ~arrived).sel(dense_N=1000).sum()
    numbers = (1000, count[1000], of, locked, 10, count[10], of, 50, 200, count[200], of, 3)
    return *numbers, count[50] == count[200], count[10] >= count[50] >= count[200] >= count[1000]


def _d3(d):
    return d.sel(setting="d=3, κ=5")


@says(PAGE, r"$\kappa=5$ the local minimum is the rank-one point up to $N=10$.", "zhang-long-prompts")
def rank_one_point(d):
    cell = _d3(d)
    far = cell.beyond.max("place") == 1e6
    return 5, d.N.where(cell.rank_one_margin > 0).max(), bool((far == (cell.rank_one_margin > 0)).all())


@says(
    PAGE,
    r"From $N=20$ on it is a point with $u_{-1}\ne0$, along the largest eigenvalue up to $N=200$ and along the least "
    "from $N=500$ on, where the other has become a saddle.",
    "zhang-long-prompts",
)
def place_of_the_minimum(d):
    cell, minimum = _d3(d), _minimum(_d3(d))[1]
    least = minimum.sel(place="least")
    gone = (cell.negative.sel(place="largest") > 0) | np.isclose(*(cell.loss.sel(place=p) for p in ("largest", "least")))
    ends = d.N.where(minimum.any("place")).min(), 0, d.N.where(~least).max(), d.N.where(least).min()
    return *ends, bool((gone == least).all())


@says(
    PAGE,
    "Its loss over $L^*$ is 1.4 at $N=5$, 4.5 at $N=50$, 19 at $N=1000$ and 65 at $N=10^4$.",
    "zhang-long-prompts",
)
def loss_of_the_minimum(d):
    cell = _d3(d)
    ratio = cell.loss.where(_minimum(cell)[0]).min("place") / cell.minimum
    return [x for N, shown in ((5, 5), (50, 50), (1000, 1000), (10_000, 1e4)) for x in (ratio.sel(N=N), shown)]


@says(PAGE, r"$\kappa=10$, both descents end at the optimum for $N=100$ to $1000$", "zhang-long-prompts")
def both_descents_arrive(d):
    cell = d.sel(setting="d=5, κ=10")
    both = (cell.loss < 1.001 * cell.minimum).all("place")
    lengths = d.N.where(both)
    return 10, lengths.min(), lengths.max(), bool(both.sel(N=slice(100, 1000)).all())


@says(
    PAGE,
    "hold on all flows that were integrated. The PL constant is far from tight, by a factor of 2.9 at $d=1$ and of five or "
    "more from $d=2$ on; the lower bound is below the least $u_{-1}$ by a factor of 1.2 to 4.5 (full profile, "
    r"$\sigma^2$ at 0.3 of its bound).",
    "zhang-pl",
)
def bounds_and_their_slack(d):
    inequality, bound = d.pl_ratio / d.pl_constant, d.u_last_least / d.u_last_bound
    balance = bool((d.drift < 1e-6).all())
    return (
        balance,
        bool((inequality >= 1).all()),
        bool((bound >= 1).all()),
        inequality.sel(d=1).min(),
        1,
        bool((inequality.sel(d=slice(2, None)) >= 5).all()),
        2,
        bound.min(),
        bound.max(),
        both("zhang-pl")[1].share,
    )


@says(
    PAGE,
    "At $d=3$ and the lengths tried, a good part of the flows from them misses the optimum",
    "zhang-dense-init",
    "zhang-long-prompts",
)
def part_that_misses(dense, long):
    shares = (dense.loss >= 1.01).mean("start"), (long.dense_loss >= 1.01).mean("start")
    return 3, *(bool(((share > 0.3) & (share < 0.7)).all()) for share in shares)


@says(
    PAGE,
    r"At $d=2$ and 3 the local minima's loss over $L^*$ grows with $N$, roughly like $\sqrt N$.",
    "zhang-long-prompts",
)
def growth_of_the_loss(d):
    minima = np.log(d.loss.where(_minimum(d)[0]).min("place") / d.minimum).where(d.d <= 3, drop=True)
    power = (minima.isel(N=-1) - minima.isel(N=0)) / np.log(d.N[-1] / d.N[0])
    return 2, 3, bool((minima.diff("N") > 0).all()), bool(((power > 0.4) & (power < 0.6)).all())


@says(PAGE, r"was measured for one $\Lambda$, in the full profile at four lengths", "zhang-long-prompts")
def lengths_of_the_flows(d):
    return d.sizes["dense_N"] == 4
