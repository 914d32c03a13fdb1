"""What would train nothing, or otherwise than it says, is refused in one sentence."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icl_lib.train.loop import replicated, summed, train
from icl_lib.train.optimizers import SGD, Adam, FusedAdam, per_replicate


def fit(loss=lambda now, batch: now["w"] ** 2, steps=1, checkpoint=None, **more):
    start, draw = {"w": torch.ones(2), **more}, lambda step: torch.ones(2)
    return train.__wrapped__(loss, start, draw, SGD(0.1), steps, differentiate=summed, checkpoint=checkpoint)


def kept(step: int = 0, **sizes: int) -> SimpleNamespace:
    state = {"step": step, "parameters": {name: torch.ones(size) for name, size in sizes.items()}, "state": {}, "losses": None}
    return SimpleNamespace(load=lambda: state, save=None, every=10)


REFUSED = {
    "no step": (lambda: fit(steps=0), "0 steps: train for at least one"),
    "a broken number of steps": (lambda: fit(steps=1.5), "1.5 steps: train for at least one, a whole number"),
    "parameters that are arrays": (
        lambda: train.__wrapped__(None, {"w": np.ones(2)}, None, SGD(0.1), 1),
        "parameters are ndarray: give tensors of floats by name",
    ),
    "nothing to train": (lambda: train.__wrapped__(None, {}, None, SGD(0.1), 1), "parameters are none"),
    "replicates that do not meet": (lambda: fit(b=torch.ones(3)), r"different numbers of replicates: give each as \(S, ...\)"),
    "a parameter without replicates": (lambda: fit(b=torch.tensor(1.0)), r"one as W\[None\]"),
    "one loss for all": (
        lambda: fit(lambda now, batch: now["w"].mean()),
        r"has shape \(\): give \(S,\), one number a replicate",
    ),
    "a loss for each prompt": (lambda: fit(lambda now, batch: now["w"][:, None] * torch.ones(3)), r"has shape \(2, 3\)"),
    "a rate of NumPy's that steps uphill": (
        lambda: SGD.start(SimpleNamespace(learning_rate=np.float32(-0.1)), {}),
        "rate -0.1.* and epsilon 0.0: give numbers of at least 0$",
    ),
    "an average that keeps all": (lambda: Adam(0.1, betas=(0.9, 1.0)).start({}), r"and betas \(0.9, 1.0\) below 1"),
    "an epsilon that is none": (lambda: FusedAdam(0.1, epsilon=np.nan).start({}), "epsilon nan"),
    "a list of rates": (
        lambda: per_replicate.__wrapped__([0.1, 0.2], torch.ones(2)),
        "learning rates are a list: give a number",
    ),
    "three rates for two": (
        lambda: per_replicate.__wrapped__(torch.ones(3), torch.ones(2)),
        "for 2 replicates: give one, or one for",
    ),
    "a checkpoint of other parameters": (lambda: fit(checkpoint=kept(w=3)), "holds other parameters: it is of another run"),
    "a checkpoint with more steps": (lambda: fit(checkpoint=kept(w=2, step=9)), "has more steps than 1: it is of another run"),
    "a batch of other replicates": (
        lambda: train(
            lambda now, batch: ((now["w"] - batch) ** 2).sum(),
            {"w": torch.ones(1, 3)},
            lambda step: torch.ones(300, 3),
            SGD(0.1),
            1,
        ),
        r"same size in the mapped dimension, got sizes \[1, 300\]",
    ),
    **{
        f"a rate below 0, {type(rule).__name__}": (
            lambda rule=rule: rule.start({"w": torch.ones(2)}),
            "learning rate .* and epsilon .*: give numbers of at least 0",
        )
        for rule in (SGD(-0.03), Adam(torch.tensor([0.1, -0.1])), FusedAdam(0.1, epsilon=-1.0))
    },
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_in_one_sentence(what):
    attempt, sentence = REFUSED[what]
    with pytest.raises(ValueError, match=sentence):
        attempt()


def test_one_kernel_asks_how_gradients_lie_in_memory():
    """Of a transposed matrix the gradient that torch gives lies as the parameter does; a copy of it does not."""

    def turned(loss):
        gradient = replicated(loss)
        return lambda parameters, batch: ({k: g.contiguous() for k, g in gradient(parameters, batch)[0].items()}, torch.ones(2))

    def loss(now, batch):
        return (now["w"] ** 2).sum() * batch

    def fit_fused(w):
        return train(loss, {"w": w}, lambda step: torch.ones(2), FusedAdam(0.1), 1, differentiate=turned)

    with pytest.raises(ValueError, match="lie in memory otherwise than their parameters: use Adam"):
        fit_fused(torch.randn(2, 5, 3).mT)
    fit_fused(torch.randn(2, 3, 5))
    fit_fused(torch.randn(2, 1, 5).mT)
