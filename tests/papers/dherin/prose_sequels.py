"""What the pages on the sequels say of the published results."""

from json import loads

import numpy as np

from tests.papers.prose import says

SKIPS = ["skips", "skips, norms", "not causal", "not causal, norms"]


def near(found, low, high):
    """Whether all lie between two numbers."""
    return bool((found >= low).all()) and bool((found <= high).all())


def geometric(errors, over="seed"):
    """Return the mean on the logarithmic axis."""
    return np.exp(np.log(errors).mean(over))


@says(
    "dherin_all_positions",
    "Their rank is 1 to the tolerance of float32. Cast to float64 first, the same matrix is judged with a tolerance of "
    "$10^{-15}$ and counts as full rank.",
    "dherin-positions",
)
def rank_of_the_sum(d):
    full = d.rank_cast >= 3 + 7 * d.variant.str.startswith("d = 9")
    return 1, 1e-15, bool((d.rank_single.median(("block", "network")) == 1).all()), bool(full.all())


@says(
    "dherin_all_positions",
    "With each token as its own base the rows differ and the rank is larger in general.",
    "dherin-positions",
)
def own_bases(d):
    return bool((d.second_own_base.median(("block", "network")) > 1e6 * d.second.max()).all())


@says("dherin_all_positions", "In the mean the last token is an anomaly, as the notes say", "dherin-update-alignment")
def last_token_in_the_mean(d):
    mean = d.alignment.mean("seed").sel(variant=SKIPS, base="query")
    return bool((mean.sel(group="last") < mean.sel(group="others") - 0.05).all())


@says("dherin_all_positions", "It goes with the base.", "dherin-update-alignment")
def unrelated_base(d):
    mean = d.alignment.mean("seed").sel(variant=SKIPS)
    gap = mean.sel(group="others") - mean.sel(group="last")
    return bool((abs(gap.sel(base="unrelated query")) < gap.sel(base="query") / 3).all())


@says("dherin_all_positions", "In single networks and blocks there are exceptions", "dherin-update-alignment")
def exceptions(d):
    cells = d.alignment.sel(variant=SKIPS, base="query")
    return near((cells.sel(group="last") >= cells.sel(group="others")).mean(), 0.01, 0.3)


@says("dherin_all_positions", "in the mean over random networks, with wide scatter", "dherin-update-alignment")
def scatter_of_alignment(d):
    return near(d.alignment.sel(variant=SKIPS, base="query", group="last").std("seed"), 0.1, 0.3)


@says(
    "dherin_all_positions",
    "The measured cosines in block 1 lie above it, in the mean over networks.",
    "dherin-update-alignment",
)
def above_the_prediction(d):
    mean = d.alignment.mean("seed").sel(block=1, base="query", group="others")
    return 1, bool((mean > d.alignment_theory.mean("seed")).all())


@says(
    "dherin_all_positions",
    "In the full profile the loss, on fresh prompts at every mark, jumps up and down, above all without norms (mean over "
    "networks), and the agreement does not care",
    "dherin-positions-training",
)
def loss_and_agreement(d):
    jump = abs(np.log(d.loss.sel(step=slice(5, None))).diff("step")).mean(("step", "seed"))
    ups = (d.loss.diff("step") > 0).mean(("step", "seed"))
    return near(ups, 0.3, 0.7), bool(jump[0] > 1.2 * jump[1]), bool((d.difference < 1e-12).all())


@says("dherin_all_positions", "It also explains why errors do not grow with depth", "dherin-composition")
def errors_over_depth(d):
    worst = d.error.max("network")
    return bool((worst.isel(block=-1) <= worst.isel(block=0)).all())


@says(
    "dherin_all_positions",
    "The last block's patch alone, fitted to the stream of unpatched blocks, gives the right output too.",
    "dherin-composition",
)
def last_patch_alone(d):
    last = d.error_last.max("network")
    return bool((last.isel(block=-1) < 1e-13).all()), bool((last.isel(block=slice(-1)) > 0.01).all())


@says("dherin_all_positions", "Rounding of the input is magnified in the patch that undoes it.", "dherin-composition")
def magnified_without_norms(d):
    last = d.difference.isel(block=-1).max("network")
    return bool(last.sel(architecture=["skips", "outer skip"]).min() > 10 * last.sel(architecture="layer norm"))


@says(
    "dherin_generation",
    "In the full profile greedy decoding shows its loops: 9 to 19 distinct tokens of 48, where sampling has 34 to 38.",
    "dherin-generation",
)
def distinct_tokens(d):
    mean = d.distinct.mean("seed")
    greedy, sampled = (mean.sel(choice=choice) for choice in ("greedy", "sampled"))
    return greedy.min(), greedy.max(), loads(d.attrs["declaration"])["steps"], sampled.min(), sampled.max()


@says("dherin_generation", "Agreement is complete in both.", "dherin-generation")
def complete_agreement(d):
    return bool((d.differ.sel(patches=["recomputed", "with a window"]) == 0).all())


@says("dherin_generation", "This is why the controls lie lower on the right.", "dherin-generation")
def controls_lower(d):
    control = d.differ.mean("seed").sel(patches=["last block without", "none"])
    return bool((control.sel(choice="sampled") < control.sel(choice="greedy")).all())


@says("dherin_generation", "the logits differ by rounding, about $10^{-15}$", "dherin-generation")
def rounding_of_logits(d):
    return d.error.sel(patches=["recomputed", "with a window"]).max()


@says("dherin_generation", "So a control that leaves out a lower block does not fail.", "dherin-stale-patches")
def lower_block_left_out(d):
    return bool((d.error.sel(patches="first block without") < 1e-13).all())


@says(
    "dherin_generation",
    "Used for the same token one step later, a patch removes more than three quarters of the error in the full profile, "
    "in the mean over networks.",
    "dherin-stale-patches",
)
def same_token_again(d):
    return bool((d.same.mean("seed") < d.without.mean("seed") / 4).all())


@says(
    "dherin_generation",
    "Used for another one it changes the error little; where the site is a bias or a gain it adds some percent.",
    "dherin-stale-patches",
)
def another_token(d):
    added, sites = d.different.mean("seed") / d.without.mean("seed") - 1, ["vanilla, bias", "Gemma"]
    return near(added.drop_sel(architecture=sites), -0.02, 0.02), near(added.sel(architecture=sites), 0.02, 0.1)


@says(
    "dherin_generation",
    "the published patch of Gemma errs by several powers of ten more than all other patches",
    "dherin-stale-patches",
)
def shifted_window(d):
    most = d.renumbered.sel(place="window").max("seed")
    others = most.drop_sel(architecture="Gemma").max()
    return bool(most.sel(architecture="Gemma") > 1e3 * others), bool(others < 1e-14)


@says(
    "dherin_generation",
    "In the full profile it leaves about four fifths of the error that this network makes without patches.",
    "dherin-stale-trained",
)
def stale_in_a_trained_network(d):
    mean = d.error.mean("draw")
    return near(mean.sel(patches="stale") / mean.sel(patches="none"), 0.75, 0.85)


@says("dherin_generation", "It saves nothing, at any length", "dherin-costs")
def nothing_saved(d):
    return bool((d.ratio > 1).all()), bool((d.ratio_cached > 1).all())


@says("dherin_generation", "PyTorch's own count confirms the formulas of the matrix products", "dherin-costs")
def counted(d):
    return bool((d.operations == d.operations_theory).all())


@says("dherin_modern_blocks", "its error is far above rounding. Parallel blocks do not feel it", "dherin-modern-blocks")
def epsilon_in_the_denominator(d):
    error = d.error.sel(patch="epsilon").drop_sel(architecture=["parallel", "vanilla, norm bias"])
    parallel = d.error.sel(architecture="parallel")
    same = (parallel.sel(patch="epsilon") == parallel.sel(patch="whole")).all()
    return bool((error > 1e6 * d.error.sel(patch="whole").max()).all()), bool(same)


@says(
    "dherin_modern_blocks",
    "With the site left out, three quarters or more of the largest error without a patch are left in the full profile",
    "dherin-modern-blocks",
)
def site_left_out(d):
    error = geometric(d.error.sel(patch=["input half", "none"]))
    return near(error.sel(patch="input half") / error.sel(patch="none"), 0.75, 1)


@says(
    "dherin_modern_blocks",
    "In the full profile what reads $z$ changes by some 3 to 12%, less in higher blocks",
    "dherin-modern-blocks",
)
def size_of_what_reads(d):
    size = d.size_in.mean("seed").drop_sel(architecture=["parallel", "vanilla, norm bias"])
    return 100 * size.min(), size.max(), bool((size.diff("block") < 0).all())


@says(
    "dherin_modern_blocks",
    "A last matrix changes by 9 to 21%, in the well-conditioned form for Gemma (below) by 21 to 41%.",
    "dherin-modern-blocks",
)
def size_of_last_matrices(d):
    size = d.size_out.mean("seed")
    last, formed = (
        size.sel(architecture=["vanilla, matrix", "Llama", "parallel", "experts", "experts, each"]),
        "Gemma, conditioned",
    )
    return [x for part in (last, size.sel(architecture=formed)) for x in (100 * part.min(), part.max())]


@says("dherin_modern_blocks", "Biases and gains change by several times their own size", "dherin-modern-blocks")
def size_of_biases_and_gains(d):
    sites = d.size_out.mean("seed").sel(architecture=["vanilla, bias", "vanilla, norm bias", "Gemma"])
    return near(sites, 2.5, 12), near(d.size_in.mean("seed").sel(architecture="vanilla, norm bias"), 2.5, 12)


@says(
    "dherin_modern_blocks",
    "With the last block alone patched the logits are as exact (D46b), and the token behind the blocks below is not.",
    "dherin-depth",
)
def last_block_alone(d):
    last = d.sel(patched="last block")
    return bool((last.error < 1e-14).all()), bool((last.stream.sel(depth=slice(2, None)) > 1).all())


@says("dherin_modern_blocks", "with the epsilon the error falls with depth", "dherin-depth")
def epsilon_over_depth(d):
    return bool((geometric(d.error.sel(patched="all, epsilon")).diff("depth") < 0).all())


@says("dherin_modern_blocks", "at the tested depths up to 32 (Llama-style networks, in `full` two more)", "dherin-depth")
def depths(d):
    return d.depth.max(), d.architecture[0] == "Llama" and d.sizes["architecture"] == 3


@says("dherin_modern_blocks", "nearly every context asks for more than the norm gives", "dherin-gemma")
def out_of_reach(d):
    return near(d.outside, 0.95, 1)


@says("dherin_modern_blocks", "there is no gap either (D48c): both forms err less than bfloat16 itself does", "dherin-gemma")
def no_gap_in_place(d):
    cell = d.sel(precision="bfloat16").mean("seed")
    share = cell.agreement.sel(made="in place")
    return bool((cell["median"].sel(made="in place") < cell.floor).all()), near(share.diff("form"), -0.01, 0.01)


@says("dherin_modern_blocks", "The reason tested in D48d is one way to get a gap, and a large one", "dherin-gemma")
def gap_ahead(d):
    share = d.agreement.sel(precision="bfloat16", made="ahead").mean("seed")
    return bool(share.sel(form="conditioned") - share.sel(form="published") > 0.5)
