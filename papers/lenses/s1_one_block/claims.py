"""Claims S1: the change of weights that stands for a context, as one step on a loss."""

from icl_lib.companion import Discrepancy, claims_of, exchanged, put

LIMIT, UNTRAINED = "limit of training", "untrained"

claim = claims_of("lenses-static-step")


@claim("D", "identity", margin=1e-11, control=put(static="other"))
def S1(dataset):
    """With linear attention over the context alone, and a skip connection, one change of $W$ answers every query as the context
    does, whatever the weights: $D* = W V S K$.

    Margin: Largest error at queries that the context does not hold, over the mean output; float64. Rounding leaves 1e-14.
    Control: the rank-1 change that is made for another query
    """
    return Discrepancy(dataset.static)


@claim("D", "identity", of="output", margin=1e-11, near=("Λ for Γ", "M for N in Γ"))
def S1b(dataset):
    """In the limit of training this change is one step from 0 on a labelled loss without a query: $D* = -∇L_C(0) Γ⁻¹$.

    Margin: Largest difference of the block's outputs, over their mean size; float64. Rounding leaves 1e-14.
    """


@claim("D", "bound", margin=0, control=exchanged("layer", LIMIT, UNTRAINED))
def S1c(dataset):
    """Exactness shows no learning: with random weights one change is as exact (S1), and attention predicts no better than 0.

    Margin: 1 minus the mean squared error of attention's label over that of 0, random weights; the shape that predicts best.
    Random weights can only add error in the mean.
    Moved: from 0.1, for that mean over a hundred contexts.
    Slack: Random weights are worse than 0 by the square of what they add.
    Control: the weights of the limit in their place
    """
    return Discrepancy(1 - dataset.miss.sel(layer=UNTRAINED).mean(["context", "query"], skipna=False))


@claim("D", "bound", margin=0, control=exchanged("change", "cut to another query", "cut to this query"))
def S1d(dataset):
    """Cut to one query, as Dherin et al. write it, the change is exact there and typically off by 2% or more at another.

    Margin: 0.02 minus the median error over the mean output, in the shape with the least; limit weights. Exact is 1e-11, as S1.
    Slack: The medians are far above what a small error would be.
    Control: the change that is cut to the same query
    """
    own, other = (
        dataset.typical.sel(layer=LIMIT, change=f"cut to {query}", drop=True) for query in ("this query", "another query")
    )
    return Discrepancy(0.02 - other + ~(own <= 1e-11))


claim = claims_of("lenses-token-steps")


@claim("D", "identity", of="added", margin=1e-11, near=("gradient at the current point",))
def S1e(dataset):
    """Each example adds a step on its own loss to the patch, cut to the query: its gradient at 0, wherever others led.

    Margin: Largest difference of an entry, over the root mean square of all; float64. Rounding leaves 1e-14.
    """


@claim("D", "identity", of="mean", margin=1e-11, near=("i + 1 for i",))
def S1f(dataset):
    """Divided by the number of examples so far, the patch is the mean of $-∇ℓ_j(0) Γ⁻¹$, cut to the query: example $i + 1$
    moves it by $1/(i + 1)$ of a difference.

    Margin: Largest difference of an entry, over the root mean square of all; float64. Rounding leaves 1e-14.
    """


claim = claims_of("lenses-one-pass")


@claim("D", "formula", of="descent", margin=0.03, quick_margin=0.05, near=("gradients at the start", "M - 1 for M"))
def S1g(dataset):
    """One pass of stochastic gradient descent recovers $1 - tr((I - Γ⁻¹Λ/M)ᴹ)/d$ of a task at the same rate, in the limit $1 -
    1/e$.

    Margin: Relative; a mistake of one example in ten moves it by 5%.
    """


@claim("D", "formula", of="context", margin=0.03, quick_margin=0.05, near=("Λ for (1 + 1/N)Λ", "after one pass"))
def S1h(dataset):
    """The context recovers $tr(Γ⁻¹Λ)/d$ of a task, in long prompts all of it: so a context is not a pass of gradient descent.

    Margin: Relative; as for the pass.
    """


claim = claims_of("lenses-one-norm")


@claim("D", "identity", margin=1e-11, control=put(corrected="uncorrected"))
def S1i(dataset):
    """An RMS norm before an MLP without biases costs a factor: the patched query gives $(1 + ŷ²/|x_q|²)^½$ times the output.

    Margin: Largest error over the mean output, with the factor; float64. Rounding leaves 1e-14.
    Control: without the factor
    """
    return Discrepancy(dataset.corrected.sel(norm="root mean square"))


@claim("D", "bound", margin=0, control=exchanged("norm", "root mean square", "mean and deviation"))
def S1j(dataset):
    """A norm that also takes out the mean does not: with the factor the patched query is typically off by 1% or more.

    Margin: 0.01 minus the median error over the mean output, in the dimension with the least.
    Slack: The medians are far from rounding.
    Control: the RMS norm in its place
    """
    return Discrepancy(0.01 - dataset.corrected.sel(norm="mean and deviation").median(["context", "query"], skipna=False))
