"""Claims D19 and D20 with their letters: section 3, the dynamics that consumes the context from the left."""

from icl_lib.companion.claim import Discrepancy, claims_of
from icl_lib.companion.controls import put
from papers.dherin.checks import PATHS, at_least, of_nets, worst

claim = claims_of("dherin-left-consuming")


@claim(
    "V",
    "identity",
    check=worst("output"),
    margin=1e-13,
    control=lambda dataset: dataset.assign(output=dataset.output_slip.isel(slip=0, drop=True)),
)
def D19(dataset):
    """W_i = W_{i−1}(I + h_iA_i) keeps the output: T_{W_i}(c_{i+1}..c_N, x) = T_{W₀}(c_1..c_N, x) for every i.

    Margin: A_i = (A(c_i..c_N, x) − A(c_{i+1}..c_N, x))A(c_{i+1}..c_N, x)ᵀ, h_i = 1/‖A(c_{i+1}..c_N, x)‖². Relative,
    worst i.
    Control: W_{i−2} in the step, as a note prints it
    """


@claim("D", "bound", margin=0, control=put(output_slip="output"))
def D19b(dataset):
    """Each slip loses the output: W_{i−2} in the step, the rate 1/‖A(x)‖², or A(c_i..c_N, x) in A_i and h_i.

    Margin: 0.001 minus the median over all cases of the worst relative error on the way, for each slip.
    Control: no slip
    """
    return Discrepancy(1e-3 - dataset.output_slip.median("case"))


@claim("D", "bound", check=at_least("skew", 0.1), margin=0, control=put(skew="skew_quadratic"))
def D19c(dataset):
    """The left-consuming step is no gradient: as a function of W its Jacobian is far from symmetric.

    Margin: 0.1 minus the median of ‖J − Jᵀ‖/‖J‖, J by automatic differentiation; √2 sin of an angle that is 0 only by
    chance.
    Control: gradient steps of a squared error
    """


@claim("D", "bound", margin=0, control=put(rank="rank_least"))
def D20(dataset):
    """Its W_N − W₀ does not have rank 1: the rank is 2 or more with softmax attention and recurrent layers.

    Margin: 2 minus the smallest rank; singular values above 10⁻¹⁰ of the largest count. In linear attention it is at
    most d.
    Control: ΔW(C) of Theorem 2.2
    """
    return Discrepancy(2 - dataset["rank"].isel(case=(dataset.net != "linear attention").values).min())


@claim("D", "bound", margin=0, control=put(rank="rank_start"))
def D20b(dataset):
    """The rank is at most N, the sizes of W, and the dimensions of A: heads × min(head width, d + 1) for attention.

    Margin: Rank minus bound, worst case.
    Control: W₀, which the context did not make
    """
    return Discrepancy((dataset["rank"] - dataset.bound).max())


@claim("D", "bound", margin=1e-12, control=lambda dataset: dataset.assign(ratio=1 / dataset.ratio))
def D20c(dataset):
    """‖W_N − W₀‖ ≥ ‖ΔW(C)‖, as least norm demands.

    Margin: 1 minus the smallest ratio; equal when both matrices are, up to rounding.
    Control: the two exchanged
    """
    return Discrepancy(1 - dataset.ratio.min())


@claim("D", "identity", check=worst("angle"), margin=1e-12, control=put(angle="angle_late"))
def D20d(dataset):
    """What W_N − W₀ has beyond ΔW(C) is orthogonal to it, because both do the same to A(x).

    Margin: Inner product over the product of the norms; a chain of N steps.
    Control: ΔW of the context without its last token
    """


@claim("D", "bound", margin=0, control=put(order="order_least"))
def D20e(dataset):
    """Its end depends on the order of the context even where W₀ + ΔW(C) does not.

    Margin: 0.01 minus the median of ‖W_N − W_N'‖/‖W_N − W₀‖, the context reversed; attention without positions.
    Control: W₀ + ΔW(C)
    """
    return Discrepancy(0.01 - of_nets(dataset, PATHS).order.median())
