"""Claims D50 to D53: generation without the context. D57, the same in a language model, stays out."""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, claims_of, exchanged, over_seeds, put


def _stale(dataset: xr.Dataset) -> xr.DataArray:
    """Median error with stale patches over the median without patches, (architecture, seed)."""
    median = dataset.error.median("token", skipna=False)
    return median.sel(patches="stale", drop=True) / median.sel(patches="none", drop=True)


claim = claims_of("dherin-generation")


@claim("S", "identity", margin=0, control=exchanged("patches", "recomputed", "last block without"))
def D50(dataset):
    """Decoding by a network that sees only the current token, its patches made anew, gives the same tokens: greedy, or (ours)
    sampled with the same noise.

    Margin: Share of tokens that differ: none may. Logits differ at rounding, so only an exact tie could turn a token.
    Slack: No token differs, and no factor makes 0 larger.
    Control: the last block left unpatched
    """
    return Discrepancy(dataset.differ.sel(patches="recomputed"))


claim = claims_of("dherin-costs")


@claim(
    "D",
    "bound",
    margin=0,
    control=lambda dataset: dataset.assign(ratio=dataset.patch_products / dataset.operations.sel(decoding="context")),
)
def D52(dataset):
    """Patches save nothing: a step with them takes more operations than one with the context, with or without a cache.

    Margin: 1 minus the ratio, every length: counted by PyTorch without a cache, and from the formulas with one.
    Control: the states with the context taken as free
    """
    return Discrepancy(np.stack([1 - dataset.ratio, 1 - dataset.ratio_cached]))


claim = claims_of("dherin-stale-patches")


@claim("D", "bound", margin=0.15, quick_margin=0.4, control=exchanged("patches", "stale", "recomputed"))
def D53(dataset):
    """A stale patch, made for one token and used for the next, is about as bad as none in random networks.

    Margin: Median error over that without patches, minus 1, absolute; 1 would be a repair. Every architecture.
    Moved: from 0.4 in both profiles, which a patch passes that repairs a third.
    Control: recomputed patches
    """
    return over_seeds(abs(_stale(dataset) - 1))


@claim("D", "bound", margin=0.4, control=put(same="different"))
def D53b(dataset):
    """It is the token that makes a patch stale: used for the same token again, it leaves less than four tenths of the error.

    Margin: Median error over that without patches, text in which every token is written twice. Context differs by one token.
    Moved: from a half, after a look at the results.
    Control: the token before was another one
    """
    return over_seeds(dataset.same / dataset.without)


claim = claims_of("dherin-stale-trained")


@claim("D", "bound", margin=0, control=exchanged("patches", "stale", "recomputed"))
def D53c(dataset):
    """In one trained regression network the patch for another query leaves more than 0.4 of the error.

    Margin: 0.4 minus the median error over that without patches; one network, intervals over sets of prompts.
    Control: the patch for the query itself
    """
    return over_seeds((0.4 - dataset.error.sel(patches="stale") / dataset.error.sel(patches="none")).rename(draw="seed"))
