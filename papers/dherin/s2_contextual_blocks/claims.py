"""Claims D1 to D5 and D11: section 2, the update that stands for a context."""

from icl_lib.companion import Discrepancy, claims_of, exchanged, put

SOFTMAX, LINEAR = "softmax attention", "linear attention"
RECURRENT = ["tanh RNN", "GRU"]


claim = claims_of("dherin-identity")


@claim("Q", "identity", margin=1e-13, control=put(error="error_full_row"))
def D1(dataset):
    """$T_W(C, x)$ $= T_{W+ΔW(Y)}(C∖Y, x)$ for multi-head softmax attention and every part $Y$ of the context.

    Margin: Largest relative error over blocks and sizes of Y, ∅ and C among them; float64. Rounding leaves 2e-14 in the full
    profile.
    Control: $A(C, x)$ in the row and the denominator, in the place of $A(C∖Y, x)$
    """
    return Discrepancy(dataset.error.sel(layer=SOFTMAX))


@claim("S", "identity", margin=1e-13, control=put(error="error_full_row"))
def D2(dataset):
    """The same for recurrent contextual layers, a tanh RNN and a GRU.

    Margin: Largest relative error over blocks and sizes of Y, ∅ and C among them; float64. Rounding leaves a few 1e-15.
    Control: $A(C, x)$ in the row and the denominator, in the place of $A(C∖Y, x)$
    """
    return Discrepancy(dataset.error.sel(layer=RECURRENT))


@claim("S", "identity", margin=1e-13, control=put(error="error_full_row"))
def D3(dataset):
    """The same for linear attention.

    Margin: Largest relative error over blocks and sizes of Y, ∅ and C among them; float64. Rounding leaves a few 1e-15.
    Control: $A(C, x)$ in the row and the denominator, in the place of $A(C∖Y, x)$
    """
    return Discrepancy(dataset.error.sel(layer=LINEAR))


@claim(
    "S",
    "identity",
    margin=1e-13,
    control=lambda dataset: dataset.assign(error=dataset.error_transposed.expand_dims(mlp=["three hidden layers"])),
)
def D3b(dataset):
    """What follows the first matrix is irrelevant: three hidden layers are as exact as one, for all four layers.

    Margin: Largest relative error over blocks and sizes of Y, ∅ and C among them; float64. Rounding leaves a few 1e-15.
    Control: the update transposed: its first matrix is square
    """
    return Discrepancy(dataset.error.sel(mlp="three hidden layers"))


claim = claims_of("dherin-rank-one")


@claim("Q", "identity", margin=1e-13, control=put(rest="rest_two_queries"))
def D4(dataset):
    """$ΔW(Y)$ has rank 1.

    Margin: All singular values but the largest, over the largest; rounding leaves a few 1e-16.
    Control: the sum of the updates of two prompts
    """
    return Discrepancy(dataset.rest)


@claim("D", "identity", margin=1e-13, control=put(error_free="error_any"))
def D5(dataset):
    """The update is not the only one: $ΔW + M$ is as exact whenever $M A(C∖Y, x) = 0$.

    Margin: Largest relative error of the block, M random of the size of ΔW, less its part along a.
    Control: the same M with its part along a
    """
    return Discrepancy(dataset.error_free)


@claim("S", "identity", margin=1e-13, control=put(pythagoras_free="pythagoras_any"))
def D5b(dataset):
    """It is the smallest in the Frobenius norm: $‖ΔW + M‖²$ $= ‖ΔW‖² + ‖M‖²$ for all these $M$.

    Margin: Gap of the two sides over the right one; the same random M as for D5.
    Control: the same M with its part along a
    """
    return Discrepancy(dataset.pythagoras_free)


claim = claims_of("dherin-identity")


@claim("D", "bound", margin=0, control=exchanged("layer", SOFTMAX, LINEAR))
def D11(dataset):
    """In softmax attention the columns of parts do not add up: $W ΔA(Y₁) + W ΔA(Y₂)$ misses $W ΔA(C)$ by half or more.

    Margin: 0.5 minus the median relative gap; $Y₁$ and $Y₂$ are halves of C.
    Moved: from 0.1, after a look at the results: nothing of the sum is kept.
    Control: linear attention, where they do add up
    """
    return Discrepancy(0.5 - dataset.additivity.sel(layer=SOFTMAX).median("network", skipna=False))
