"""engine-roofline: how fast decoders train, against what the device could do and against a plain loop."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Several, expectation, variable
from papers.engine.one_layer import one_layer_laps
from papers.engine.reference import installed, train_plainly
from papers.engine.sizes import SMALL, STANDARD, TINY, Size, count_step, engine_laps, laps
from papers.engine.speed import Stopwatch, alternating, copy_rate, product_rate


def plain_laps(size: Size, number: int, seed: int, device: str) -> list[float]:
    """Return the seconds of a step of the plain loop in a number of laps."""

    def run(steps: int, watch: Stopwatch) -> None:
        train_plainly(size.training(1, steps), seed, device, watch)

    return laps(run, size.every, number, device)


@dataclass(frozen=True)
class Roofline(Declaration):
    """Steps at some ``sizes``, of one model and of ``models`` as one batch, and of a plain loop.

    models          decoders trained as one batch
    together        one-layer models trained as one batch
    laps, repeats   laps of a run; rounds in which the contenders take turns
    side, copied    rows of the square matrices and bytes of the copy that give the device's limits
    """

    sizes: Several[Size]
    models: AtLeastTwo
    together: AtLeastTwo
    laps: Count
    repeats: Count
    side: Count
    copied: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure; the numbers of operations and bytes are exact, the times are of the machine that runs this."""
        per_size = [self.at(size, seed, device) for size in self.sizes]
        one_layer = self.one_layer(seed, device)
        dataset = xr.concat(per_size, "size", coords="minimal", compat="override")
        dataset = dataset.assign(
            peak=variable("", self.peak(device), "rate of a large matrix product", "1/s"),
            bandwidth=variable("", copy_rate(self.copied, device, 5), "bytes read and written in a large copy", "B/s"),
            one_layer_seconds=variable("layout", one_layer, f"a step of {self.together} one-layer models", "s"),
            threads=variable("", torch.get_num_threads(), "threads of the process"),
        )
        names = [size.name for size in self.sizes]
        return dataset.assign_coords(size=names, models=[1, self.models], layout=["apart", "together"])

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the operations by the formula beside those counted."""
        operations = [[size.operations(models) for models in (1, self.models)] for size in self.sizes]
        return dataset.assign(operations_theory=variable("size models", operations, "operations of a step, formula"))

    def peak(self, device: str) -> float:
        """Return the rate of a large square product."""
        return product_rate([(1, self.side, self.side, self.side)], device, 5)

    def at(self, size: Size, seed: int, device: str) -> xr.Dataset:
        """Return what was counted and measured at one size."""
        batches = (1, self.models)
        counts = [count_step(size, models, device) for models in batches]
        seconds = self.seconds(size, seed, device)
        products = [product_rate(size.products(models), device, 3) for models in batches]
        return xr.Dataset(
            {
                "operations": variable("models", [each.operations for each in counts], "operations of a step, counted"),
                "traffic": variable("models", [each.traffic for each in counts], "bytes read and written in a step", "B"),
                "kept": variable("models", [each.kept for each in counts], "bytes kept for the backward pass", "B"),
                "seconds": variable("models", [seconds["alone"], seconds["batch"]], "time of a step", "s"),
                "products_rate": variable("models", products, "rate of the four products of a block", "1/s"),
                "plain_seconds": variable("", seconds.get("plain", np.nan), "time of a step of the plain loop", "s"),
            }
        )

    def seconds(self, size: Size, seed: int, device: str) -> dict[str, float]:
        """Return the median seconds of a step: of one model, of the batch, and of the plain loop where it can run."""
        contenders = {
            "alone": partial(engine_laps, size, 1, self.laps, seed, device),
            "batch": partial(engine_laps, size, self.models, self.laps, seed, device),
        }
        if installed():
            contenders["plain"] = partial(plain_laps, size, self.laps, seed, device)
        return alternating(contenders, self.repeats)

    def one_layer(self, seed: int, device: str) -> list[float]:
        """Return the seconds of a step of all one-layer models, one after the other and as one batch."""
        contenders = {
            "apart": partial(one_layer_laps, 1, self.laps, seed, device),
            "together": partial(one_layer_laps, self.together, self.laps, seed, device),
        }
        found = alternating(contenders, self.repeats)
        return [self.together * found["apart"], found["together"]]


_QUICK = Roofline(sizes=(replace(TINY, every=1),), models=4, together=16, laps=1, repeats=1, side=1024, copied=2**26)
ENGINE_ROOFLINE = Experiment(
    slug="engine-roofline",
    title="The speed of training",
    section="",
    quick=_QUICK,
    full=replace(_QUICK, sizes=(TINY, SMALL, STANDARD), laps=2, repeats=2, side=4096, copied=2**28),
)
