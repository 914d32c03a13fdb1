"""Many models, or patches at many positions, in one batch against one after the other."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch

from icl_lib.models.contextual.blocks import State
from icl_lib.patches.network import patched_network
from icl_lib.patches.sites import Matrix
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.trained import ManyBlocks
from papers.engine.bench.scale import Scale
from papers.engine.bench.table import Row, comparison
from papers.engine.one_layer import one_layer_laps
from papers.engine.sizes import engine_laps
from papers.engine.speed import alternating, medians
from papers.li.trained import A, train_models

POSITIONS = 40


def batches(device: str, scale: Scale) -> Iterator[Row]:
    """A step of R models one after the other, R times the step of one, against a step of all."""
    size = scale.sizes[0]
    trainings = {
        "one-layer": lambda R: one_layer_laps(R, scale.laps, 0, device),
        f"{size.name} decoder": lambda R: engine_laps(size, R, scale.laps, 0, device),
    }
    for name, measure in trainings.items():
        for R in scale.replicates:
            found = alternating({"one": partial(measure, 1), "all": partial(measure, R)}, scale.repeats)
            yield comparison(f"a step of {R} {name} models: one by one / one batch", R * found["one"], found["all"])
    yield from pattern_replicates(device, scale)
    yield from positions(device, scale)


def pattern_replicates(device: str, scale: Scale) -> Iterator[Row]:
    """Softmax-attention models at the paper's scale trained one after another against one batch."""
    setting, R = replace(A, T=20), scale.patterns
    train_afresh = train_models.__wrapped__  # the cache would answer the second call
    contenders = {
        "apart": lambda: [train_afresh((setting,), 1, seed, device) for seed in range(R)],
        "batch": lambda: train_afresh((setting,), R, 0, device),
    }
    found = medians(contenders, scale.repeats)
    yield comparison(f"training {R} softmax-attention models: one by one / batch", *found.values())


def positions(device: str, scale: Scale) -> Iterator[Row]:
    """Patches at the positions of a sequence, one by one and as one batch."""
    network = ManyBlocks(depth=6, d=2, width=48, heads=6, hidden=128).network()
    weights = network.start(stream(0, "network", device), (), torch.zeros(()))
    tokens = network.embed(weights, normal(stream(0, "tokens", device), (POSITIONS, 3), torch.zeros(())))
    states, _ = network.states(weights, tokens)
    site, places = Matrix("W_down"), range(POSITIONS)
    at = [[State(state.z[None, i : i + 1], state.v[None, i : i + 1]) for state in states] for i in places]
    everywhere = [State(state.z[:, None], state.v[:, None]) for state in states]
    contenders = {
        "apart": lambda: [patched_network(network, site, weights, at[i], tokens[None, i : i + 1]) for i in places],
        "together": lambda: patched_network(network, site, weights, everywhere, tokens[:, None]),
    }
    found = medians(contenders, scale.repeats)
    yield comparison(f"patches of 6 blocks at {POSITIONS} positions: one by one / batch", *found.values())
