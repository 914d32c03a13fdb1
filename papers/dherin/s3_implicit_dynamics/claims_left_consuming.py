"""Claims D19 and D20 with their letters: section 3, the dynamics that consumes the context from the left."""

from icl_lib.companion.claim import Claim, Discrepancy
from papers.dherin.checks import PATHS, at_least, of_nets, put, worst

D19 = Claim(
    id="D19",
    paper="dherin",
    section="3",
    sentence="W_i = W_{i−1}(I + h_iA_i) keeps the output: T_{W_i}(c_{i+1}..c_N, x) = T_{W₀}(c_1..c_N, x) for every i.",
    confidence="V",
    kind="identity",
    experiment="dherin-left-consuming",
    margin=1e-13,
    reason="A_i = (A(c_i..c_N, x) − A(c_{i+1}..c_N, x))A(c_{i+1}..c_N, x)ᵀ, h_i = 1/‖A(c_{i+1}..c_N, x)‖². Relative, worst i.",
    check=worst("output"),
    control=lambda dataset: dataset.assign(output=dataset.output_slip.isel(slip=0, drop=True)),
    control_sentence="W_{i−2} in the step, as a note prints it",
)

D19b = Claim(
    id="D19b",
    paper="dherin",
    section="3",
    sentence="Each slip loses the output: W_{i−2} in the step, the rate 1/‖A(x)‖², or A(c_i..c_N, x) in A_i and h_i.",
    confidence="D",
    kind="bound",
    experiment="dherin-left-consuming",
    margin=0,
    reason="0.001 minus the median over all cases of the worst relative error on the way, for each slip.",
    check=lambda dataset: Discrepancy(1e-3 - dataset.output_slip.median("case")),
    control=lambda dataset: dataset.assign(output_slip=dataset.output),
    control_sentence="no slip",
)

D19c = Claim(
    id="D19c",
    paper="dherin",
    section="3",
    sentence="The left-consuming step is no gradient: as a function of W its Jacobian is far from symmetric.",
    confidence="D",
    kind="bound",
    experiment="dherin-left-consuming",
    margin=0,
    reason="0.1 minus the median of ‖J − Jᵀ‖/‖J‖, J by automatic differentiation; √2 sin of an angle that is 0 only by chance.",
    check=at_least("skew", 0.1),
    control=put(skew="skew_quadratic"),
    control_sentence="gradient steps of a squared error",
)

D20 = Claim(
    id="D20",
    paper="dherin",
    section="3",
    sentence="Its W_N − W₀ does not have rank 1: the rank is 2 or more with softmax attention and recurrent layers.",
    confidence="D",
    kind="bound",
    experiment="dherin-left-consuming",
    margin=0,
    reason="2 minus the smallest rank; singular values above 10⁻¹⁰ of the largest count. In linear attention it is at most d.",
    check=lambda dataset: Discrepancy(2 - dataset["rank"].isel(case=(dataset.net != "linear attention").values).min()),
    control=put(rank="rank_least"),
    control_sentence="ΔW(C) of Theorem 2.2",
)

D20b = Claim(
    id="D20b",
    paper="dherin",
    section="3",
    sentence="The rank is at most N, the sizes of W, and the dimensions of A: heads × min(head width, d + 1) for attention.",
    confidence="D",
    kind="bound",
    experiment="dherin-left-consuming",
    margin=0,
    reason="Rank minus bound, worst case.",
    check=lambda dataset: Discrepancy((dataset["rank"] - dataset.bound).max()),
    control=put(rank="rank_start"),
    control_sentence="W₀, which the context did not make",
)

D20c = Claim(
    id="D20c",
    paper="dherin",
    section="3",
    sentence="‖W_N − W₀‖ ≥ ‖ΔW(C)‖, as least norm demands.",
    confidence="D",
    kind="bound",
    experiment="dherin-left-consuming",
    margin=1e-12,
    reason="1 minus the smallest ratio; equal when both matrices are, up to rounding.",
    check=lambda dataset: Discrepancy(1 - dataset.ratio.min()),
    control=lambda dataset: dataset.assign(ratio=1 / dataset.ratio),
    control_sentence="the two exchanged",
)

D20d = Claim(
    id="D20d",
    paper="dherin",
    section="3",
    sentence="What W_N − W₀ has beyond ΔW(C) is orthogonal to it, because both do the same to A(x).",
    confidence="D",
    kind="identity",
    experiment="dherin-left-consuming",
    margin=1e-12,
    reason="Inner product over the product of the norms; a chain of N steps.",
    check=worst("angle"),
    control=put(angle="angle_late"),
    control_sentence="ΔW of the context without its last token",
)

D20e = Claim(
    id="D20e",
    paper="dherin",
    section="3",
    sentence="Its end depends on the order of the context even where W₀ + ΔW(C) does not.",
    confidence="D",
    kind="bound",
    experiment="dherin-left-consuming",
    margin=0,
    reason="0.01 minus the median of ‖W_N − W_N'‖/‖W_N − W₀‖, the context reversed; attention without positions.",
    check=lambda dataset: Discrepancy(0.01 - of_nets(dataset, PATHS).order.median()),
    control=put(order="order_least"),
    control_sentence="W₀ + ΔW(C)",
)
