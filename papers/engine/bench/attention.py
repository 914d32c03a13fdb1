"""Work that a prediction does not need: other rows of attention, written-out columns."""

from collections.abc import Iterator

import torch

from icl_lib.models.contextual.layers import SoftmaxAttention
from icl_lib.models.contextual.weights import start
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from icl_lib.tasks.regression import LinearRegression
from papers.engine.bench.scale import Scale
from papers.engine.bench.table import Row, comparison
from papers.engine.speed import medians
from papers.li.patterns import PatternClassification, Patterns, write
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from papers.li.task_sets import task_set
from papers.li.trained import A
from papers.regression.spectra import geometric_covariance, stacked_limits


def attention(device: str, scale: Scale) -> Iterator[Row]:
    """The row of the query against all rows, over the prompt length; coordinates against columns."""
    for N in scale.lengths:
        yield linear(device, scale, N)
    yield softmax(device, scale)
    yield columns(device, scale)


def linear(device: str, scale: Scale, N: int) -> Row:
    """Linear attention: the full token-by-token matrix against the row of the query."""
    Lambda = geometric_covariance(20, 10.0, 0)
    model = LinearSelfAttention(*(W[0].float().to(device) for W in stacked_limits(Lambda, (N,))))
    law = LinearRegression(torch.tensor(Lambda, dtype=torch.float32, device=device))
    prompts = law.sample(stream(0, "bench", device), (256,), N)
    contenders = {"full": lambda: model.tokens(embed(prompts))[..., -1, -1], "row": lambda: model(prompts)}
    found = medians(contenders, scale.repeats)
    return comparison(f"linear attention, N={N}: full matrix / query row", *found.values())


def softmax(device: str, scale: Scale) -> Row:
    """Softmax attention: every row against the row of the query."""
    layer = SoftmaxAttention(heads=8, head_width=4, inputs=3, outputs=32)
    weights = start(layer.shapes, stream(0, "bench", device), (), torch.zeros(()))
    tokens = normal(stream(0, "tokens", device), (64, 101, 3), torch.zeros(()))
    contenders = {
        "all": lambda: layer.everywhere(weights, tokens, torch.arange(101)),
        "row": lambda: layer(weights, tokens),
    }
    found = medians(contenders, scale.repeats)
    return comparison("softmax attention, 101 tokens: every row / query row", *found.values())


def columns(device: str, scale: Scale) -> Row:
    """Softmax attention on written-out columns against pattern coordinates."""
    setting = A
    sizes = (torch.full((1,), size) for size in (setting.delta, setting.xi))
    weights = initial_weights(stream(0, "bench"), setting.M1 + setting.M2, setting.d_Y, setting.m, *sizes)
    patterns = Patterns(*(rows.float().to(device) for rows in setting.patterns()))
    q, a = setting.label().float().to(device), output_weights(setting.m, torch.float32).to(device)
    model = SoftmaxAttentionMLP(**{name: w[0].to(device) for name, w in weights.items()}, a=a, q=q)
    law = PatternClassification(patterns, task_set("all", setting.M1), setting.alpha, setting.K)
    codes = law.codes(stream(0, "bench", device), (scale.prompts,), setting.l)
    contenders = {"columns": lambda: model(write(codes, patterns)), "coordinates": lambda: model.on(patterns)(codes)}
    found = medians(contenders, scale.repeats)
    return comparison(f"{scale.prompts} pattern prompts: columns / coordinates", *found.values())
