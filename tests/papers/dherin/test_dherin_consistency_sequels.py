"""What was a claim on later versions and sequels and is a test: on the stored results, each beside its near miss."""

import numpy as np
import pytest
from near_miss import parted, parted_in_mean

USUAL = ["x inside, no norm", "x inside, LayerNorm", "x inside, RMSNorm"]


def test_a_near_miss_that_is_no_number_or_passes_is_no_near_miss():
    for near in (np.array([np.nan]), np.array([0.0])):
        with pytest.raises(AssertionError):
            parted(np.array([0.0]), near, 0.1)


def test_D35b(stored):
    """Neither part of this patch can be left out: without the bias part, or the matrix part, 1% error or more is left.

    Median at Y = C, each block with x outside the MLP; with both parts nothing is left.
    """
    errors = stored("dherin-skip-connections")["median"].sel(share=1.0)
    errors = errors.isel(block=~errors.block.isin(USUAL).values)
    parted(0.01 - errors.sel(way=["without the bias", "without the matrix"]), 0.01 - errors.sel(way="both parts"), 0)


def test_D35f(stored):
    """The patch is no constant of the context: both parts taken from another query leave 5% error or more.

    Median at Y = C, every block; the query's own patch leaves nothing.
    """
    errors = stored("dherin-skip-connections")["median"].sel(share=1.0)
    parted(0.05 - errors.sel(way="another query"), 0.05 - errors.sel(way="both parts"), 0)


def test_D36c(stored):
    """Without ε the update is exact however short the vector n is that W reads for the query alone.

    At the first block's output, worst token, down to a millionth of the length; the published code has ε = 1e-8.
    """
    positions = stored("dherin-positions")
    parted(positions.error_exact, positions.error_epsilon, 1e-13)


def test_D39c(stored):
    """Without skips there is no such anomaly.

    Mean cosine of two others minus that with the query: Δz, which sets the query apart, is gone; with skips it is not.
    """
    alignment = stored("dherin-update-alignment").alignment.sel(base="query").mean("block")
    gap = alignment.sel(group="others") - alignment.sel(group="last")
    plain = gap.variant.str.startswith("no skips").values
    parted_in_mean(gap.isel(variant=plain), gap.isel(variant=[0]), 0.02)


def test_D40b(stored):
    """The query's composed patches are those made of the blocks' true inputs: Δz = 0 once the block below is patched.

    Over weights plus patch: without norms tokens grow with depth, and large scores magnify rounding.
    """
    composed = stored("dherin-composition")
    parted(composed.difference, composed.difference_alone, 1e-9)


def test_D40c(stored):
    """The last block's patch alone does it, fitted to what unpatched blocks send: it makes good for all below.

    Behind the last block, worst architecture, network, prompt and token; with no patch at all it is off.
    """
    last = stored("dherin-composition").isel(block=-1)
    parted(last.error_last, last.error_none, 1e-12)


def test_D42b(stored):
    """Without its site the patch is no repair: the typical error of the logits is above 0.3 in every architecture.

    Mean over networks of the median over positions; without any patch it is near 1, with the whole one 0.
    """
    errors = stored("dherin-modern-blocks")["median"]
    parted_in_mean(*(0.3 - errors.sel(patch=patch) for patch in ("input half", "whole")), 0)


def test_D44b(stored):
    """In parallel blocks the patches of W_gate and W_up are 0: z does not see the context, given the right stream.

    Over the weights, every block, up to the rounding of the stream; a sequential block has patches there.
    """
    size = stored("dherin-modern-blocks").size_in
    parted(size.sel(architecture="parallel"), size.sel(architecture="Llama"), 1e-13)


def test_D45b(stored):
    """One change for all experts takes no larger a norm than one change for each active expert.

    Cauchy-Schwarz, every block and network; the other way round it does not hold.
    """
    size = stored("dherin-modern-blocks").size_out
    together, each = (size.sel(architecture=name) for name in ("experts", "experts, each"))
    parted(1 - each / together, 1 - together / each, 1e-9)


def test_D47b(stored):
    """What W_down alone can reach is all m⊙s with RMS(s) < 1: the nearest one is reached, none comes nearer.

    Against the least distance to that set, whose border is approached up to 1e-12; turned to the target it is farther.
    """
    alone = stored("dherin-gemma")
    parted(*(np.maximum(alone.gap.sel(alone=way), alone.below) for way in ("nearest", "turned")), 1e-9)


def test_D48b(stored):
    """With d = v_C − v it changes the scale by RMS(d/m)/RMS(n) at most, the published form some entry by no less.

    A theorem, worst block, position and network; with the two forms exchanged it is false.
    """
    over = stored("dherin-gemma").over
    one, other = (over.sel(form=form) for form in ("conditioned", "published"))
    parted(np.maximum(one - 1, 1 - other), np.maximum(other - 1, 1 - one), 1e-9)


def test_D48e(stored):
    """Made where they are used, both forms err in bfloat16 by less than bfloat16 itself does with the context in view.

    Roundings of one size; patches made in float64 and rounded are farther off.
    """
    gemma = stored("dherin-gemma").sel(precision="bfloat16")
    parted_in_mean(*(gemma["median"].sel(made=made) / gemma.floor for made in ("in place", "ahead")), 1)


def _but_published(values):
    """Without the one form that divides by single activations."""
    return values.where(values.architecture != "Gemma", drop=True)


def test_D50b(stored):
    """Along the whole generation, greedy or sampled, the logits agree at rounding.

    The largest relative error over tokens, prompts and networks, many steps; without patches it is no rounding.
    """
    errors = _but_published(stored("dherin-generation").error)
    parted(errors.sel(patches="recomputed"), errors.sel(patches="none"), 1e-12)


def test_D50c(stored):
    """In Gemma-style networks with the published patch of the gain the logits agree at rounding too.

    Entries of n may be near 0, in place this costs nothing; with the last block unpatched the logits differ.
    """
    errors = stored("dherin-generation").error.sel(architecture="Gemma")
    parted(errors.sel(patches="recomputed"), errors.sel(patches="last block without"), 1e-12)


def test_D50d(stored):
    """A network that keeps the last tokens in view and has the rest in its patches gives the same tokens as well.

    No token differs, greedy or sampled; with no patches and nothing kept some do.
    """
    differ = stored("dherin-generation").differ
    parted(differ.sel(patches="with a window"), differ.sel(patches="none"), 0)


def test_D50e(stored):
    """A lower block may go unpatched: the blocks above take up what it left wrong, and the logits are exact.

    The first block of two or more left out, Gemma's form among them; patches of the token before do not serve.
    """
    errors = stored("dherin-stale-patches").error
    parted(errors.sel(patches="first block without"), errors.sel(patches="stale"), 1e-12)


def test_D50f(stored):
    """But for Gemma's published form, position matters neither to a token alone nor, if all shift alike, to a window.

    Made at absolute positions and used at 0, 1, ...: rotary attention sees distances, and gaps between kept tokens.
    """
    errors = _but_published(stored("dherin-stale-patches").renumbered)
    parted(errors.sel(place=["alone", "window"]), errors.sel(place="scattered"), 1e-12)


def test_D51(stored):
    """Sampling with common random numbers gives the same tokens too.

    Under one Gumbel noise no token differs; greedy decoding of random networks runs into loops.
    """
    differ = stored("dherin-generation").differ.sel(choice="sampled")
    parted(differ.sel(patches="recomputed"), differ.sel(patches="none"), 0)


def test_D52b(stored):
    """The formulas for the operations of matrix products are what PyTorch counts.

    Whole numbers on both sides, every length, with context and with patches; a hundredth of a patch is seen.
    """
    costs = stored("dherin-costs")
    theories = costs.operations_theory, costs.operations_theory - costs.patch_products / 100
    parted(*(abs(costs.operations / theory - 1) for theory in theories), 1e-12)


def _interval(errors, **cell):
    """Both ends of the interval of the median over contexts, by least squares or another fit in the trained network."""
    chosen = errors.sel(cell)
    return chosen.sel(part="low"), chosen.sel(part="high")


def test_D54b(stored):
    """One query less is not enough: with K = d − 1 at least the share 1/(5d) of the distance is left.

    Nothing changes in the direction that no calibration query has, a share of 1/d; K = d leaves less.
    """
    errors = stored("dherin-static-one-block").error.sel(network="trained", fit="least squares").isel(span=-1)
    d = int(errors.span)
    (fewer, _), (_, enough) = _interval(errors, K=d - 1), _interval(errors, K=d)
    parted(0.2 / d - fewer, 0.2 / d - enough, 0)


def test_D55c(stored):
    """A change of matrix and bias together does as well, but needs one query more, K = d + 1.

    An affine fit has d + 1 unknowns a row: it holds at every K > d, and not at K = d.
    """
    errors = stored("dherin-static-one-block").error.sel(network="trained", fit="affine").isel(span=-1)
    d = int(errors.span)
    parted(_interval(errors.where(d < errors.K, drop=True))[1], _interval(errors, K=d)[0], 0.03)


def test_D56b(stored):
    """The same for ten blocks.

    At the largest K; patches calibrated on the states under another context do not follow.
    """
    deep = stored("dherin-static-deep").isel(network=1)
    wrong = deep.error_targets.sel(targets="other context")
    wrong = wrong.isel(K=-1) if "K" in wrong.dims else wrong
    parted(_interval(deep.error.isel(K=-1))[1], _interval(wrong)[0], 0.05)
