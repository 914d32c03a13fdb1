"""What was a claim on sections 2 and 3 and is a test: on the stored results, each beside its near miss."""

import numpy as np
import xarray as xr
from near_miss import parted, parted_in_mean

RECURRENT, ATTENTION = ["tanh RNN", "GRU"], ["softmax attention", "linear attention"]


def test_D1b(stored):
    """Without the update the context is missed: with Y = C the output is off by 1% or more, in every kind of layer.

    Median over blocks with Y = C; D1 would be empty if the context did not matter. With the update nothing is missed.
    """
    block = stored("dherin-identity").isel(size=-1)
    parted(-block.error_bare.median("network"), -block.error.isel(mlp=0).median("network"), -0.01)


def test_D1c(stored):
    """With all behind the layer in float32 the patched block agrees to 1e-5, for all four kinds of layer.

    One rounding in float32 is 6e-8, long sums and small outputs add to it; A(C, x) in row and denominator is off.
    """
    block = stored("dherin-identity")
    parted(block.error_single, block.error_full_row, 1e-5)


def test_D2b(stored):
    """Random recurrent layers forget: leaving out the first token counts less than a tenth of the last.

    Each step shrinks a change by about 0.6, so to 0.01 after nine tokens; attention has no order.
    """
    ratio = stored("dherin-identity").first_over_last.median("network")
    parted(ratio.sel(layer=RECURRENT), ratio.sel(layer=ATTENTION), 0.1)


def test_D4b(stored):
    """‖ΔW(Y)‖ = ‖W ΔA(Y)‖ / ‖A(C∖Y, x)‖.

    The norm is summed over all entries, the formula needs two vectors; the near miss divides by |A(C, x)|.
    """
    patch = stored("dherin-rank-one")
    parted(abs(patch.norm / patch.norm_theory - 1), abs(patch.norm / patch.norm_full - 1), 1e-12)


def test_D4c(stored):
    """‖ΔW(Y)‖ ≤ ‖W‖₂ ‖ΔA(Y)‖ / ‖A(C∖Y, x)‖, with ‖W‖₂ the largest singular value.

    The ratio of both sides; the near miss takes the least stretch of W for the largest.
    """
    patch = stored("dherin-rank-one")
    parted(patch.norm / patch.bound, patch.norm / patch.bound_smallest, 1)


def test_D5c(stored):
    """ΔW(Y) is the least-norm solution of D A(C∖Y, x) = W ΔA(Y) that a least-squares solver finds.

    Relative distance from LAPACK's gelsd, which goes by singular values; with A(C, x) in the equation it differs.
    """
    patch = stored("dherin-rank-one")
    parted(patch.pseudo_inverse, patch.pseudo_inverse_full, 1e-12)


def test_D6b(stored):
    """The cosine of two updates is that of their columns W ΔA times that of their rows A(x).

    Matrices against the product formula; the columns' cosine alone is another number.
    """
    queries = stored("dherin-query-dependence")
    parted(queries.cosine_gap, queries.cosine_gap_columns, 1e-12)


def test_D7c(stored):
    """That rank is d for A(x), d + 1 with labels, heads times min(head width, d + 1) when tokens are kept, the width for an
    RNN.

    Whole numbers, of 200 queries or more, singular values above 1e-13 of the largest; it is not d in all cases.
    """
    joint = stored("dherin-joint-patch")
    d = joint.rank_theory.isel(case=0, drop=True)
    parted(abs(joint.rank_found - joint.rank_theory), abs(joint.rank_found - d), 0.5)


def test_D10b(stored):
    """The same in float32.

    One rounding in float32 is 6e-8; 1e-8 added to the denominator is seen.
    """
    small = stored("dherin-conditioning")
    parted(small.error_single, small.error_epsilon, 1e-5)


def slope(values: xr.DataArray, length: xr.DataArray) -> xr.DataArray:
    """The log-log slope over the dimension k by least squares."""
    x, y = np.log(length), np.log(values)
    apart = x - x.mean("k")
    return (apart * y).sum("k") / (apart**2).sum("k")


def test_D10c(stored):
    """It costs size: ‖ΔW‖ grows like 1/‖A(x)‖ as A(x) shrinks.

    Over the shorter half of the lengths, where W ΔA still changes a little; with 1e-8 added the norm falls again.
    """
    small = stored("dherin-conditioning")
    short = small.isel(k=slice(small.sizes["k"] // 2, None))
    parted(*(abs(slope(norm, short.length) + 1) for norm in (short.norm, short.norm_epsilon)), 0.05)


def test_D10d(stored):
    """And it costs reach: a fixed small change of A(x) upsets the patched block the more, the smaller ‖A(x)‖ is.

    In powers of ten, at least half as fast as A(x) shrinks; the block at A(x) itself stays at rounding.
    """
    small = stored("dherin-conditioning")
    errors = (np.log10(error.median("network").clip(1e-17)) for error in (small.error_nudged, small.error))
    parted(*(0.5 * (small.k[-1] - small.k[0]) - (error[-1] - error[0]) for error in errors), 0)


def test_D11b(stored):
    """In linear attention the columns do add up: W ΔA(Y₁) + W ΔA(Y₂) = W ΔA(C).

    The sum may cancel, which magnifies rounding; in softmax attention the columns do not add up.
    """
    gap = stored("dherin-identity").additivity
    parted(gap.sel(layer="linear attention"), gap.sel(layer="softmax attention"), 1e-12)


def test_D12b(stored):
    """So does the block without Y and with ΔW(Y), for every part Y of the context.

    Over the size of the two terms, whose sum may cancel; Y = C without the update is off.
    """
    block = stored("dherin-gradient-step")
    parted(*(abs(found - block.step) / block.scale for found in (block.patched, block.before)), 1e-12)


def test_D13b(stored):
    """The steps add up: W_i = W₀ − h(Δ_0 + ... + Δ_{i−1}).

    A chain of N steps gathers the rounding of each; the printed index, followed from W₀, ends elsewhere.
    """
    path = stored("dherin-dynamics")
    parted(path.whole.max(), path.ahead_whole.max(), 1e-12)


def test_D14b(stored):
    """Δ_i must be frozen: made with the moving W, the gradient is W(D + Dᵀ), D = (a_i − a_{i+1})A(x)ᵀ.

    Automatic differentiation against the formula, over the longest gradient; the near miss is Δ_i itself.
    """
    path = stored("dherin-dynamics")
    parted(path.gradient_moving.max(), path.gradient_moving_frozen.max(), 1e-13)


def test_D16b(stored):
    """The printed index runs one token ahead and never sees the first: followed from W₀ it reaches W_{i+1} − W_1 + W₀.

    A chain of N steps; W_{i+1} with the first token kept is another matrix.
    """
    path = stored("dherin-dynamics")
    parted(path.ahead.max(), path.ahead_whole.max(), 1e-12)


def test_D17b(stored):
    """No step ever raises L_i: not with shuffled labels, not with tokens of noise, not in an untrained network.

    Steps that raise L_i by more than 1e-12 of the largest fall; many raise the squared error of the prediction.
    """
    losses = stored("dherin-linear-loss")
    parted(losses.up.max(), losses.up_error.max(), 0)


def test_D17c(stored):
    """L_i falls without bound along its gradient: L_i(W_i − thΔ_i) = L_i(W_i) − th‖Δ_i‖², a million steps ahead too.

    Relative error of the vector of all i; the squared distance Q_i has a minimum.
    """
    losses = stored("dherin-linear-loss")
    parted(losses.slope.max(), losses.slope_quadratic.max(), 1e-12)


def test_D17f(stored):
    """In a trained network the squared error falls with true labels, and a fifth as far at most with the others.

    From no token to all, over that with true labels, mean over networks; the losses L_i fall for any labels.
    """
    losses = stored("dherin-linear-loss").sel(net="trained")
    falls = (loss.isel(i=0) - loss.isel(i=-1) for loss in (losses.error, -losses.fall))
    parted_in_mean(*(fall.drop_sel(kind="true labels") / fall.sel(kind="true labels") for fall in falls), 0.2)


def test_D19b(stored):
    """Each slip loses the output: W_{i−2} in the step, the rate 1/‖A(x)‖², or A(c_i..c_N, x) in A_i and h_i.

    Median over all cases of the worst relative error on the way, for each slip; without one it is rounding.
    """
    path = stored("dherin-left-consuming")
    parted(1e-3 - path.output_slip.median("case"), 1e-3 - path.output.median("case"), 0)


def test_D20b(stored):
    """The rank is at most N, the sizes of W, and the dimensions of A: heads × min(head width, d + 1) for attention.

    In every case; W₀, which the context did not make, has a larger rank.
    """
    path = stored("dherin-left-consuming")
    parted(path["rank"] - path.bound, path.rank_start - path.bound, 0)


def test_D20c(stored):
    """‖W_N − W₀‖ ≥ ‖ΔW(C)‖, as least norm demands.

    Equal when both matrices are, up to rounding; the two exchanged do not obey.
    """
    ratio = stored("dherin-left-consuming").ratio
    parted(1 - ratio.min(), 1 - (1 / ratio).min(), 1e-12)


def test_D20d(stored):
    """What W_N − W₀ has beyond ΔW(C) is orthogonal to it, because both do the same to A(x).

    Inner product over the product of the norms, a chain of N steps; ΔW without the last token is not orthogonal.
    """
    path = stored("dherin-left-consuming")
    parted(path.angle.max(), path.angle_late.max(), 1e-12)
