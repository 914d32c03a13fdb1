"""Section 5: the angles of the decoder's neurons, in plain loops and on planted weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from papers.li.s5_experiments import claims
from papers.li.s5_experiments.decoder import DECODER
from papers.li.s5_experiments.decoder_neurons import DECODER_NEURONS, angles, neurons
from papers.li.s5_experiments.decoder_training import Decoders, DecoderTraining, untrained

TRAINING = DecoderTraining("", replace(DECODER.quick.training.setting, M1=4, M2=3, width=8, B=3, steps=10, l=4), "cyclic 1", 2)


@pytest.fixture
def models() -> Decoders:
    found = untrained(TRAINING, 0, "cpu")
    rng = np.random.default_rng(0)
    gains = {name: torch.from_numpy(rng.uniform(0.5, 2, W.shape)) for name, W in found.weights.items() if name.endswith("norm")}
    return Decoders(found.setting, found.weights | gains)


def test_the_way_to_a_neuron_and_from_it_in_plain_loops(models):
    rows, a = neurons(models)
    W = {name: value[1].double().numpy() for name, value in models.weights.items()}
    for k in range(TRAINING.setting.layers):
        for n, token in enumerate(np.eye(TRAINING.setting.decoder().entries)):
            h = token @ W["read_in"]
            value = ((h - h.mean()) * W["attention_norm"][k]) @ W["attention_in"][k][:, 16:] @ W["attention_out"][k]
            read = ((value - value.mean()) * W["mlp_norm"][k]) @ W["mlp_in"][k]
            assert np.allclose(read, rows[k, 1, n])
        for r in range(32):
            out = W["mlp_out"][k][r]
            assert ((out - out.mean()) * W["last_norm"]) @ W["read_out"] == pytest.approx(float(a[k, 1, r]))


def test_neurons_along_their_right_label_are_separated_by_two(models):
    """Neurons that read the label axis alone, with the sign of a; turned round they are separated by -2."""
    rows, a = neurons(models)
    reads = models.weights["mlp_in"].double()
    away = torch.linalg.pinv(rows[0] @ torch.linalg.pinv(reads[:, 0]))  # token space to width
    wanted = torch.zeros_like(rows[0])
    wanted[:, TRAINING.setting.M1 + TRAINING.setting.M2] = a[0].sign()
    planted = reads.clone()
    planted[:, 0] = away @ wanted
    for sign in (1, -1):
        separation, cosine, length = angles(Decoders(models.setting, models.weights | {"mlp_in": sign * planted}))
        assert separation.shape == cosine.shape == (3, 2) and length.shape == (3, 2, 32)
        assert (sign * separation[0] > 1).all()


def test_a_tiny_declaration_and_its_claim():
    dataset = replace(DECODER_NEURONS.quick, training=TRAINING).run(0, "cpu")
    assert dataset.separation.dims == ("stage", "layer", "seed") and float(abs(dataset.separation).max()) <= 2
    assert ((dataset.grown >= 0) & (dataset.grown <= 1)).all()
    assert claims.L18c.judge(dataset).positive_verdict == "holds"


def test_decoders_before_training_are_those_that_were_trained():
    """Shipped ones were drawn with seed 0, whatever the run's seed is."""
    for name, seed in (("li-decoder", 0), ("", 7)):
        found, expected = untrained(replace(TRAINING, name=name), 7, "cpu").weights, TRAINING.start(seed, "cpu")
        assert all(torch.equal(found[key], expected[key]) for key in expected)
