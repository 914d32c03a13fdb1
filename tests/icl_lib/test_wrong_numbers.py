"""What would end in a wrong number, or in words of torch, is refused in one sentence."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icl_lib.measure.cosine import cosine
from icl_lib.measure.estimate import mean
from icl_lib.measure.risk import chunks, risk, squared_errors
from icl_lib.measure.slope import log_log_slope
from icl_lib.models.baselines import Averaging, MinimumNormOLS, OneGradientStep, Ridge, Zero, predict
from icl_lib.models.contextual.blocks import Block, NoSkip, State
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention, without
from icl_lib.models.contextual.norms import LayerNorm, RMSNorm
from icl_lib.models.contextual.weights import linear, start
from icl_lib.models.gpt2 import GPT2, interleaved_tokens, pattern_tokens
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.patches.network import patched_network
from icl_lib.patches.rank_one import rank_one, redirection
from icl_lib.patches.sites import Bias, Gain, Matrix, MatrixAndGain
from icl_lib.tasks.prompts import Prompts, antithetic, covariance_root, normal, undrawn
from icl_lib.tasks.regression import CubicLabels, LinearLabels, LinearRegression, QueryShift
from icl_lib.typed import refuse
from papers.regression.prompts import NoisyContext

EYE, LAW = torch.eye(3), LinearRegression(torch.eye(2, dtype=torch.float64))
MODEL, EMPTY = LinearSelfAttention(EYE, EYE), Prompts(torch.ones(1, 0, 2), torch.ones(1, 0), torch.ones(1, 2), torch.ones(1))
DECODED, TOKENS = GPT2(2, 2, 4, 1).start(torch.Generator(), 1, EYE), torch.ones(1, 1, 3, 1)
MLP_WEIGHTS = {name: torch.ones(shape) for name, shape in MLP(1, (2,), 1, "relu").shapes.items()}


def prompts(d: int = 2, labels: tuple[int, ...] = (1, 4)) -> Prompts:
    return Prompts(torch.ones(1, 4, d), torch.ones(labels), torch.ones(1, d), torch.ones(1))


def weights(W_PV, W_KQ):
    """Make a model as without the checks of annotations, which tests add."""
    LinearSelfAttention.__post_init__(SimpleNamespace(W_PV=W_PV, W_KQ=W_KQ))


def plain(function):
    """Take a function as it is without the checks of annotations."""
    return function.__wrapped__


def columns(generator, shape, length):
    drawn = LAW.sample(generator, shape, length)
    return drawn._replace(y_query=drawn.y_query[:, None])


def draw_plainly(shape, length):
    return plain(LinearRegression.sample)(LAW, torch.Generator(), shape, length)


def patch(site):
    return site.absorb(MLP(1, (2,), 1, "relu"), MLP_WEIGHTS, torch.ones(1), torch.ones(1))


REFUSED = {
    "weights of two sizes": (lambda: weights(EYE, torch.eye(4)), r"\(3, 3\) and \(4, 4\): both end in"),
    "weights in a row": (lambda: weights(EYE[0], EYE[0]), r"\(3,\) and \(3,\): both end in"),
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
    "a number of NumPy's": (lambda: plain(chunks)(np.int64(4), 1), r"np.int64\(4\) prompts: draw at least one, .* of Python"),
    "a length of NumPy's": (
        lambda: plain(squared_errors)(Zero(), LAW, prompts=4, length=np.int64(1), seed=0, name="a"),
        r"prompts of np.int64\(1\) examples: draw 0 or more, Python's whole number",
    ),
    "no prompts": (lambda: risk(Zero(), LAW, prompts=0, length=2, seed=0, name="a"), "0 prompts: draw at least one"),
    "fewer than none": (lambda: risk(Zero(), LAW, prompts=-1, length=2, seed=0, name="a"), "-1 prompts"),
    "fewer targets than blocks": (
        lambda: plain(patched_network)(SimpleNamespace(blocks=lambda weights: [1, 2]), None, {}, [None], torch.ones(1, 1)),
        "1 targets for 2 blocks: give one for each",
    ),
    "a bias of another name": (lambda: patch(Bias("bias")), "bias must be among the block's weights: W, b, W_out, b_out"),
    "a matrix of another name": (lambda: patch(Matrix("V")), "V must be among"),
    "a gain of another name": (lambda: patch(Gain("m")), "m must be among"),
    "one of two": (lambda: patch(MatrixAndGain("W_out", "m")), "m must be among"),
    "a bias that is added before": (lambda: patch(Bias("b")), r"b of shape \(2,\) does not take up 1 numbers"),
    "a matrix in the place of a gain": (lambda: patch(Gain("W_out")), r"W_out of shape \(1, 2\) does not"),
    "a matrix that reads the input": (lambda: patch(Matrix("W")), r"W of shape \(2, 1\) does not take up"),
    "a bias in the place of a matrix": (lambda: patch(Matrix("b_out")), r"b_out of shape \(1,\) does not take up"),
    "a decoder of more layers than its weights": (lambda: GPT2(3, 2, 4, 1)(DECODED, TOKENS), "another decoder than one of 3"),
    "and its attention": (lambda: GPT2(1, 2, 4, 1).attention(DECODED, TOKENS), "another decoder than one of 1"),
    "weights of more channels": (lambda: GPT2(2, 2, 2, 1)(DECODED, TOKENS), "than one of 2 layers, 2 channels"),
    "a table that would not be read": (
        lambda: GPT2(2, 2, 4, 1)(GPT2(2, 2, 4, 1, positions=3).start(torch.Generator(), 1, EYE), TOKENS),
        "1 numbers and 0 positions",
    ),
    "tokens of more numbers": (
        lambda: plain(GPT2.__call__)(GPT2(2, 2, 4, 1), DECODED, torch.ones(1, 1, 3, 2)),
        r"tokens of shape \(1, 1, 3, 2\): give \(S, B, T, 1\)",
    ),
    "a decoder without channels": (lambda: GPT2(1, 2, 0, 1), "0 channels"),
    "tokens of no numbers": (lambda: GPT2(1, 2, 4, 0), "tokens of 0 numbers"),
    "fewer labels in patterns": (
        lambda: plain(pattern_tokens)(prompts(labels=(1, 3)), EYE[0]),
        r"4 inputs and labels of shape \(1, 3\)",
    ),
    "an array of inputs": (
        lambda: plain(embed)(prompts()._replace(x=np.ones((1, 4, 2)))),
        "are ndarray float64, Tensor torch.float32, Tensor torch.float32: give tensors",
    ),
    "whole numbers as inputs": (lambda: plain(embed)(prompts()._replace(x=torch.ones(1, 4, 2).long())), "x of floats"),
    "queries of other inputs": (
        lambda: plain(embed)(prompts()._replace(x_query=torch.ones(1, 3))),
        r"inputs of 2 entries and queries of shape \(1, 3\)",
    ),
    "labels of other prompts": (
        lambda: plain(embed)(prompts()._replace(x=torch.ones(2, 4, 2), y=torch.ones(3, 4))),
        r"of \(2,\), \(3,\) and \(1,\) prompts: give as many",
    ),
    "fewer labels in turn": (lambda: interleaved_tokens(prompts(labels=(1, 3))), r"4 inputs and labels of shape \(1, 3\)"),
    "a matrix for other vectors": (lambda: plain(linear)({"W": torch.ones(4, 2)}, "W", torch.ones(3, 1)), "W has 2 columns"),
    "a patch for other vectors": (
        lambda: plain(redirection)(torch.ones(2, 3), torch.ones(1), torch.ones(1)),
        "W has 3 columns",
    ),
    **{
        f"a query for each example of {type(each).__name__}": (
            lambda each=each: plain(type(each).prefixes)(each, {}, torch.ones(3, 1), torch.ones(3, 1)),
            "3 queries for 3 contexts: give one more",
        )
        for each in (LinearAttention(1, 1, 1), SoftmaxAttention(1, 1, 1, 1))
    },
    "attention to other tokens": (
        lambda: plain(SoftmaxAttention.__call__)(SoftmaxAttention(1, 1, 1, 1), {"W_Q": torch.ones(1, 1)}, torch.ones(3, 2)),
        "W_Q has 1 columns and is applied to vectors of 2 entries",
    ),
    "a mask of places": (lambda: plain(without)(torch.ones(3, 1), [True, False]), "give whole numbers, no mask"),
    "attention without channels": (lambda: LinearAttention(0, 1, 1).shapes, "width, inputs and outputs must be 1 or more"),
    "no hidden layer": (lambda: MLP(1, (), 1, "relu"), r"a tuple of one width or more, such as \(32,\)"),
    "a gate without channels": (lambda: GatedMLP(1, 0, "relu"), "width and hidden_width must be 1 or more"),
    "a weight that starts in no way": (
        lambda: start({"Q": (1, 1)}, torch.Generator(), (), EYE),
        "begin each with W, E, b or m",
    ),
    "a covariance without end": (
        lambda: covariance_root(torch.diag(torch.tensor([1.0, torch.inf]))),
        "give a tensor of finite floats",
    ),
    "a covariance that is an array": (lambda: plain(covariance_root)(np.eye(2)), "a covariance is ndarray"),
    "a seed in the place of a generator": (lambda: plain(normal)(0, (2,), EYE), "the generator is int: give one of torch"),
    "numbers like whole ones": (lambda: plain(normal)(torch.Generator(), (2,), torch.arange(2)), "like Tensor torch.int64"),
    "a single prompt and its pair": (
        lambda: plain(antithetic)(Prompts(EYE, EYE[0], EYE[0], torch.tensor(1.0))),
        r"give a batch, x of shape \(B, M, d\)",
    ),
    "a query for all prompts and its pair": (
        lambda: plain(antithetic)(Prompts(torch.ones(5, 2, 3), torch.ones(5, 2), torch.ones(3), torch.ones(5))),
        r"shapes \(5, 2, 3\), \(5, 2\), \(3,\), \(5,\): expand what prompts share",
    ),
    "an answer on an axis of its own": (
        lambda: risk(lambda batch: batch.y_query[:, None, None], LAW, prompts=4, length=1, seed=0, name="a"),
        "take the last axis off",
    ),
    **{
        f"prompts of shape {shape}": (lambda shape=shape: draw_plainly(shape, 2), r": give a tuple, such as \(1000,\)")
        for shape in (3, (-1,), (2.0,))
    },
    "a broken number of examples": (lambda: draw_plainly((3,), 2.0), "prompts of 2.0 examples: draw 0 or more"),
    "queries of more dimensions": (
        lambda: plain(QueryShift.sample)(
            SimpleNamespace(covariance=EYE, query_covariance=torch.eye(4), w=EYE[0]), None, (1,), 2
        ),
        r"w of shape \(3,\) in torch.float32: give \(4,\)",
    ),
    "a broken number of prompts": (
        lambda: plain(chunks)(2.5, 2),
        "2.5 prompts: draw at least one, a whole number",
    ),
    "prompts of no length": (lambda: chunks(5, 0), "a prompt counts as 0 examples"),
    "an array and its angle": (lambda: plain(cosine)(np.ones(2), torch.ones(2)), "vectors are ndarray and Tensor"),
    "a slope over a table": (
        lambda: plain(log_log_slope)(np.array([[1.0, 2.0], [1.0, 2.0]]), np.ones(2)),
        r"have the shapes \(2, 2\) and \(2,\): give \(n,\) and \(..., n\)",
    ),
    "a slope through 0": (
        lambda: log_log_slope(np.array([1.0, 2.0]), np.array([1.0, 0.0])),
        "has no logarithm: give y above 0",
    ),
    "a slope without end": (lambda: log_log_slope(np.array([1.0, np.inf]), np.ones(2)), "all above 0 and finite"),
    "two weights of one name": (
        lambda: plain(Block.shapes.fget)(SimpleNamespace(joint=MLP(1, (2,), 1, "relu"), feed_forward=MLP(1, (2,), 1, "relu"))),
        r"both parts have weights \[.*'W_out'.*\]: rename one",
    ),
    "a task in a column": (
        lambda: plain(LinearLabels.sample)(SimpleNamespace(covariance=EYE, w=torch.ones(3, 1)), None, (1,), 2),
        r"w of shape \(3, 1\) in torch.float32: give \(3,\) in torch.float32",
    ),
    "a task of another type": (
        lambda: plain(CubicLabels.sample)(SimpleNamespace(covariance=EYE, v=torch.ones(3, dtype=torch.float64)), None, (1,), 2),
        r"in torch.float64: give \(3,\) in torch.float32",
    ),
    "whole numbers": (lambda: plain(mean)(torch.arange(3)), "samples are Tensor torch.int64: give floats"),
    "an array": (lambda: plain(mean)(torch.ones(3).numpy()), "samples are ndarray float32: give floats"),
    "samples with gradients": (lambda: mean(torch.ones(3, requires_grad=True)), r"give samples.detach\(\)"),
    "predictions in a column": (
        lambda: risk(lambda read: read.y_query[:, None], LAW, prompts=4, length=2, seed=0, name="a"),
        r"a model gives no \(..., 4\) for 4 prompts",
    ),
    "inputs without an axis of entries": (
        lambda: Ridge(1.0)(Prompts(torch.ones(4), torch.ones(4), torch.ones(1), torch.ones(()))),
        r"x has shape \(4,\): give examples and entries",
    ),
    "a task that is a list": (lambda: refuse(*plain(undrawn)((4,), 2, EYE, w=[1.0, 0.0, 0.0])), "w is a list: give a tensor"),
    "an MLP of other outputs": (
        lambda: Block(NoSkip(LinearAttention(2, 1, 1)), MLP(2, (3,), 1, "relu")).feed({}, State(EYE[:2], EYE[:2])),
        "the MLP gives 1 entries for tokens of 3: give as many",
    ),
    **{
        f"a norm below 0, {type(norm).__name__}": (
            lambda norm=norm: norm({"m_a": EYE[0], "b_a": EYE[0]}, "a", EYE),
            "epsilon is -0.5: give a number of at least 0",
        )
        for norm in (LayerNorm(-0.5), RMSNorm(-0.5))
    },
    "a penalty without end": (lambda: Ridge(float("inf"))(prompts()), "Zero predicts its limit"),
    **{
        f"noise of {noise}, {law.func.__name__}": (
            lambda law=law, noise=noise: law(noise).sample(torch.Generator(), (1,), 2),
            f"noise_sd is {noise}: give 0 or more",
        )
        for law in (partial(LinearLabels, EYE, EYE[0]), partial(NoisyContext, 2))
        for noise in (float("nan"), float("inf"), -1.0)
    },
    "labels of another type": (
        lambda: plain(embed)(prompts()._replace(y=torch.ones(1, 4).double())),
        "are torch.float32, torch.float64 and torch.float32: give all three in one",
    ),
    **{
        f"weights of another type, {PV}, {KQ}": (
            lambda PV=PV, KQ=KQ: LinearSelfAttention(EYE.to(PV), EYE.to(KQ))(prompts()),
            f"prompts are torch.float32 and weights {PV} and {KQ}: give all in one",
        )
        for PV, KQ in ((torch.float32, torch.float64), (torch.float64, torch.float32))
    },
    "one prompt alone": (
        lambda: plain(LinearSelfAttention.__call__)(MODEL, Prompts(EYE[:, :2], EYE[0], EYE[0, :2], torch.tensor(0.0))),
        r"a single prompt, x of shape \(3, 2\): give a batch",
    ),
    "labels of the queries in a column": (
        lambda: risk(Zero(), SimpleNamespace(sample=columns), prompts=4, length=2, seed=0, name="a"),
        r"y_query has shape \(4, 1\): draw one label a prompt",
    ),
    "numbers that NumPy lacks": (lambda: mean(torch.ones(3, dtype=torch.bfloat16)), "bfloat16: give floats that NumPy has"),
    "a mask of NumPy's": (lambda: plain(without)(torch.ones(3, 1), np.array([True, False])), "give whole numbers, no mask"),
    "a covariance of no entries": (lambda: covariance_root(torch.ones(0, 0)), r"has shape \(0, 0\): give \(d, d\)"),
    "a covariance of 16 bits": (lambda: covariance_root(EYE.half()), "has no root in torch: give float32 or float64"),
    **{
        f"a square of 16 bits, {size}": (
            lambda size=size: rank_one(torch.ones(2).half(), torch.full((2,), size).half()),
            "beyond what torch.float16 holds with all its digits",
        )
        for size in (1e-3, 300.0)
    },
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_in_one_sentence(what):
    attempt, sentence = REFUSED[what]
    with pytest.raises(ValueError, match=sentence):
        attempt()
