"""Numbers in the alternative texts on the sequels and the appendix, by a second route, as ``prose_alternatives`` has it."""

import numpy as np
from scipy.stats import gmean

from papers.dherin.theory import generation
from tests.papers.dherin.prose_alternatives import mean, outer, over
from tests.papers.prose import both, ends, tells

EXACT = ["all matrices", "last alone", "position 0"]


# --- all positions, generation ---


@tells("dherin-positions")
def positions(d):
    """The missing share by its formula."""
    worst = [ends(over(np.max, each, "block", "network")) for each in (d.error, d.fault)]
    return *ends(d.by_position), *np.ravel(worst), *ends(d.missing_theory), *ends(d.error_exact)


@tells("dherin-positions-training")
def positions_training(d):
    shown = d.sel(variant=["skips", "skips, norms"])
    return *ends(over(np.max, shown.difference)), *ends(over(np.min, shown.difference_fault, "block", "seed"))


@tells("dherin-composition")
def composition(d):
    right, *wrong = (over(np.max, each, "network") for each in (d.error, d.error_left_out, d.error_none))
    return *ends(right), *ends(*wrong)


@tells("dherin-generation")
def decoding(d):
    """The largest share of the two patches made anew is 0."""
    anew, left_out, none = (
        mean(d.differ.sel(patches=each)) for each in (["recomputed", "with a window"], "last block without", "none")
    )
    return ends(anew)[1], *ends(left_out), *ends(none)


@tells("dherin-stale-patches")
def stale_patches(d):
    level = gmean(d.error.sel(architecture="Llama", patches=["stale", "none"]), None)
    return level, *ends(mean(d.same)), *ends(mean(d.different)), *ends(mean(d.without))


@tells("dherin-costs")
def costs(d):
    """A patch beside a step of the shortest and of the longest text, by their operations; 1 is where the ratio falls to."""
    full = both("dherin-costs")[1]
    sizes = full.sizes.width, full.sizes.hidden, full.depth, full.sizes.vocabulary
    cached = [generation.cached_cost(*sizes, T) for T in ends(d.length)]
    return d.ratio[-1], *(1 + generation.patch_cost(*sizes) / step for step in cached), 1


# --- architectures and real models ---


def on_the_axis(values, floor):
    """Return the geometric mean over networks of what is drawn at ``floor`` or above."""
    return gmean(np.maximum(values.transpose("seed", ...).values, floor), 0)


@tells("dherin-modern-blocks")
def modern_blocks(d):
    whole, epsilon, *wrong = (
        on_the_axis(d.error.sel(patch=patch), 1e-17) for patch in ("whole", "epsilon", "neighbour", "input half", "none")
    )
    return *ends(whole), ends(epsilon)[1], *ends(*wrong)


@tells("dherin-patch-sizes")
def patch_sizes(d):
    """Of the architectures in the figure; what takes up the difference is a matrix but for a bias and one of Gemma's forms."""
    size = {name: mean(d.size_out.sel(architecture=name)) for name in d.architecture.values}
    own = [size.pop(name) for name in ("vanilla, bias", "Gemma")]
    matrices = [size[name] for name in size if not name.startswith("vanilla")]
    reads = mean(d.size_in.sel(architecture=["experts", "Llama", "Gemma", "vanilla, bias"], block=d.block[0]))
    return *ends(reads), *ends(*matrices), *ends(*own)


@tells("dherin-depth")
def depth(d):
    shallow, deep = ends(d.depth)
    error = {way: on_the_axis(d.error.sel(architecture="Llama", patched=way), 1e-17) for way in d.patched.values}
    changing = [outer(error[way]) for way in ("all, epsilon", "all but the last", "none")]
    return shallow, deep, *ends(error["all blocks"], error["last block"]), *np.ravel(changing)


@tells("dherin-gemma")
def gemma(d):
    """The change of a gain is the largest over blocks and positions; 1/τ has a 1."""
    gains = [ends(over(np.max, d.changes.sel(form=form), "block", "position")) for form in ("published", "conditioned")]
    errors = [
        on_the_axis(d["median"].sel(form=form, made="ahead", precision=precision), 1e-17)
        for form in ("published", "conditioned")
        for precision in ("float32", "bfloat16")
    ]
    return *np.ravel(gains), 1, *errors


@tells("dherin-w-down-alone")
def w_down_alone(d):
    return ends(*(np.average(d.miss.sel(alone=each)) for each in d.alone.values))


@tells("dherin-model-classes")
def model_classes(d):
    single, half = (d.error.sel(precision=precision) for precision in ("float32", "bfloat16"))
    groups = single.sel(patch=["reads alone", "no patch"]), single.sel(patch=EXACT), half.sel(patch="last alone"), d.own
    behind = d.stream.sel(patch="last block", precision="float32")
    return np.ravel([ends(on_the_axis(each, 1e-16)) for each in (*groups, behind)])


@tells("dherin-model-capacity")
def model_capacity(d):
    """The median over all models with a norm behind, from two tokens on."""
    one_more, new = (on_the_axis(each, 1e-16) for each in (d.stream.sel(tokens="one more"), d.new))
    factor = over(np.median, d.gain_error.sel(gain="one factor", rows=d.rows[d.rows > 1]), "normed", "seed")
    return *ends(one_more), *ends(new), *ends(factor)


@tells("dherin-skip-connections")
def skip_connections(d):
    errors = d["median"].sel(block="softmax attention", share=d.share[d.share > 0])
    return np.ravel([ends(errors.sel(way=f"without the {part}")) for part in ("bias", "matrix")])


# --- static patches ---


@tells("dherin-static-one-block")
def static_one_block(d):
    """What stays at 1 or above is the least error with wrong targets in trained networks."""
    cell = d.sel(part="median", span=max(d.span.values))
    wrong = cell.error_targets.sel(network="trained", targets=["other context", "shuffled"])
    trained, untrained = (cell.error.sel(fit="least squares", network=name) for name in ("trained", "before training"))
    average = cell.error.sel(fit="average", network="trained", K=d.K[d.K > 1])
    return *trained.sel(K=[1, 2]).values, *ends(average), ends(wrong)[0], *outer(untrained)


@tells("dherin-static-deep")
def static_deep(d):
    """What stays at about 1 or above is the least error with the targets of another context."""
    few, many = ends(d.K)
    error, wrong = d.error.sel(part="median"), d.error_targets.sel(part="median", targets="other context")
    return *ends(error.sel(K=few)), *ends(error.sel(K=many)), many, ends(wrong)[0]
