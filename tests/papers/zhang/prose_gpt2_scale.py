"""What the page of the decoders says of scale, section 4.3: what hurts at c = 9, and what does not."""

from tests.papers.zhang.prose_gpt2 import CURVES, SCALE, relative, says


@says("With the size taken out, the error at $c=9$ is that at $c=1$", SCALE)
def size_taken_out(d):
    ratio = d.risk.sel(way="own size", c=9) / d.risk.sel(way="both scaled", c=1)
    return 9, 1, bool((abs(ratio - 1) < 0.2).all())


@says(
    """Variances that differ from entry to entry cost models of one covariance less than scale does. At $N=20$ they double the
    error: 0.027 on $I$ and 0.053 at $c=1$, in the mean over trainings (full profile).""",
    CURVES,
)
def unequal_variances(d):
    kept = relative(d).sel(trained="fixed").mean("run")
    equal, one, nine = (kept.sel(test=test) for test in ("covariance I", "c = 1", "c = 9"))
    return 20, equal.sel(N=20), one.sel(N=20), 1, bool((one / equal < nine / one).all())


@says(
    "Inputs times 3 alone hurt more than labels times 3 alone. Both together hurt about as much as inputs alone, or less.",
    SCALE,
)
def what_hurts(d):
    errors = d.risk.sel(c=9).mean("run")
    inputs, labels, both = (errors.sel(way=f"{way} scaled") for way in ("inputs", "labels", "both"))
    return 3, 3, bool((inputs > labels).all()), bool((both / inputs < 1.15).all())


@says(
    """In the full profile own sizes by entry are no better at $N=10$ for the fixed models, and better at 15 and 20. For the
    random ones they are no gain, and a loss at $N=10$""",
    SCALE,
)
def sizes_by_entry(d):
    errors = d.risk.sel(c=9).mean("run")
    fixed, random = errors.sel(way="own size by entry") / errors.sel(way="own size")
    better = bool((fixed.sel(N=[15, 20]) < 0.9).all())
    return 10, 15, 20, 10, bool(fixed.sel(N=10) > 0.98), better, bool((random > 0.95).all()), bool(random.sel(N=10) > 1.2)
