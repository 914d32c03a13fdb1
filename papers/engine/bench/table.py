"""Rows of the benchmark: numbers by name, printed and written as JSON."""

import json
import platform
from pathlib import Path

import numpy as np
import torch

from icl_lib.companion import writing
from papers.engine.bench.scale import Scale

Row = dict[str, str | float]
"""``what`` was measured, and its numbers."""
MULTIPLES = {"bytes": (1e6, "MB"), "rate": (1e9, "10^9/s"), "bandwidth": (1e9, "GB/s"), "seconds": (1.0, "s")}
"""How a number is shown, by the last word of its name."""


def comparison(what: str, slow: float, fast: float) -> Row:
    """Return the seconds of two contenders and their ratio."""
    return {"what": what, "seconds": slow, "against_seconds": fast, "ratio": slow / fast}


def shown(row: Row) -> str:
    """Return a row as one line."""
    return "  ".join([f"{row['what']:58}", *(_number(name, value) for name, value in row.items() if name != "what")]).rstrip()


def _number(name: str, value: float) -> str:
    factor, unit = MULTIPLES.get(name.rpartition("_")[2], (1.0, ""))
    label = name.replace("_", " ").removesuffix(" seconds").removesuffix(" bytes")
    return f"{label} {value / factor:.4g} {unit}".rstrip()


def as_json(rows: list[Row], device: str, scale: Scale) -> str:
    """Return all rows with the machine they were measured on, in so far as it is known."""
    machine = {
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "repeats": scale.repeats,
    }
    return json.dumps({"machine": machine, "rows": rows}, indent=2)


def write(rows: list[Row], device: str, scale: Scale, path: Path) -> None:
    """Write all rows as JSON, atomically."""
    text = as_json(rows, device, scale)
    writing.write_atomically(path, lambda file: file.write_text(text))
