"""What the pages of this part say of the published results: sections 2, 3, 4.1 and 4.2."""

import numpy as np

from tests.papers.prose import both, says

BLOCKS = "dherin_2_contextual_blocks"
DYNAMICS = "dherin_3_implicit_dynamics"
AGREEMENT = "dherin_4_1_agreement"
FALSE = ["shuffled labels", "noise tokens"]
WITHOUT_ORDER = ["softmax attention", "linear attention", "trained softmax attention", "second block, not causal"]


def left(d):
    """Return what share of the error without an update the update of another query leaves, mean over contexts and networks."""
    return (d.error_swapped / d.error_bare).mean(("context", "replicate"))


def of_nets(d, nets):
    return d.isel(case=d.net.isin(nets).values)


@says(BLOCKS, "Parts do not add up.", "dherin-identity")
def parts_against_the_whole(d):
    gap = d.additivity.median("network")
    return bool((gap.drop_sel(layer="linear attention") > 0.3).all()), bool(gap.sel(layer="linear attention") < 1e-12)


@says(BLOCKS, "With $u$ from a context whose labels are shuffled it holds as exactly.", "dherin-placebo")
def labels_shuffled(d):
    return bool(d.error.sel(vector="labels shuffled").max() < 1e-13)


@says(BLOCKS, "Accuracy does not suffer", "dherin-conditioning")
def small_vectors(d):
    return bool(d.error.max() < 1e-13)


@says(BLOCKS, "A mean cosine of one half", "dherin-query-dependence")
def mean_cosine(d):
    return bool((abs(d.cosine.mean(("context", "replicate")) - 0.5) < 0.03).all())


@says(BLOCKS, "and the mean cosine is lower", "dherin-query-dependence")
def cosine_after_a_short_context(d):
    return bool(d.excess.sel(N=25).mean() < -0.02)


@says(BLOCKS, "in three and six dimensions (D6f), nearer after longer contexts (D6e)", "dherin-query-dependence")
def mean_cosine_in_other_dimensions(d):
    excess = abs(d.excess.mean("drawn"))
    near = abs(d.cosine_drawn.mean("drawn") / d.cosine_drawn_theory - 1) < 0.1
    return d.d.values.tolist() == [3, 6], bool(near.all()), bool(excess.sel(N=400) < 0.5 * excess.sel(N=25))


@says(BLOCKS, "Up to $r$ queries in general position have no relations, and a joint patch exists.", "dherin-joint-patch")
def up_to_the_rank(d):
    return bool((d.error.where(d.rank_theory >= d.K, 0) < 1e-7).all()), bool((d.rank_found == d.rank_theory).all())


@says(BLOCKS, "its $A(x)$ fill the whole width", "dherin-joint-patch")
def rank_of_a_recurrent_layer(d):
    return bool((d.rank_found.sel(case="random tanh RNN") == 32).all())


@says(BLOCKS, "exact, for every layer, part of the context and MLP that was tried", "dherin-identity")
def identity_in_all_blocks(d):
    return bool(d.error.max() < 1e-13)


@says(BLOCKS, "It is as exact at five other places of the block", "dherin-other-sites")
def other_places(d):
    return d.sizes["site"] - 1 == 5, bool(d.error.max() < 1e-13)


@says(BLOCKS, "Used for another one it lowers the typical error by about a quarter.", "dherin-query-dependence")
def lowered_for_another_query(d):
    low, high = sorted((1 - left(d)).values)
    return bool(0.22 < low < high < 0.28)


@says(BLOCKS, "one patch is exact for $d$ queries and for no more", "dherin-joint-patch")
def queries_of_one_patch(d):
    d = d.sel(case=["trained", "random"])
    return bool((d.rank_theory == 2).all()), bool(d.error.sel(K=[1, 2]).max() < 1e-12), bool(d.error.sel(K=3).min() > 0.1)


@says(DYNAMICS, "fall about as far for shuffled labels and for noise as for true labels", "dherin-linear-loss")
def falls_of_false_labels(d):
    fall = d.fall_tasks.mean("seed")
    return bool((abs(fall.sel(kind=FALSE) / fall.sel(kind="true labels") - 1) < 0.15).all())


@says(DYNAMICS, "The squared error of the trained network does not.", "dherin-linear-loss")
def errors_of_false_labels(d):
    end = (d.error.isel(i=-1) / d.error.isel(i=0)).sel(net="trained").mean("seed")
    return bool(end.sel(kind="true labels") < 0.1), bool((end.sel(kind=FALSE) > 0.9).all())


@says(DYNAMICS, "stays worse than the prediction 0 in the mean over networks, whatever the tokens", "dherin-linear-loss")
def untrained_network(d):
    return 0, bool(d.error.sel(net="untrained").mean("seed").min() > 2)


@says(DYNAMICS, "Only a handful reach one percent of the largest", "dherin-left-consuming")
def large_singular_values(d):
    end = d.ranks.isel(i=-1)
    large = end.sel(share=0.01, kind=["softmax attention", "tanh RNN", "GRU", "trained softmax attention"])
    return bool((large <= 6).all()), bool((large >= 3).all()), bool((d["rank"] < d.bound).any())


@says(DYNAMICS, "Early in the path the two changes nearly agree", "dherin-left-consuming")
def lengths_of_the_two_changes(d):
    return bool(d.ratios.sel(i=slice(1, 10)).max() < 1.03)


@says(DYNAMICS, "They part later, in most networks at the end", "dherin-left-consuming")
def lengths_at_the_end(d):
    return bool((d.ratios.isel(i=-1) > 1.03).all()), bool((d.ratios.isel(i=-1) > d.ratios.sel(i=30)).all())


@says(
    DYNAMICS, "exact in every network tried, trained or not, attention or recurrent", "dherin-dynamics", "dherin-left-consuming"
)
def exactness_of_both(d, consuming):
    return bool(d.step.max() < 1e-13), bool(d.output.max() < 1e-13), bool(consuming.output.max() < 1e-13)


@says(DYNAMICS, "fall about as far for false labels as for true ones (D17, D17d; tests show that no step", "dherin-linear-loss")
def false_labels_again(d):
    return falls_of_false_labels(d), bool(d.up.max() == 0)


@says(DYNAMICS, "over three networks. It is shown for a sum of losses with $N$ up to 100", "dherin-linear-loss")
def sizes_of_the_sums(d):
    return d.i[-1], d.sizes["seed"] == 3


@says(DYNAMICS, "not for recurrent layers, positions, or a second causal block (D18c)", "dherin-order")
def ends_of_orders(d):
    return bool(of_nets(d, WITHOUT_ORDER).end.max() < 1e-13), bool(
        (d.end.groupby("net").min().drop_sel(net=WITHOUT_ORDER) > 0.05).all()
    )


@says(DYNAMICS, "plausible and only partly visible", "dherin-left-consuming")
def ranks_that_reach_the_bound(d):
    reached = d["rank"] == d.bound
    return bool((d["rank"] <= d.bound).all()), bool(reached.any()), bool(reached.mean() < 0.5)


@says(AGREEMENT, "prediction 0, which has the loss 2: in the full profile it gives a loss of about 3.", "dherin-agreement")
def patch_of_another_prompt(d):
    loss = d.loss.sel(way="another task's patch")
    return 0, 2, loss.mean(), bool(loss.min() > 2)


@says(AGREEMENT, "gives nearly the right loss at the end of the full training", "dherin-agreement")
def loss_of_the_last_patch(d):
    end = d.loss.isel(step=-1).mean("seed")
    return bool(abs(end.sel(way="the last mark's patch") / end.sel(way="context") - 1) < 0.01)


@says(AGREEMENT, "Its largest error is still about $10^{12}$ times that of the right patch.", "dherin-agreement")
def error_of_the_last_patch(d):
    end = d.difference.isel(step=-1).max("seed")
    return 1e12, bool(11.5 < np.log10(end.sel(way="the last mark's patch") / end.sel(way="patch")) < 12.5)


@says(AGREEMENT, "of about $10^{-6}$. The largest float32 error here is of that size (a test).", "dherin-agreement")
def error_in_single_precision(d):
    return 1e-6, bool(-6.5 < np.log10(d.difference_single.sel(way="patch").max()) < -5.5)


@says(AGREEMENT, "within the first hundred steps or so", "dherin-agreement")
def first_steps(d):
    loss = d.loss.sel(way="context").mean("seed")
    return bool(loss.sel(step=100) < 0.1 * loss.sel(step=0))


@says(AGREEMENT, "about as bad as the prediction 0, which has the loss $d=2$, or worse", "dherin-agreement")
def no_context_and_no_patch(d):
    return 0, 2, bool((d.loss.sel(way="no patch") / d.loss_zero).min() > 0.95)


@says(
    AGREEMENT,
    r"In the full profile the three trained blocks stay at losses near 0.055, about 3% of $E\,h(x_\text{query})^2=2$.",
    "dherin-plateau",
)
def losses_at_the_end(d):
    return d.loss.mean(), d.loss.mean() / 2, 2, d.sizes["seed"] == 3, bool((abs(d.loss / 0.055 - 1) < 0.1).all())


@says(AGREEMENT, "The last 1000 of their 5000 steps, at small rates, lower them by 1 or 2%.", "dherin-agreement")
def last_steps(d):
    loss = d.loss.sel(way="context")
    fall = 100 * (1 - loss.sel(step=5000) / loss.sel(step=4000))
    return 1000, d.step[-1], fall.min(), fall.max() / 100


@says(AGREEMENT, "ends near where one gradient step of the best size ends, and it errs on the same prompts", "dherin-plateau")
def block_and_step(d):
    return bool((abs(d.loss / d.loss_step - 1) < 0.12).all()), bool((d.alike > 0.9).all())


@says(AGREEMENT, "The squared distance between the two is about a tenth of either error.", "dherin-plateau")
def distance_of_block_and_step(d):
    return [bool(0.08 < d.distance.mean() / error.mean() < 0.12) for error in (d.loss, d.loss_step)]


@says(AGREEMENT, "differ from the step's by about a third of the typical error", "dherin-plateau")
def distance_as_a_root(d):
    return [bool(0.3 < (d.distance.mean() / error.mean()) ** 0.5 < 0.37) for error in (d.loss, d.loss_step)]


@says(AGREEMENT, "at three pairs of $N$ and $d$ (two in quick; D23d)", "dherin-plateau")
def pairs_of_the_step(d):
    return d.sizes["shape"] == 3, bool((abs(d.step_risk / d.step_risk_theory - 1) < 0.01).all())


@says(AGREEMENT, "well below one gradient step, to less than a tenth of its error", "dherin-agreement-deep")
def deep_networks_against_the_step(d):
    return bool((d.loss < 0.1 * d.loss_step).all())


@says(AGREEMENT, "ten blocks are no worse than four", "dherin-agreement-deep")
def ten_patched_blocks(d):
    return bool(d.stream.max() < 1e-13), bool(d.stream.isel(network=1).max() < 1.5 * d.stream.isel(network=0).max())


@says(AGREEMENT, r"Patches are largest in the first block and largest in $W_\text{down}$.", "dherin-agreement-deep")
def largest_patches(d):
    first = (d["size"] <= d["size"].isel(block=0)) | d["size"].isnull()
    return bool(first.all()), bool(
        (d["size"].sel(matrix="W_down", drop=True) >= d["size"]).where(d["size"].notnull(), True).all()
    )


@says(AGREEMENT, r"$W_\text{gate}$ and $W_\text{up}$ change by 1 to 6%", "dherin-agreement-deep")
def patches_from_the_third_block_on(d):
    size = d["size"].sel(matrix=["W_gate", "W_up"]).isel(block=slice(2, None))
    return 100 * size.min(), size.max()


@says(AGREEMENT, "The half patch leaves most of the error of no patch.", "dherin-agreement-deep")
def half_patch(d):
    return bool((d.mean_single.sel(way="no residual patch") > 0.6 * d.mean_single.sel(way="no patch")).all())


@says(AGREEMENT, "Ten blocks are not better than four here.", "dherin-agreement-deep")
def ten_blocks(d):
    return bool(d.loss.isel(network=1) > d.loss.isel(network=0))


# --- settings ---


@says(AGREEMENT, "Its quick profile trains for 100 steps of 32 prompts, its full one for 5000 of 64.")
def steps_of_agreement():
    return [number for each in both("dherin-agreement") for number in (each.training.steps, each.training.B)]


@says("dherin_4_3_convergence", "`quick` has 200, `full` has 1000.")
def trials_of_marginal_updates():
    return [each.trials for each in both("dherin-marginal-updates")]


@says("dherin_modern_blocks", "6 blocks in the full profile and 3 in quick, width 48, 6 heads with rotary positions, 97 words.")
def sizes_of_modern_blocks():
    quick, full = both("dherin-modern-blocks")
    return full.depth, quick.depth, full.sizes.width, full.sizes.heads, full.sizes.vocabulary


@says("dherin_all_positions", "128 prompts a step, 100 steps, float32; the quick profile has 8 steps of 4 prompts.")
def steps_of_all_positions():
    quick, full = both("dherin-positions-training")
    return full.B, full.steps, quick.steps, quick.B
