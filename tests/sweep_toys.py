"""Small declarations for the tests of sweeps, in a module that worker processes can import."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Declaration, Experiment, variable
from icl_lib.companion.sweep import Cell
from icl_lib.seeds import stream

DIARY = "ICL_TEST_DIARY"
"""The environment variable that names a file, in which every run says when it starts and ends."""
ONE_DEATH = "dies"


def note(word: str) -> None:
    if DIARY in os.environ:
        with open(os.environ[DIARY], "a") as diary:
            diary.write(f"{word} {os.getpid()}\n")


@dataclass(frozen=True)
class Toy(Declaration):
    """Numbers of every kind a result holds.

    ``ending`` says how the run ends: well, by an error, by its process's death, or by one death, which the diary knows of.
    """

    scale: float
    seconds: float = 0.0
    ending: str = "well"

    def run(self, seed: int, device: str) -> xr.Dataset:
        note("start")
        time.sleep(self.seconds)
        if self.ending == "error":
            raise ZeroDivisionError("this toy always fails")
        if self.ending == "death" or self.ending == "one death" and ONE_DEATH not in Path(os.environ[DIARY]).read_text():
            note(ONE_DEATH)
            os.kill(os.getpid(), signal.SIGKILL)
        draws = self.scale * torch.randn(40, 40, generator=stream(seed, "toy"))
        product = (draws.double() @ draws.double().T).numpy()
        note("end")
        return xr.Dataset(
            {
                "product": variable("i j", product, "a product"),
                "draws": variable("i j", draws.numpy(), "its factor"),
                "count": variable("", (product > 0).sum(), "positive entries"),
                "flag": variable("law", [True, False], "a truth value"),
                "gaps": variable("law", [np.nan, -np.float64(np.nan)], "no numbers"),
            },
            coords={"law": ["one", "another"]},
        )


PLAIN = Experiment("toy-plain", "A toy", quick=Toy(1.0), full=Toy(2.0))
SECOND = Experiment("toy-second", "Another toy", quick=Toy(3.0), full=Toy(4.0))


def cells(count: int, seconds: float = 0.0) -> list[Cell]:
    """Return cells of seeds 0 .. count - 1."""
    return [Cell("toy-plain", "quick", Toy(1.5, seconds), seed) for seed in range(count)]


def entries(diary: Path) -> list[tuple[str, int]]:
    """Return what the runs have said, as (word, process) in order."""
    return [(word, int(process)) for word, process in map(str.split, diary.read_text().splitlines())]


def alike(some: list[xr.Dataset], others: list[xr.Dataset]) -> bool:
    """Say whether datasets are equal to the bit, in order, with all attributes less those of the single run."""
    return len(some) == len(others) and all(map(_identical, some, others))


def _identical(one: xr.Dataset, other: xr.Dataset) -> bool:
    own = ("seconds", "created", "commit")
    one, other = (
        dataset.drop_attrs(deep=False).assign_attrs({k: v for k, v in dataset.attrs.items() if k not in own})
        for dataset in (one, other)
    )
    bits = all(v.dtype.kind not in "biuf" or v.values.tobytes() == other[k].values.tobytes() for k, v in one.variables.items())
    return one.identical(other) and bits
