"""How the time and the memory of a training step grow, one number at a time."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch

from papers.engine.bench.scale import Scale
from papers.engine.bench.table import Row
from papers.engine.sizes import Size, count_step, engine_laps
from papers.engine.speed import alternating


def growth(device: str, scale: Scale) -> Iterator[Row]:
    """A step of the first size with other numbers of examples, entries, models and layers."""
    base, (examples, entries, models, layers) = scale.sizes[0], scale.growth
    settings = [
        *((f"N={N}", replace(base, N=N), 1) for N in examples),
        *((f"d={d}", replace(base, d=d), 1) for d in entries),
        *((f"seeds={S}", base, S) for S in models),
        *((f"layers={L}", replace(base, layers=L), 1) for L in layers),
    ]
    for name, size, number in settings:
        yield {"what": f"a step, {base.name} with {name}"} | cost(size, number, device, scale)


def cost(size: Size, models: int, device: str, scale: Scale) -> Row:
    """Return the seconds of a step, the bytes it keeps for the backward pass, and on CUDA the most that were in use."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    found = alternating({"step": partial(engine_laps, size, models, scale.laps, 0, device)}, scale.repeats)
    row = {"seconds": found["step"], "kept_bytes": count_step(size, models, device).kept}
    return row | ({"most_bytes": torch.cuda.max_memory_allocated()} if device == "cuda" else {})
