"""The training of decoders: against the plain loop, and against what the device could do."""

from collections.abc import Iterator
from functools import partial

from papers.engine.bench.scale import Scale
from papers.engine.bench.table import Row, comparison
from papers.engine.reference import AVAILABLE, installed
from papers.engine.roofline import plain_laps
from papers.engine.sizes import Size, count_step, engine_laps
from papers.engine.speed import alternating, copy_rate, product_rate
from papers.engine.theory import operations as theory

STEPS_OF_A_MODEL = 500_000
"""Steps of training at the scale of the literature."""


def loop(device: str, scale: Scale) -> Iterator[Row]:
    """Seconds of a step of the plain loop and of ours, one model, at every size."""
    if not installed():
        yield {"what": f"plain loop: left out, {AVAILABLE} is not installed (pip install {AVAILABLE})"}
    for size in scale.sizes:
        contenders = {"plain": partial(plain_laps, size, scale.laps, 0, device)} if installed() else {}
        ours = partial(engine_laps, size, 1, scale.laps, 0, device)
        found = alternating(contenders | {"ours": ours}, scale.repeats)
        yield {"what": f"training, {size.name}: ours", "steps_per_second": 1 / found["ours"]}
        if installed():
            yield comparison(f"a step, {size.name}: plain loop / ours", found["plain"], found["ours"])


def rates(device: str, scale: Scale) -> Iterator[Row]:
    """Operations a second of a step, of its products alone and of a large product; what the roofline allows."""
    side, products_in = scale.side, "TF32" if device == "cuda" else "float32"
    peak = product_rate([(1, side, side, side)], device, scale.repeats)
    yield {"what": f"matrix product {side} x {side}, {products_in}", "rate": peak}
    bandwidth = copy_rate(scale.copied, device, scale.repeats)
    yield {"what": f"copy of {scale.copied / 2**20:g} MiB, read and written", "bandwidth": bandwidth}
    for size in scale.sizes:
        for models in (1, scale.batch):
            products = product_rate(size.products(models), device, scale.repeats)
            yield step_rate(size, models, device, scale, peak, bandwidth) | {"products_rate": products}


def step_rate(size: Size, models: int, device: str, scale: Scale, peak: float, bandwidth: float) -> Row:
    """Return what a step of some models in one batch reaches, and what the roofline allows it."""
    counts = count_step(size, models, device)
    seconds = alternating({"ours": partial(engine_laps, size, models, scale.laps, 0, device)}, 1)["ours"]
    intensity, rate = counts.operations / counts.traffic, counts.operations / seconds
    return {
        "what": f"a step, {size.name}, models in one batch: {models}",
        "seconds": seconds,
        f"hours_a_model_of_{STEPS_OF_A_MODEL}_steps": STEPS_OF_A_MODEL * seconds / models / 3600,
        "rate": rate,
        "share_of_product": rate / peak,
        "operations_a_byte": intensity,
        "roof_rate": theory.attainable(peak, bandwidth, intensity),
    }
