"""Garg et al.: toy decoders, their errors on prefixes, and the live training."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS
from icl_lib.models.baselines import MinimumNormOLS
from icl_lib.models.gpt2 import InContextGPT2
from icl_lib.seeds import stream
from icl_lib.tasks.regression import LinearRegression
from papers.garg.prior_observations import live_training
from papers.garg.prior_observations.claims_live_training import G4
from papers.garg.prior_observations.prefixes import by_length, first, labels
from papers.regression.decoders import DecoderTraining


def law(d: int) -> LinearRegression:
    return LinearRegression(torch.eye(d, dtype=torch.float64))


# --- prefixes -----------------------------------------------------------------------------------------------------

TOY = DecoderTraining(
    "",
    layers=2,
    heads=2,
    width=8,
    d=3,
    N=4,
    law="fixed",
    sparsity=3,
    room=7,
    dims=live_training.Ramp(3, 3, 1, 1),
    points=live_training.Ramp(5, 5, 1, 1),
    B=8,
    rate=1e-2,
    steps=6,
    replicates=2,
)


def untrained(training: DecoderTraining, seed: int, device: str) -> InContextGPT2:
    decoder = training.decoder()
    return InContextGPT2(decoder, decoder.start(stream(seed, "weights", device), training.replicates, torch.zeros(())))


def test_a_prefix_asks_for_the_example_that_follows():
    prompts, model = law(3).sample(stream(0, "prefixes"), (5,), 6), untrained(TOY, 0, "cpu")
    every = model.prefixes(prompts)
    for k in (0, 2, 6):
        cut = first(prompts, k)
        assert cut.y.shape == (5, k) and torch.equal(cut.y_query, labels(prompts)[:, k])
        assert torch.allclose(model(cut), every[..., k], atol=1e-5)
    assert torch.equal(first(prompts, 6).x_query, prompts.x_query)
    with pytest.raises(ValueError, match="take 0 <= k <= 6"):
        first(prompts, 7)


def test_without_examples_a_classical_predictor_says_0():
    prompts = law(3).sample(stream(0, "prefixes"), (5,), 3)
    found = by_length(MinimumNormOLS(), prompts, (0, 3))
    assert torch.equal(found[:, 0], torch.zeros(5).double())
    assert torch.allclose(found[:, 1], prompts.y_query)


# --- the live training --------------------------------------------------------------------------------------------

LIVE = live_training.LiveTraining(trainings=(replace(TOY, points=live_training.Ramp(3, 5, 2, 3)), TOY), window=3, prompts=60)


@pytest.fixture(scope="module")
def live() -> xr.Dataset:
    return LIVE.expect(LIVE.run(5, "cpu"), 5)


def test_the_live_training_is_the_declared_one(live):
    """Losses are those of the training itself; before the training the error is that of the untrained decoder."""
    losses = TOY.run(5, "cpu").losses.double() / TOY.d
    assert np.allclose(live.loss.sel(curriculum="without", step=6), losses[3:].mean(0))
    prompts = law(3).sample(stream(5, "garg-live-training"), (60,), 4)
    error = (untrained(TOY, 5, "cpu").prefixes(prompts) - labels(prompts)).square().mean(1) / 3
    assert np.allclose(live.risk_start.sel(curriculum="without"), error)
    assert not np.allclose(live.risk, live.risk_start)
    assert live.sizes == {"curriculum": 2, "step": 2, "seed": 2, "k": 5}


def test_a_training_is_judged_by_what_it_learned(live):
    assert G4.judge(live.assign(risk=0.2 * live.lsa.broadcast_like(live.risk))).verdict == HOLDS
    assert G4.judge(live.assign(risk=live.lsa.broadcast_like(live.risk))).verdict == FAILS
    assert G4.judge(live).control_verdict != HOLDS  # two models leave it open


def test_a_live_training_that_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="do not divide 6"):
        replace(LIVE, window=4)
    with pytest.raises(ValueError, match="change dims and points alone"):
        replace(LIVE, trainings=(TOY, replace(TOY, rate=1.0)))
    with pytest.raises(ValueError, match="law='fixed'"):
        replace(LIVE, trainings=(replace(TOY, law="random"),))
