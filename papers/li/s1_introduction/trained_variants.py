"""The trainings of li-nonlinearity: one variant of the network, every step size and seed as one batch."""

from dataclasses import replace

import torch
from torch import Tensor

from icl_lib.seeds import stream
from icl_lib.train.loop import train
from icl_lib.train.optimizers import SGD, Parameters
from papers.li.classification import hinge
from papers.li.patterns import PatternClassification, Patterns
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from papers.li.softmax_attention_variants import variant
from papers.li.task_sets import task_set
from papers.li.trained import Setting, Trained


def train_variant(
    name: str, setting: Setting, eta: tuple[float, ...], seeds: int, seed: int, device: str
) -> tuple[Trained, ...]:
    """Train ``seeds`` models of a variant with every step size as one batch, on the draws that every variant sees."""
    law = setting.law(task_set(setting.tasks, setting.M1), setting.alpha)
    law = PatternClassification(Patterns(*(rows.float().to(device) for rows in law.patterns)), law.tasks, law.alpha, law.K)
    a, q = (part.float().to(device) for part in (output_weights(setting.m), setting.label()))
    rates = torch.tensor(eta, device=device).repeat_interleave(seeds)
    replicates = len(rates)
    delta, xi = (torch.full((replicates,), number, device=device) for number in (setting.delta, setting.xi))
    start = initial_weights(stream(seed, "weights", device), setting.M1 + setting.M2, setting.d_Y, setting.m, delta, xi)

    def loss(parameters: Parameters, codes) -> Tensor:
        model = SoftmaxAttentionMLP(**parameters, a=a, q=q)
        return hinge(codes.y[..., -1] * variant(name, model, law.patterns)(codes)).mean()

    def draw(step: int):
        return law.codes(stream(seed, f"data/{step}", device), (replicates, setting.B), setting.l)

    run = train(loss, start, draw, SGD(rates), setting.T)
    parts = [slice(k * seeds, (k + 1) * seeds) for k in range(len(eta))]
    weights = {key: value.detach().cpu().double() for key, value in run.parameters.items()}
    return tuple(
        Trained(replace(setting, eta=step), {k: v[part] for k, v in weights.items()}, run.losses[:, part].cpu().double())
        for step, part in zip(eta, parts, strict=True)
    )
