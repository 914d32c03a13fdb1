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


@claim("D", "bound", margin=0, control=put(order="order_least"))
def D20e(dataset):
    """Its end depends on the order of the context even where W₀ + ΔW(C) does not.

    Margin: 0.01 minus the median of ‖W_N − W_N'‖/‖W_N − W₀‖, the context reversed; attention without positions.
    Control: W₀ + ΔW(C)
    """
    return Discrepancy(0.01 - of_nets(dataset, PATHS).order.median())
