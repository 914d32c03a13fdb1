"""Claims D1 to D5 and D11: section 2, the update that stands for a context."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy
from papers.dherin.checks import exchanged, put

SOFTMAX, LINEAR = "softmax attention", "linear attention"
RECURRENT = ["tanh RNN", "GRU"]
_ROUNDING = "Largest relative error over blocks and sizes of Y, ∅ and C among them; float64. Rounding leaves a few 1e-15."


def _exchange_layers(dataset: xr.Dataset) -> xr.Dataset:
    """The recurrent layers get the numbers of the attention layers, and the other way round."""
    return dataset.assign_coords(layer=dataset.layer.values[::-1])


def _not_additive(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(0.1 - dataset.additivity.sel(layer=SOFTMAX).median("network"))


D1 = Claim(
    id="D1",
    paper="dherin",
    section="2",
    sentence="T_W(C, x) = T_{W+ΔW(Y)}(C∖Y, x) for multi-head softmax attention and every part Y of the context.",
    confidence="V",
    kind="identity",
    experiment="dherin-identity",
    margin=1e-13,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.error.sel(layer=SOFTMAX)),
    control=put(error="error_full_row"),
    control_sentence="A(C, x) in the row and the denominator, in the place of A(C∖Y, x)",
)

D1b = Claim(
    id="D1b",
    paper="dherin",
    section="2",
    sentence="Without the update the context is missed: with Y = C the output is off by 1% or more, in every kind of layer.",
    confidence="D",
    kind="bound",
    experiment="dherin-identity",
    margin=-0.01,
    reason="Minus the median relative error over blocks. D1 would be empty if the context did not matter.",
    check=lambda dataset: Discrepancy(-dataset.error_bare.isel(size=-1).median("network")),
    control=lambda dataset: dataset.assign(error_bare=dataset.error.isel(mlp=0)),
    control_sentence="with the update",
)

D1c = Claim(
    id="D1c",
    paper="dherin",
    section="2",
    sentence="With all behind the layer in float32 the patched block agrees to 1e-5, for all four kinds of layer.",
    confidence="D",
    kind="bound",
    experiment="dherin-identity",
    margin=1e-5,
    reason="Largest relative error. One rounding in float32 is 6e-8; long sums and small outputs add to it.",
    check=lambda dataset: Discrepancy(dataset.error_single),
    control=lambda dataset: dataset.assign(error_single=dataset.error_full_row),
    control_sentence="A(C, x) in the row and the denominator",
)

D2 = Claim(
    id="D2",
    paper="dherin",
    section="2",
    sentence="The same for recurrent contextual layers, a tanh RNN and a GRU.",
    confidence="S",
    kind="identity",
    experiment="dherin-identity",
    margin=1e-13,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.error.sel(layer=RECURRENT)),
    control=put(error="error_full_row"),
    control_sentence="A(C, x) in the row and the denominator, in the place of A(C∖Y, x)",
)

D2b = Claim(
    id="D2b",
    paper="dherin",
    section="2",
    sentence="Random recurrent layers forget: leaving out the first token counts less than a tenth of the last.",
    confidence="D",
    kind="bound",
    experiment="dherin-identity",
    margin=0.1,
    reason="Median over blocks of the two changes' ratio. Each step shrinks a change by about 0.6: 0.01 after nine tokens.",
    check=lambda dataset: Discrepancy(dataset.first_over_last.sel(layer=RECURRENT).median("network")),
    control=_exchange_layers,
    control_sentence="attention, which has no order",
)

D3 = Claim(
    id="D3",
    paper="dherin",
    section="2",
    sentence="The same for linear attention.",
    confidence="S",
    kind="identity",
    experiment="dherin-identity",
    margin=1e-13,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.error.sel(layer=LINEAR)),
    control=put(error="error_full_row"),
    control_sentence="A(C, x) in the row and the denominator, in the place of A(C∖Y, x)",
)

D3b = Claim(
    id="D3b",
    paper="dherin",
    section="2",
    sentence="What follows the first matrix is irrelevant: three hidden layers are as exact as one, for all four layers.",
    confidence="V",
    kind="identity",
    experiment="dherin-identity",
    margin=1e-13,
    reason=_ROUNDING,
    check=lambda dataset: Discrepancy(dataset.error.sel(mlp="three hidden layers")),
    control=lambda dataset: dataset.assign(error=dataset.error_transposed.expand_dims(mlp=["three hidden layers"])),
    control_sentence="the update transposed: its first matrix is square",
)

D4 = Claim(
    id="D4",
    paper="dherin",
    section="2",
    sentence="ΔW(Y) has rank 1.",
    confidence="V",
    kind="identity",
    experiment="dherin-rank-one",
    margin=1e-13,
    reason="All singular values but the largest, over the largest; rounding leaves 1e-16.",
    check=lambda dataset: Discrepancy(dataset.rest),
    control=lambda dataset: dataset.assign(rest=dataset.rest_two_queries),
    control_sentence="the sum of the updates of two prompts",
)

D4b = Claim(
    id="D4b",
    paper="dherin",
    section="2",
    sentence="‖ΔW(Y)‖ = ‖W ΔA(Y)‖ / ‖A(C∖Y, x)‖.",
    confidence="D",
    kind="identity",
    experiment="dherin-rank-one",
    margin=1e-12,
    reason="Relative; the norm is summed over all entries, the formula needs two vectors.",
    check=lambda dataset: Discrepancy(abs(dataset.norm / dataset.norm_theory - 1)),
    control=lambda dataset: dataset.assign(norm_theory=dataset.norm_full),
    control_sentence="‖A(C, x)‖ in the denominator",
)

D4c = Claim(
    id="D4c",
    paper="dherin",
    section="2",
    sentence="‖ΔW(Y)‖ ≤ ‖W‖₂ ‖ΔA(Y)‖ / ‖A(C∖Y, x)‖, with ‖W‖₂ the largest singular value.",
    confidence="D",
    kind="bound",
    experiment="dherin-rank-one",
    margin=1,
    reason="Ratio of the two sides.",
    check=lambda dataset: Discrepancy(dataset.norm / dataset.bound),
    control=lambda dataset: dataset.assign(bound=dataset.bound_smallest),
    control_sentence="the least stretch of W in the place of the largest",
)

D5 = Claim(
    id="D5",
    paper="dherin",
    section="2",
    sentence="The update is not the only one: ΔW + M is as exact whenever M A(C∖Y, x) = 0.",
    confidence="D",
    kind="identity",
    experiment="dherin-rank-one",
    margin=1e-13,
    reason="Largest relative error of the block, M random of the size of ΔW, less its part along a.",
    check=lambda dataset: Discrepancy(dataset.error_free),
    control=lambda dataset: dataset.assign(error_free=dataset.error_any),
    control_sentence="the same M with its part along a",
)

D5b = Claim(
    id="D5b",
    paper="dherin",
    section="2",
    sentence="It is the smallest in the Frobenius norm: ‖ΔW + M‖² = ‖ΔW‖² + ‖M‖² for all these M.",
    confidence="S",
    kind="identity",
    experiment="dherin-rank-one",
    margin=1e-13,
    reason="Gap of the two sides over the right one; the same random M as for D5.",
    check=lambda dataset: Discrepancy(dataset.pythagoras_free),
    control=lambda dataset: dataset.assign(pythagoras_free=dataset.pythagoras_any),
    control_sentence="the same M with its part along a",
)

D5c = Claim(
    id="D5c",
    paper="dherin",
    section="2",
    sentence="ΔW(Y) is the least-norm solution of D A(C∖Y, x) = W ΔA(Y) that a least-squares solver finds.",
    confidence="S",
    kind="identity",
    experiment="dherin-rank-one",
    margin=1e-12,
    reason="Relative distance from LAPACK's gelsd, which goes by singular values.",
    check=lambda dataset: Discrepancy(dataset.pseudo_inverse),
    control=lambda dataset: dataset.assign(pseudo_inverse=dataset.pseudo_inverse_full),
    control_sentence="A(C, x) in the place of A(C∖Y, x) in the equation",
)

D11 = Claim(
    id="D11",
    paper="dherin",
    section="2",
    sentence="In softmax attention the columns of parts do not add up: W ΔA(Y₁) + W ΔA(Y₂) misses W ΔA(C) by 10% or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-identity",
    margin=0,
    reason="0.1 minus the median relative gap; Y₁ and Y₂ are halves of C.",
    check=_not_additive,
    control=exchanged("layer", SOFTMAX, LINEAR),
    control_sentence="linear attention, where they do add up",
)

D11b = Claim(
    id="D11b",
    paper="dherin",
    section="2",
    sentence="In linear attention the columns do add up: W ΔA(Y₁) + W ΔA(Y₂) = W ΔA(C).",
    confidence="D",
    kind="identity",
    experiment="dherin-identity",
    margin=1e-12,
    reason="Relative gap; the sum may cancel, which magnifies rounding.",
    check=lambda dataset: Discrepancy(dataset.additivity.sel(layer=LINEAR)),
    control=exchanged("layer", SOFTMAX, LINEAR),
    control_sentence="softmax attention",
)
