"""A small checkout whose `renew`, `train` and `sweep` are the real ones: the library, and one wing with one room of toys."""

import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EVERY = 5
"""Steps between checkpoints of a training."""

WING = """
from icl_lib.companion import Paper

PAPER = Paper(key="toys", letters=("T",), authors="A", title="T", arXiv="0000.00000")
"""
ROOM = """
import time
from dataclasses import dataclass

import xarray as xr

from icl_lib.companion import Declaration, Experiment, variable
from icl_lib.seeds import stream
from papers.regression.curriculum import Ramp
from papers.regression.decoders import DecoderTraining, trained

NETWORK = DecoderTraining(
    "toy-network", layers=1, heads=2, width=16, d=2, N=6, law="fixed", sparsity=2, room=9, dims=Ramp(1, 2, 1, 10),
    points=Ramp(3, 7, 2, 15), B=16, rate=3e-3, steps=40, replicates=2,
)
TRAININGS = (NETWORK,)


@dataclass(frozen=True)
class Line(Declaration):
    scale: float

    def run(self, seed, device):
        time.sleep(0.1)
        draws = self.scale * stream(seed, "toy").initial_seed() % 1000 + xr.DataArray(range(40)).values
        return xr.Dataset({"x": variable("n", draws, "a line")})


@dataclass(frozen=True)
class Reading(Declaration):
    network: DecoderTraining

    def run(self, seed, device):
        weights = trained(self.network, seed, device).weights
        return xr.Dataset({"sums": variable("n", [float(weights[name].sum()) for name in sorted(weights)], "sums")})


SCALE = 2.0
PLAIN = Experiment("toy-plain", "A line", quick=Line(1.0), full=Line(SCALE))
READING = Experiment("toy-reading", "Sums", quick=Reading(NETWORK), full=Reading(NETWORK))
"""
ROOM_FILE = Path("papers", "toys", "s1_lines", "lines.py")


def packages(*wings: str) -> str:
    """Return the source of the package of some wings: the real one with these in the place of its own, and no floors."""
    source = (ROOT / "papers" / "__init__.py").read_text(encoding="utf-8")
    source = re.sub(r"^PAPERS = .*$", f"PAPERS = {wings!r}", source, flags=re.MULTILINE)
    return re.sub(r"^FLOORS = .*$", "FLOORS = ()", source, flags=re.MULTILINE)


def write(root: Path, room: str = ROOM) -> None:
    """Write the checkout, in which nothing is stored."""
    no_bytecode = shutil.ignore_patterns("__pycache__", "bench")
    shutil.copytree(ROOT / "icl_lib", root / "icl_lib", ignore=no_bytecode)
    for name in ("regression", "zhang/theory"):
        shutil.copytree(ROOT / "papers" / name, root / "papers" / name, ignore=no_bytecode)
    shutil.copy(ROOT / "papers" / "zhang" / "__init__.py", root / "papers" / "zhang")
    for path in (ROOT / "papers").glob("*.py"):
        shutil.copy(path, root / "papers")
    (root / "papers" / "__init__.py").write_text(packages("toys"))
    decoders = root / "papers" / "regression" / "decoders.py"
    told = decoders.read_text(encoding="utf-8")
    decoders.write_text(told.replace("CHECKPOINT_EVERY = 500", f"CHECKPOINT_EVERY = {EVERY}"), encoding="utf-8")
    (root / ROOM_FILE).parent.mkdir(parents=True)
    (root / ROOM_FILE).write_text(room)
    (root / ROOM_FILE).with_name("__init__.py").touch()
    (root / ROOM_FILE).parents[1].joinpath("__init__.py").write_text(WING)
