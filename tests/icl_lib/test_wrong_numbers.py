"""What would end in a wrong number, or in words of torch, is refused in one sentence."""

from types import SimpleNamespace

import pytest
import torch

from icl_lib.measure.cosine import cosine
from icl_lib.measure.risk import risk
from icl_lib.models.baselines import Averaging, MinimumNormOLS, OneGradientStep, Ridge, Zero, predict
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.patches.network import patched_network
from icl_lib.patches.sites import Bias, Gain, Matrix, MatrixAndGain
from icl_lib.tasks.prompts import Prompts
from icl_lib.tasks.regression import LinearRegression
from icl_lib.train.loop import SGD, FusedAdam, replicated, summed, train

EYE, LAW = torch.eye(3), LinearRegression(torch.eye(2, dtype=torch.float64))
MODEL, EMPTY = LinearSelfAttention(EYE, EYE), Prompts(torch.ones(1, 0, 2), torch.ones(1, 0), torch.ones(1, 2), torch.ones(1))
MLP_WEIGHTS = {name: torch.ones(shape) for name, shape in MLP(1, (2,), 1, "relu").shapes.items()}


def prompts(d: int = 2, labels: tuple[int, ...] = (1, 4)) -> Prompts:
    return Prompts(torch.ones(1, 4, d), torch.ones(labels), torch.ones(1, d), torch.ones(1))


def fit(loss=lambda now, batch: now["w"] ** 2, steps=1, **more):
    return train(loss, {"w": torch.ones(2), **more}, lambda step: torch.ones(2), SGD(0.1), steps, differentiate=summed)


def weights(W_PV, W_KQ):
    """Make a model as without the checks of annotations, which tests add."""
    LinearSelfAttention.__post_init__(SimpleNamespace(W_PV=W_PV, W_KQ=W_KQ))


def plain(function):
    """Take a function as it is without the checks of annotations."""
    return function.__wrapped__


def patch(site):
    return site.absorb(MLP(1, (2,), 1, "relu"), MLP_WEIGHTS, torch.ones(1), torch.ones(1))


REFUSED = {
    "weights of two sizes": (lambda: weights(EYE, torch.eye(4)), r"\(3, 3\) and \(4, 4\): both end in"),
    "weights that are not square": (lambda: weights(EYE[:2], EYE[:2]), r"both end in \(d\+1, d\+1\)"),
    "weights of another size": (lambda: MODEL(prompts(d=3)), "weights of size 3 need inputs of one entry less, and have 3"),
    "labels in a column": (lambda: MODEL(prompts(labels=(1, 4, 1))), r"4 inputs and labels of shape \(1, 4, 1\)"),
    **{
        f"{type(each).__name__}, {what}": (
            lambda each=each, y=y: each(prompts(labels=y)),
            r"4 inputs and labels of shape \(1, ",
        )
        for each in (MinimumNormOLS(), Ridge(1.0), OneGradientStep(1.0), Averaging())
        for what, y in (("labels in a column", (1, 4, 1)), ("one label for all", (1, 1)))
    },
    "tokens of fewer labels": (lambda: embed(prompts(labels=(1, 3))), r"4 inputs and labels of shape \(1, 3\)"),
    "weights that do not meet a query": (lambda: plain(predict)(prompts(), torch.ones(1)), "give as many entries"),
    "vectors of two lengths": (lambda: plain(cosine)(torch.ones(3, 1), torch.ones(3)), "1 and of 3 entries: give as many"),
    "a prompt of fewer than no examples": (lambda: risk(Zero(), LAW, prompts=1, length=-1, seed=0, name="a"), "of -1 examples"),
    "tokens without an example": (lambda: embed(EMPTY), "give at least one example"),
    "no prompts": (lambda: risk(Zero(), LAW, prompts=0, length=2, seed=0, name="a"), "0 prompts: draw at least one"),
    "fewer than none": (lambda: risk(Zero(), LAW, prompts=-1, length=2, seed=0, name="a"), "-1 prompts"),
    "no step": (lambda: fit(steps=0), "0 steps: train for at least one"),
    "replicates that do not meet": (lambda: fit(b=torch.ones(3)), r"different numbers of replicates: give each as \(S, ...\)"),
    "a parameter without replicates": (lambda: fit(b=torch.tensor(1.0)), r"one as W\[None\]"),
    "one loss for all": (
        lambda: fit(lambda now, batch: now["w"].mean()),
        r"has shape \(\): give \(S,\), one number a replicate",
    ),
    "a loss for each prompt": (lambda: fit(lambda now, batch: now["w"][:, None] * torch.ones(3)), r"has shape \(2, 3\)"),
    "fewer targets than blocks": (
        lambda: plain(patched_network)(SimpleNamespace(blocks=lambda weights: [1, 2]), None, {}, [None], torch.ones(1, 1)),
        "1 targets for 2 blocks: give one for each",
    ),
    "a bias of another name": (lambda: patch(Bias("bias")), "bias must be among the block's weights: W, b, W_out, b_out"),
    "a matrix of another name": (lambda: patch(Matrix("V")), "V must be among"),
    "a gain of another name": (lambda: patch(Gain("m")), "m must be among"),
    "one of two": (lambda: patch(MatrixAndGain("W_out", "m")), "W_out and m must be among"),
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
