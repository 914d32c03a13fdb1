"""What alternative texts of this wing say of their results, by a second route; "u_-1" counts as the number 1."""

import numpy as np

from tests.papers.prose import both, ends, tells


def over_runs(values):
    """Return the mean over trainings."""
    return np.mean(values.transpose("run", ...).values, 0)


@tells("zhang-one-step")
def one_step(d):
    """Condition numbers; 1 - (sum lambda^2)^2/(sum lambda sum lambda^3) of spectra in geometric progression."""
    spectra = [np.geomspace(1, kappa, d.d.values[0]) for kappa in d.kappa.values[1:]]
    return *d.kappa.values, 1, *ends([1 - sum(s**2) ** 2 / (sum(s) * sum(s**3)) for s in spectra])


@tells("zhang-attention")
def attention(d):
    """A factor c on both weights multiplies a prediction by c^2."""
    _, alone = ends(d.query_row, d.dead_entries, d.rescaling)
    least, _ = ends(d.query_row_without_own_token, d.live_entries, d.rescaling_one_sided)
    return alone, least, both("zhang-attention")[1].scale ** 2 - 1


@tells("zhang-flow")
def flow(d):
    """First times drawn, last times, and the condition number of what is farthest from its limit at t = 100."""
    course = d.distance_U_11.sel(start=0)
    slowest = course.sel(time=100, method="nearest").idxmax("setting").item()
    return round(course[:, 1].values.mean()), *ends(course.sel(time=d.time.max())), float(slowest.split("κ=")[1])


@tells("zhang-training")
def training(d):
    return 1, *ends(d.descent_product)


@tells("zhang-stationarity")
def stationarity(d):
    at, large, inverse = (np.sort(abs(d.gradient.sel(point=point).values))[-1] for point in d.point.values)
    return 4.1, at, 1, *ends(large, inverse)


@tells("zhang-orthogonal-query")
def orthogonal_query(d):
    """What is 0 up to rounding is told as 0."""
    ordinary, invariant = d.power.sel(query="orthogonal"), d.power.sel(query="invariant")
    largest = np.sort(d.kappa)[-1]
    return (invariant > 1e-20).any(), ordinary.sel(kappa=1) > 1e-20, 1, ordinary.sel(kappa=largest), largest


@tells("zhang-covariate-shift")
def covariate_shift(d):
    """The error is a + b/M, so the two shortest prompts give it at the longest; 0 for what is there, up to rounding."""
    (short, long, *_, last), cell = d.M.values, d.sel(d=5)
    first, second = (cell.risk_theory.sel(M=M) / cell.zero for M in (short, long))
    slope = (first - second) / (1 / short - 1 / long)
    at_last = second + slope * (1 / last - 1 / long)
    return 0, *(end for c in ("0.5", "2", "3") for end in ends(at_last.sel(test=f"inputs × {c}"))), (cell.ols > 1e-20).any()


@tells("zhang-garg-prompts")
def garg_prompts(d):
    usual = ["no shift", "label noise", *(f"weights × {c}" for c in ("1/3", "1/2", "2", "3"))]
    risk, read = d.risk.sel(model="LSA", k=40) / d.zero, (d.gpt2_of_garg.sel(k=40) / d.zero).values
    return *ends(risk.sel(prompt=usual)), 1, risk.sel(prompt="skewed covariance"), *ends(read[read < 1]), 1


@tells("zhang-gpt2")
def gpt2(d):
    """Errors where a model has as many examples as in training, and where it has none."""
    cells = d.risk.sel(test=["covariance I", "c = 1"])
    return 1, over_runs(cells.sel(M=0)).mean(), *ends(*(over_runs(cells.sel(N=N, M=N)) for N in d.N.values)), 4, 9


@tells("zhang-gpt2-positions")
def gpt2_positions(d):
    """The last row that training moves ends those that are long."""
    N = 10
    at, after = (ends(over_runs(d.risk.sel(M=M, table="as trained"))) for M in (N, N + 1))
    untrained = np.nanmean(d.risk.sel(table="untrained rows throughout"))
    return N, *at, *after, 0, untrained, np.flatnonzero((d.row_moved > 0).all(("run", "trained")))[-1]


@tells("zhang-gpt2-scale")
def gpt2_scale(d):
    return 9, *over_runs(d.risk.sel(N=10, way="inputs scaled", c=9))


@tells("zhang-random-covariance")
def random_covariance(d):
    law = {name: d.risk.sel(d=20, law=name) for name in ("exponential", "uniform")}
    gains = [ends(risk.sel(trained="mean").values / risk.sel(trained="random").values) for risk in law.values()]
    above = d.risk.sel(d=20, c=[4, 9], trained=["random", "mean"]) > d.zero.sel(d=20, c=[4, 9])
    return 1, 4, 9, *gains[0], *gains[1], 4, 9, above.all()


@tells("zhang-random-start-size")
@tells("zhang-start-size")
def start_size(d):
    return ends(d.miss)[1:]


@tells("zhang-long-prompts")
def long_prompts(d):
    """Of both places of a descent the lower one, of those beyond the wall where no direction falls."""
    found = np.where((d.beyond > 1) & (d.negative < 1), d.loss, np.nan)
    return ends(np.fmin(found[..., 0], found[..., 1]) / d.minimum.values)
