"""Claims D50 to D53: generation without the context. D57, the same in a language model, stays out."""

from collections.abc import Callable

import numpy as np
import xarray as xr

from icl_lib.companion.claim import Claim, Discrepancy, over_seeds
from papers.dherin.checks import exchanged

SECTION = "generation"
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


D50 = Claim(
    id="D50",
    paper="dherin",
    section=SECTION,
    sentence="Greedy decoding by a network that sees only the current token, its patches made anew, gives the same tokens.",
    confidence="S",
    kind="identity",
    experiment="dherin-generation",
    margin=0,
    reason="Share of tokens that differ: none may. Logits differ at rounding, so only an exact tie could turn a token.",
    check=_decoded("differ", "greedy"),
    control=exchanged("patches", "recomputed", "last block without"),
    control_sentence="the last block left unpatched",
)

D50b = Claim(
    id="D50b",
    paper="dherin",
    section=SECTION,
    sentence="Along the whole generation, greedy or sampled, the logits agree at rounding.",
    confidence="D",
    kind="identity",
    experiment="dherin-generation",
    margin=1e-12,
    reason="float64, largest relative error over tokens, prompts and networks; many steps. Gemma's published form has D50c.",
    check=lambda dataset: Discrepancy(_others(dataset.error.sel(patches="recomputed"))),
    control=exchanged("patches", "recomputed", "none"),
    control_sentence="no patches",
)

D50c = Claim(
    id="D50c",
    paper="dherin",
    section=SECTION,
    sentence="In Gemma-style networks with the published patch of the gain the logits agree at rounding too.",
    confidence="D",
    kind="identity",
    experiment="dherin-generation",
    margin=1e-12,
    reason="As D50b. The form divides by entries of n that may be near 0; made and used in place this costs no accuracy.",
    check=lambda dataset: Discrepancy(dataset.error.sel(patches="recomputed").reindex(architecture=[PUBLISHED])),
    control=exchanged("patches", "recomputed", "last block without"),
    control_sentence="the last block left unpatched",
)

D50d = Claim(
    id="D50d",
    paper="dherin",
    section=SECTION,
    sentence="A network that keeps the last tokens in view and has the rest in its patches gives the same tokens as well.",
    confidence="D",
    kind="identity",
    experiment="dherin-generation",
    margin=0,
    reason="Share of tokens that differ, greedy and sampled: none may.",
    check=lambda dataset: Discrepancy(dataset.differ.sel(patches="with a window")),
    control=exchanged("patches", "with a window", "none"),
    control_sentence="no patches, nothing kept",
)

D50e = Claim(
    id="D50e",
    paper="dherin",
    section=SECTION,
    sentence="A lower block may go unpatched: the blocks above take up what it left wrong, and the logits are exact.",
    confidence="D",
    kind="identity",
    experiment="dherin-stale-patches",
    margin=1e-12,
    reason="float64, the first block left out (depth 2 or more). Gemma's published form is among them.",
    check=lambda dataset: Discrepancy(dataset.error.sel(patches="first block without")),
    control=exchanged("patches", "first block without", "stale"),
    control_sentence="patches in all blocks, made for the token before",
)

D50f = Claim(
    id="D50f",
    paper="dherin",
    section=SECTION,
    sentence="But for Gemma's published form, position matters neither to a token alone nor, if all shift alike, to a window.",
    confidence="D",
    kind="identity",
    experiment="dherin-stale-patches",
    margin=1e-12,
    reason="float64, patches made at absolute positions and used at 0, 1, ... Rotary attention sees distances only.",
    check=lambda dataset: Discrepancy(_others(dataset.renumbered.sel(place=["alone", "window"]))),
    control=exchanged("place", "alone", "scattered"),
    control_sentence="kept tokens with gaps between them, renumbered",
)

D51 = Claim(
    id="D51",
    paper="dherin",
    section=SECTION,
    sentence="Sampling with common random numbers gives the same tokens too.",
    confidence="D",
    kind="identity",
    experiment="dherin-generation",
    margin=0,
    reason="Share of tokens that differ under one Gumbel noise: none may. Greedy decoding of random networks runs into loops.",
    check=_decoded("differ", "sampled"),
    control=exchanged("patches", "recomputed", "none"),
    control_sentence="no patches, the same noise",
)

D52 = Claim(
    id="D52",
    paper="dherin",
    section=SECTION,
    sentence="Patches save nothing: a step with them takes more operations than one with the context, with or without a cache.",
    confidence="D",
    kind="bound",
    experiment="dherin-costs",
    margin=0,
    reason="1 minus the ratio, every length: counted by PyTorch without a cache, and from the formulas with one.",
    check=lambda dataset: Discrepancy(np.stack([1 - dataset.ratio, 1 - dataset.ratio_cached])),
    control=lambda dataset: dataset.assign(ratio=dataset.patch_products / dataset.operations.sel(decoding="context")),
    control_sentence="the states with the context taken as free",
)

D52b = Claim(
    id="D52b",
    paper="dherin",
    section=SECTION,
    sentence="The formulas for the operations of matrix products are what PyTorch counts.",
    confidence="D",
    kind="formula",
    experiment="dherin-costs",
    margin=1e-12,
    reason="Relative, every length, with the context and with patches: whole numbers on both sides.",
    check=lambda dataset: Discrepancy(abs(dataset.operations / dataset.operations_theory - 1)),
    control=lambda dataset: dataset.assign(operations_theory=dataset.operations_theory - dataset.patch_products / 100),
    control_sentence="a hundredth of a patch left out",
)

D53 = Claim(
    id="D53",
    paper="dherin",
    section=SECTION,
    sentence="A stale patch, made for one token and used for the next, is about as bad as none in random networks.",
    confidence="D",
    kind="bound",
    experiment="dherin-stale-patches",
    margin=0.4,
    reason="Median error over that without patches, minus 1, absolute; 1 would be a repair. Every architecture.",
    check=lambda dataset: over_seeds(abs(_stale(dataset) - 1)),
    control=exchanged("patches", "stale", "recomputed"),
    control_sentence="recomputed patches",
)

D53b = Claim(
    id="D53b",
    paper="dherin",
    section=SECTION,
    sentence="It is the token that makes a patch stale: used for the same token again, it leaves less than half of the error.",
    confidence="D",
    kind="bound",
    experiment="dherin-stale-patches",
    margin=0.5,
    reason="Median error over that without patches, text in which every token stands twice. Context differs by one token.",
    check=lambda dataset: over_seeds(dataset.same / dataset.without),
    control=lambda dataset: dataset.assign(same=dataset.different),
    control_sentence="the token before was another one",
)

D53c = Claim(
    id="D53c",
    paper="dherin",
    section=SECTION,
    sentence="In a trained regression network the patch for another query leaves more than 0.4 of the error.",
    confidence="D",
    kind="bound",
    experiment="dherin-stale-trained",
    margin=0,
    reason="0.4 minus the median error over that without patches; one network, intervals over sets of prompts.",
    check=lambda dataset: over_seeds(
        (0.4 - dataset.error.sel(patches="stale") / dataset.error.sel(patches="none")).rename(draw="seed")
    ),
    control=exchanged("patches", "stale", "recomputed"),
    control_sentence="the patch for the query itself",
)
