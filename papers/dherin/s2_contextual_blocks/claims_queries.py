"""Claims D6, D7 and D12: section 2, one context and many queries."""

import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over

LINEAR_CASES = ["trained", "random", "random, labelled queries"]


def _mean_cosine(dataset: xr.Dataset) -> Discrepancy:
    return over(dataset.cosine, "context")


def _from_chance(dataset: xr.Dataset) -> Discrepancy:
    mean = _mean_cosine(dataset)
    return Discrepancy(abs(mean.value - dataset.cosine_theory), mean.two_se)


def _swapped(dataset: xr.Dataset) -> Discrepancy:
    """0.3 minus the error with another query's update over the error without any, mean over contexts."""
    ratio = dataset.error_swapped / dataset.error_bare
    return over(0.3 - ratio, "context")


def _up_to_rank(dataset: xr.Dataset) -> Discrepancy:
    cell = dataset.sel(case=LINEAR_CASES)
    return Discrepancy(cell.error.where(cell.rank_theory >= cell.K, 0).max("K"))


def _one_more(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(rank_theory=dataset.rank_theory + 1)


def _beyond(dataset: xr.Dataset) -> Discrepancy:
    return Discrepancy(0.01 - dataset.error_median.isel(K=-1).sel(case=["trained", "random"]))


def _step_error(name: str):
    return lambda dataset: Discrepancy(abs(dataset[name] - dataset.step) / dataset.scale)


D6 = Claim(
    id="D6",
    paper="dherin",
    section="2",
    sentence="The update depends on the query: under one context the mean cosine between two updates is below 0.8.",
    confidence="S",
    kind="bound",
    experiment="dherin-query-dependence",
    margin=0.8,
    reason="Mean over pairs and contexts, plus 2 s.e., worst trained or random network. The same update for all would give 1.",
    check=_mean_cosine,
    control=lambda dataset: dataset.assign(cosine=dataset.cosine_near),
    control_sentence="queries within 1% of each other",
)

D6b = Claim(
    id="D6b",
    paper="dherin",
    section="2",
    sentence="The cosine of two updates is that of their columns W ΔA times that of their rows A(x).",
    confidence="D",
    kind="identity",
    experiment="dherin-query-dependence",
    margin=1e-12,
    reason="Largest difference; matrices against the product formula.",
    check=lambda dataset: Discrepancy(dataset.cosine_gap),
    control=lambda dataset: dataset.assign(cosine_gap=dataset.cosine_gap_columns),
    control_sentence="the columns' cosine alone",
)

D6c = Claim(
    id="D6c",
    paper="dherin",
    section="2",
    sentence="Used for another query, an update typically misses by at least 30% of what no update misses.",
    confidence="D",
    kind="bound",
    experiment="dherin-query-dependence",
    margin=0,
    reason="0.3 minus the ratio of medians over pairs of the prediction's relative error; mean over contexts, plus 2 s.e.",
    check=_swapped,
    control=lambda dataset: dataset.assign(error_swapped=dataset.error_own),
    control_sentence="each query with its own update",
)

D6d = Claim(
    id="D6d",
    paper="dherin",
    section="2",
    sentence="With width ≫ d and a long context the mean cosine is near 1/d, trained or not, as for cos² of random directions.",
    confidence="D",
    kind="formula",
    experiment="dherin-query-dependence",
    margin=0.15,
    reason="|mean − 1/d| plus 2 s.e. over contexts, worst network. Rows and columns are linear and odd in x only nearly.",
    check=_from_chance,
    control=lambda dataset: dataset.assign(cosine=dataset.cosine_near),
    control_sentence="queries within 1% of each other",
)

D7 = Claim(
    id="D7",
    paper="dherin",
    section="2",
    sentence="One patch is exact for K queries at once up to K = rank of the A(x_k): d, or d + 1 with labels.",
    confidence="D",
    kind="identity",
    experiment="dherin-joint-patch",
    margin=1e-10,
    reason="Largest relative error over queries, K up to the rank. K Gaussian vectors in K dimensions may be nearly dependent.",
    check=_up_to_rank,
    control=_one_more,
    control_sentence="one query more than the rank",
)

D7b = Claim(
    id="D7b",
    paper="dherin",
    section="2",
    sentence="Many queries with Y = C are not served by the least-squares patch: half of them are off by 1% or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-joint-patch",
    margin=0,
    reason="0.01 minus the median relative error at the largest K, each trained and random network.",
    check=_beyond,
    control=lambda dataset: dataset.assign(
        error_median=dataset.error.where(dataset.rank_theory >= dataset.K, 0).max("K").expand_dims(K=[1], axis=1)
    ),
    control_sentence="as many queries as the rank",
)

D7c = Claim(
    id="D7c",
    paper="dherin",
    section="2",
    sentence=(
        "That rank is d for A(x), d + 1 with labels, heads times min(head width, d + 1) when tokens are kept, the width for "
        "an RNN."
    ),
    confidence="D",
    kind="identity",
    experiment="dherin-joint-patch",
    margin=0.5,
    reason="Difference of whole numbers; 200 queries or more, singular values above 1e-13 of the largest count.",
    check=lambda dataset: Discrepancy(abs(dataset.rank_found - dataset.rank_theory)),
    control=lambda dataset: dataset.assign(rank_theory=dataset.rank_theory.isel(case=0, drop=True)),
    control_sentence="d in all cases",
)

D12 = Claim(
    id="D12",
    paper="dherin",
    section="2",
    sentence="A block with linear attention, a residual and W = (w₀, −1) computes (w₀ − η∇L(w₀))·q, one step on least squares.",
    confidence="S",
    kind="identity",
    experiment="dherin-gradient-step",
    margin=1e-12,
    reason="|difference| over (|w₀| + η|∇L|)|q|, the size of the two terms, whose sum may cancel; all blocks.",
    check=_step_error("output"),
    control=lambda dataset: dataset.assign(output=dataset.output_self),
    control_sentence="the query attends to itself, too",
)

D12b = Claim(
    id="D12b",
    paper="dherin",
    section="2",
    sentence="So does the block without Y and with ΔW(Y), for every part Y of the context.",
    confidence="S",
    kind="identity",
    experiment="dherin-gradient-step",
    margin=1e-12,
    reason="As for D12; every size of Y, ∅ and C among them.",
    check=_step_error("patched"),
    control=lambda dataset: dataset.assign(patched=dataset.before),
    control_sentence="Y = C without the update",
)

D12c = Claim(
    id="D12c",
    paper="dherin",
    section="2",
    sentence="The update is the step projected on the query: ΔW(C) = −η (∇L·q) (q, 0)ᵀ / ‖q‖².",
    confidence="D",
    kind="identity",
    experiment="dherin-gradient-step",
    margin=1e-12,
    reason="Norm of the difference over |w₀| + η|∇L|.",
    check=lambda dataset: Discrepancy(dataset.far_update),
    control=lambda dataset: dataset.assign(far_update=dataset.far_gradient),
    control_sentence="the whole step −η∇L",
)

D12d = Claim(
    id="D12d",
    paper="dherin",
    section="2",
    sentence="Here one change, −η∇L added to w₀, stands for the context at every query.",
    confidence="D",
    kind="identity",
    experiment="dherin-gradient-step",
    margin=1e-12,
    reason="Error at a fresh query without context, over the size of the two terms there.",
    check=lambda dataset: Discrepancy(dataset.static),
    control=lambda dataset: dataset.assign(static=dataset.swapped),
    control_sentence="the update that was made for another query",
)
