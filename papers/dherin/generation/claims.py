"""Claims D50 to D53: generation without the context. D57, the same in a language model, stays out."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Discrepancy, claims_of, over_seeds
from icl_lib.companion.controls import exchanged, put

PUBLISHED = "Gemma"
"""The one form that divides by single activations."""


def _others(values: xr.DataArray) -> xr.DataArray:
    return values.where(values.architecture != PUBLISHED, drop=True)


def _decoded(name: str, choice: str) -> Callable[[xr.Dataset], Discrepancy]:
    return lambda dataset: Discrepancy(dataset[name].sel(patches="recomputed", choice=choice))


def _stale(dataset: xr.Dataset) -> xr.DataArray:
    """Median error with stale patches over the median without patches, (architecture, seed)."""
    median = dataset.error.median("token")
    return median.sel(patches="stale", drop=True) / median.sel(patches="none", drop=True)


claim = claims_of("dherin-generation")


@claim(
    "S",
    "identity",
    check=_decoded("differ", "greedy"),
    margin=0,
    control=exchanged("patches", "recomputed", "last block without"),
)
def D50(dataset):
    """Greedy decoding by a network that sees only the current token, its patches made anew, gives the same tokens.

    Margin: Share of tokens that differ: none may. Logits differ at rounding, so only an exact tie could turn a token.
    Control: the last block left unpatched
    """


@claim("D", "identity", margin=1e-12, control=exchanged("patches", "recomputed", "none"))
def D50b(dataset):
    """Along the whole generation, greedy or sampled, the logits agree at rounding.

    Margin: float64, largest relative error over tokens, prompts and networks; many steps. Gemma's published form has
    D50c.
    Control: no patches
    """
    return Discrepancy(_others(dataset.error.sel(patches="recomputed")))


@claim("D", "identity", margin=1e-12, control=exchanged("patches", "recomputed", "last block without"))
def D50c(dataset):
    """In Gemma-style networks with the published patch of the gain the logits agree at rounding too.

    Margin: As D50b. The form divides by entries of n that may be near 0; made and used in place this costs no accuracy.
    Control: the last block left unpatched
    """
    return Discrepancy(dataset.error.sel(patches="recomputed").reindex(architecture=[PUBLISHED]))


@claim("D", "identity", margin=0, control=exchanged("patches", "with a window", "none"))
def D50d(dataset):
    """A network that keeps the last tokens in view and has the rest in its patches gives the same tokens as well.

    Margin: Share of tokens that differ, greedy and sampled: none may.
    Control: no patches, nothing kept
    """
    return Discrepancy(dataset.differ.sel(patches="with a window"))


claim = claims_of("dherin-stale-patches")


@claim("D", "identity", margin=1e-12, control=exchanged("patches", "first block without", "stale"))
def D50e(dataset):
    """A lower block may go unpatched: the blocks above take up what it left wrong, and the logits are exact.

    Margin: float64, the first block left out (depth 2 or more). Gemma's published form is among them.
    Control: patches in all blocks, made for the token before
    """
    return Discrepancy(dataset.error.sel(patches="first block without"))


@claim("D", "identity", margin=1e-12, control=exchanged("place", "alone", "scattered"))
def D50f(dataset):
    """But for Gemma's published form, position matters neither to a token alone nor, if all shift alike, to a window.

    Margin: float64, patches made at absolute positions and used at 0, 1, ... Rotary attention sees distances only.
    Control: kept tokens with gaps between them, renumbered
    """
    return Discrepancy(_others(dataset.renumbered.sel(place=["alone", "window"])))


claim = claims_of("dherin-generation")


@claim("D", "identity", check=_decoded("differ", "sampled"), margin=0, control=exchanged("patches", "recomputed", "none"))
def D51(dataset):
    """Sampling with common random numbers gives the same tokens too.

    Margin: Share of tokens that differ under one Gumbel noise: none may. Greedy decoding of random networks runs into
    loops.
    Control: no patches, the same noise
    """


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


@claim(
    "D",
    "formula",
    margin=1e-12,
    control=lambda dataset: dataset.assign(operations_theory=dataset.operations_theory - dataset.patch_products / 100),
)
def D52b(dataset):
    """The formulas for the operations of matrix products are what PyTorch counts.

    Margin: Relative, every length, with the context and with patches: whole numbers on both sides.
    Control: a hundredth of a patch left out
    """
    return Discrepancy(abs(dataset.operations / dataset.operations_theory - 1))


claim = claims_of("dherin-stale-patches")


@claim("D", "bound", margin=0.4, control=exchanged("patches", "stale", "recomputed"))
def D53(dataset):
    """A stale patch, made for one token and used for the next, is about as bad as none in random networks.

    Margin: Median error over that without patches, minus 1, absolute; 1 would be a repair. Every architecture.
    Control: recomputed patches
    """
    return over_seeds(abs(_stale(dataset) - 1))


@claim("D", "bound", margin=0.5, control=put(same="different"))
def D53b(dataset):
    """It is the token that makes a patch stale: used for the same token again, it leaves less than half of the error.

    Margin: Median error over that without patches, text in which every token stands twice. Context differs by one
    token.
    Control: the token before was another one
    """
    return over_seeds(dataset.same / dataset.without)


claim = claims_of("dherin-stale-trained")


@claim("D", "bound", margin=0, control=exchanged("patches", "stale", "recomputed"))
def D53c(dataset):
    """In a trained regression network the patch for another query leaves more than 0.4 of the error.

    Margin: 0.4 minus the median error over that without patches; one network, intervals over sets of prompts.
    Control: the patch for the query itself
    """
    return over_seeds((0.4 - dataset.error.sel(patches="stale") / dataset.error.sel(patches="none")).rename(draw="seed"))
