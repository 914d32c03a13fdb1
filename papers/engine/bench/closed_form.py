"""A formula against the sampling that would find the same number."""

from collections.abc import Iterator

import torch

from icl_lib.measure.risk import squared_errors
from icl_lib.models.linear_attention import LinearSelfAttention
from icl_lib.tasks.regression import LinearRegression
from papers.engine.bench.scale import Scale
from papers.engine.bench.table import Row, comparison
from papers.engine.speed import medians
from papers.regression.spectra import geometric_covariance, stacked_limits
from papers.zhang.theory import error


def closed_form(device: str, scale: Scale) -> Iterator[Row]:
    """e(N, M) in closed form against Monte Carlo with as many prompts as the accuracy needs; both on the CPU."""
    Lambda = geometric_covariance(20, 10.0, 0)
    model = LinearSelfAttention(*(W[0] for W in stacked_limits(Lambda, (40,))))
    law = LinearRegression(torch.tensor(Lambda))
    pilot = squared_errors(model, law, prompts=4000, length=40, seed=0, name="pilot")
    needed = int((float(pilot.std() / pilot.mean()) / scale.accuracy) ** 2)
    contenders = {
        "sampled": lambda: squared_errors(model, law, prompts=needed, length=40, seed=0, name="bench"),
        "closed": lambda: error.averaged_error(Lambda, 40, 40),
    }
    found = medians(contenders, scale.repeats)
    yield comparison(f"error to {scale.accuracy:.0%}: {needed} prompts / closed form", *found.values())
