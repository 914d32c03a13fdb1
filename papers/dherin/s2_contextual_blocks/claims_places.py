"""Claims D8 to D10: section 2, other places, vectors that carry no context, and a small A(x)."""

import xarray as xr

from icl_lib.companion import Discrepancy, at, claims_of, put

ATTENTION = ["W_O", "W_V"]


def _scores_alone(dataset: xr.Dataset) -> xr.Dataset:
    """Put W_Q and W_K, no context kept, in the place of the two matrices that can take it up."""
    alone = dataset.isel(size=[-1])
    return alone.assign(error=alone.error.where(~alone.site.isin(ATTENTION), alone.error_bare))


claim = claims_of("dherin-other-sites")


@claim("D", "identity", margin=1e-13, control=put(error="error_fault"))
def D8(dataset):
    """The first matrix is not special: $b$, $W_out$, $b_out$, $W_O$ and $W_V$ take up the context as exactly, each alone.

    Margin: Largest relative error over blocks and Y. $W_V$ needs one rank-1 term per head unless $Y = C$.
    Control: A(C, x)'s reading in the row; biases: nothing subtracted
    """
    return Discrepancy(dataset.error)


@claim("D", "identity", margin=1e-13, control=at(size=[0]))
def D8b(dataset):
    """$W_Q$ and $W_K$ can take up nothing when no context is kept: with $x$ alone the output does not depend on them.

    Margin: Relative change of the output when both are drawn anew, $Y = C$.
    Control: most of the context kept
    """
    return Discrepancy(dataset.scores.isel(size=-1))


@claim("D", "identity", margin=1e-13, control=_scores_alone)
def D8c(dataset):
    """For one query at a time $W_O$ alone and $W_V$ alone take up a context without new biases. For all queries at once they
    cannot (D8d).

    Margin: Largest relative error over blocks and Y, both matrices, as D8.
    Moved: reworded after a look at the results, with W_V alone and one query.
    Control: $W_Q$ and $W_K$ alone, no context kept: they leave the output as it is (D8b)
    """
    return Discrepancy(dataset.error.sel(site=ATTENTION))


claim = claims_of("dherin-placebo")


@claim("D", "identity", margin=1e-13, control=put(error="error_real"))
def D9(dataset):
    """The identity holds for any $u$ in the place of $A(C, x)$: tried are shuffled labels, another task, Gaussian noise.

    Margin: Largest relative error against $f(W u + b)$ over prompts and trained networks.
    Control: against the block with its own context
    """
    return Discrepancy(dataset.error)


@claim("D", "bound", margin=0.05, control=at(vector=[1, 2, 3]))
def D9b(dataset):
    """What the vector knows decides: the own context's patch has less than a twentieth of the squared error of each of these.

    Margin: Risk of the own context over the least risk of the others, each trained network. Exactness is the same for all.
    Moved: from a half, after a look at the results.
    Control: shuffled labels in the place of the own context, against the two that are left
    """
    return Discrepancy(dataset.risk.isel(vector=0) / dataset.risk.isel(vector=slice(1, None)).min("vector"))


claim = claims_of("dherin-conditioning")


@claim("D", "identity", margin=1e-13, control=put(error="error_epsilon"))
def D10(dataset):
    """A small $‖A(x)‖$ does not cost accuracy: with queries down to 1e-8 of their length the error stays at rounding.

    Margin: Largest relative error over blocks and lengths, float64.
    Control: 1e-8 added to the denominator
    """
    return Discrepancy(dataset.error)
