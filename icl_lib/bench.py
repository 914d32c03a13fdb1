"""./run bench: what the library's choices save, as a table and as JSON.

Contenders alternate within one run and medians are compared, so that a busy machine slows both.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from icl_lib import registry, results
from icl_lib.experiments.dherin.trained import ManyBlocks
from icl_lib.experiments.experiment import require_device
from icl_lib.experiments.li.trained import A, train_models
from icl_lib.experiments.zhang.spectra import geometric_covariance, stacked_limits
from icl_lib.measure.risk import squared_errors
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.layers import SoftmaxAttention
from icl_lib.models.contextual.weights import start
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.models.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from icl_lib.patches.network import patched_network
from icl_lib.patches.sites import Matrix
from icl_lib.seeds import stream
from icl_lib.tasks import LinearRegression
from icl_lib.tasks.patterns import PatternClassification, Patterns, write
from icl_lib.tasks.prompts import normal
from icl_lib.tasks.task_sets import task_set
from icl_lib.theory.zhang import error
from icl_lib.train import SGD, train

REPEATS = 5


def medians(contenders: dict[str, Callable[[], object]], device: str) -> dict[str, float]:
    """Return the median seconds of each contender over ``REPEATS`` alternating calls, after one warm-up each."""
    times = {name: [] for name in contenders}
    for repeat in range(REPEATS + 1):
        for name, call in contenders.items():
            began = time.perf_counter()
            call()
            if device == "cuda":
                torch.cuda.synchronize()
            if repeat:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def attention(device: str) -> list[dict]:
    """Query row against the full token-by-token matrix, over the prompt length."""
    rows = []
    for N in (20, 100, 400):
        Lambda = geometric_covariance(20, 10.0, 0)
        model = LinearSelfAttention(*(W[0].float().to(device) for W in stacked_limits(Lambda, (N,))))
        law = LinearRegression(torch.tensor(Lambda, dtype=torch.float32, device=device))
        prompts = law.sample(stream(0, "bench", device), (256,), N)
        full = partial(lambda model, prompts: model.tokens(embed(prompts))[..., -1, -1], model, prompts)
        contenders = {"full": full, "row": partial(model, prompts)}
        rows.append(row(f"prediction, N={N}: full matrix / query row", *medians(contenders, device).values()))
    return rows


def replicates(device: str) -> list[dict]:
    """R one-layer models trained one after another against one batch."""
    law = LinearRegression(torch.eye(5, device=device))

    def loss(parameters, prompts):
        return ((LinearSelfAttention(**parameters)(prompts) - prompts.y_query) ** 2).mean()

    def one_batch(R: int) -> None:
        start = {name: torch.full((R, 6, 6), 0.1, device=device) for name in ("W_PV", "W_KQ")}
        train(loss, start, lambda step: law.sample(stream(0, f"{step}", device), (R, 64), 20), SGD(0.01), 20)

    def one_by_one(R: int) -> None:
        for _ in range(R):
            one_batch(1)

    rows = []
    for R in (4, 16, 32):
        contenders = {"apart": partial(one_by_one, R), "batch": partial(one_batch, R)}
        rows.append(row(f"training, R={R} models: one by one / one batch", *medians(contenders, device).values()))
    return rows


def pattern_replicates(device: str) -> list[dict]:
    """Thirty softmax-attention models at the paper's scale trained one after another against one batch."""
    setting = replace(A, T=20)
    train_afresh = train_models.__wrapped__  # the cache would answer the second call
    contenders = {
        "apart": lambda: [train_afresh((setting,), 1, seed, device) for seed in range(30)],
        "batch": lambda: train_afresh((setting,), 30, 0, device),
    }
    return [row("training, 30 softmax-attention models: one by one / batch", *medians(contenders, device).values())]


def columns(device: str) -> list[dict]:
    """Softmax attention on written-out columns against pattern coordinates."""
    setting = A
    sizes = (torch.full((1,), size) for size in (setting.delta, setting.xi))
    weights = initial_weights(stream(0, "bench"), setting.M1 + setting.M2, setting.d_Y, setting.m, *sizes)
    patterns = Patterns(*(rows.float().to(device) for rows in setting.patterns()))
    q, a = setting.label().float().to(device), output_weights(setting.m, torch.float32).to(device)
    model = SoftmaxAttentionMLP(**{name: w[0].to(device) for name, w in weights.items()}, a=a, q=q)
    law = PatternClassification(patterns, task_set("all", setting.M1), setting.alpha, setting.K)
    codes = law.codes(stream(0, "bench", device), (4096,), setting.l)
    contenders = {"columns": lambda: model(write(codes, patterns)), "coordinates": lambda: model.on(patterns)(codes)}
    return [row("4096 pattern prompts: columns / coordinates", *medians(contenders, device).values())]


def contextual(device: str) -> list[dict]:
    """Attention at the query alone, and patches over the positions of a sequence as one batch."""
    layer = SoftmaxAttention(heads=8, head_width=4, inputs=3, outputs=32)
    weights = start(layer.shapes, stream(0, "bench", device), (), torch.zeros(()))
    tokens = normal(stream(0, "tokens", device), (64, 101, 3), torch.zeros(()))
    last = {"all": lambda: layer.everywhere(weights, tokens, torch.arange(101)), "row": lambda: layer(weights, tokens)}
    rows = [row("softmax attention at the query: every row / its row", *medians(last, device).values())]
    network = ManyBlocks(depth=6, d=2, width=48, heads=6, hidden=128).network()
    weights = network.start(stream(0, "network", device), (), torch.zeros(()))
    tokens = network.embed(weights, tokens[0, :40])
    states, _ = network.states(weights, tokens)
    site = Matrix("W_down")
    at = [[State(state.z[None, i : i + 1], state.v[None, i : i + 1]) for state in states] for i in range(40)]
    everywhere = [State(state.z[:, None], state.v[:, None]) for state in states]
    patches = {
        "apart": lambda: [patched_network(network, site, weights, at[i], tokens[None, i : i + 1]) for i in range(40)],
        "together": lambda: patched_network(network, site, weights, everywhere, tokens[:, None]),
    }
    return [*rows, row("patches of 6 blocks at 40 positions: one by one / batch", *medians(patches, device).values())]


def closed_form(device: str) -> list[dict]:
    """e(N, M) in closed form against Monte Carlo to one percent."""
    Lambda = geometric_covariance(20, 10.0, 0)
    model = LinearSelfAttention(*(W[0] for W in stacked_limits(Lambda, (40,))))
    law = LinearRegression(torch.tensor(Lambda))
    sampled = squared_errors(model, law, prompts=4000, length=40, seed=0, name="pilot")
    needed = int((float(sampled.std() / sampled.mean()) / 0.01) ** 2)
    contenders = {
        "sampled": lambda: squared_errors(model, law, prompts=needed, length=40, seed=0, name="bench"),
        "closed": lambda: error.averaged_error(Lambda, 40, 40),
    }
    return [row(f"error to 1%: {needed} prompts / closed form", *medians(contenders, device).values())]


def experiments(device: str) -> list[dict]:
    """Seconds of every experiment's quick run."""
    rows = []
    for experiment in registry.EXPERIMENTS.values():
        seconds = float(experiment.run("quick", 0, device).attrs["seconds"])
        rows.append({"what": f"{experiment.slug}, quick run", "seconds": seconds})
    return rows


def row(what: str, slow: float, fast: float) -> dict:
    """Return one comparison."""
    return {"what": what, "seconds": slow, "against": fast, "ratio": slow / fast}


def main(arguments: list[str] | None = None) -> int:
    """Run every benchmark, print the table, write JSON when asked."""
    parser = argparse.ArgumentParser(prog="./run bench", description="What the library's choices save.")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    try:
        require_device(options.device)
    except ValueError as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 2
    rows = []
    for benchmark in (attention, replicates, pattern_replicates, columns, contextual, closed_form, experiments):
        for line in benchmark(options.device):
            ratio = f"{line['seconds']:10.4f} s {line['against']:10.6f} s {line['ratio']:8.1f}x" if "ratio" in line else ""
            print(f"{line['what']:55} {ratio or format(line['seconds'], '10.2f') + ' s'}", flush=True)
            rows.append(line)
    if options.out:
        machine = {"device": options.device, "torch": torch.__version__, "numpy": np.__version__}
        table = json.dumps({"machine": machine, "rows": rows}, indent=2)
        results.write_atomically(options.out, lambda file: file.write_text(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
