"""Claims L1b and L2: section 2, the untrained network and its training."""

import xarray as xr

from icl_lib.companion import at, claims_of, over_seeds

COVERING = ["cyclic 3", "cyclic 1"]


claim = claims_of("li-start")


@claim(
    "D",
    "formula",
    of="mass",
    margin=0.014,
    quick_margin=0.04,
    near=("l − 1 for l", "½δ²β² for δ²β²", "not given that the pattern is there"),
)
def L1b(dataset):
    """Untrained attention leans to the query's pattern: its mass there is $E[ng/(ng + l − n) | n ≥ 1]$, with
    $g = exp(δ²β²)$ and $n$ binomial $(l, α/2)$. At $δβ = 0.4$, $l = 20$, $α = 0.8$ it is 0.437, uniform 0.400.

    Margin: Relative, by groups of networks, 20 in full. $κ$ is left out, a share of $2κ²δ²β²$ at most where contexts share a
    distractor.
    Moved: from an absolute 0.015 in both profiles, 3% of the mass.
    """


claim = claims_of("li-training")


@claim("D", "bound", margin=0.002, control=at(step=[0]))
def L2(dataset):
    """SGD on the hinge loss learns the training tasks: at the end error and hinge loss on fresh prompts are near 0.

    Margin: Chance is 0.5 and 1. The share of prompts without the query's pattern is taken off, three times in the
    hinge, where a wrong sign costs $1 + |F|$.
    Number: 0-1 error and hinge loss, less what missing patterns cost.
    Moved: from 0.03, more than a hundred times what was found.
    Slack: the number is 0 within its error, so that any factor on it is small.
    Control: the same networks before training
    """
    end = dataset.isel(step=-1).sel(tasks=COVERING)
    return over_seeds(xr.concat([end.error_training - dataset.absent, end.hinge_training - 3 * dataset.absent], "loss"))
