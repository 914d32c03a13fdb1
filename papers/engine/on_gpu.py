"""`./run gpu [--minutes 40]`: all that this project asks of a machine with a GPU, in one call.

In this order, each step in a process of its own, what is left of the time for the last:

tests     a step against the one on the CPU, that the host does not wait, and whether a decoder learns
bench     the engine's figures against the plain loop on the same card
roofline  what limits a step there
check     the claims of the experiments that train live, judged on the card
train     two decoders at the scale of the papers, in checkpoints, so that another call goes on

What is through is not done again; ``_build/gpu/steps.json`` says what was, and how long it took.
"""

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from icl_lib import typed
from icl_lib.companion import require_device, writing
from papers import BOOK

OUT = BOOK.build / "gpu"
LIVE = ("li-training", "zhang-flow", "garg-live-training", "dherin-plateau")
PAPER = ("gpt2-paper-fixed-40", "gpt2-paper-random-40")
NOTE = "steps.json"
LONGEST = {"tests": 4, "bench": 10, "roofline": 4, "check": 8}
"""Minutes after which a step is stopped; the last has what is left."""


def steps(device: str, out: Path) -> dict[str, list[str]]:
    """Return the arguments of Python for every step."""
    on = ["--device", device]
    return {
        "tests": [
            "-m",
            "pytest",
            "-q",
            "-k",
            "cuda",
            "tests/icl_lib/test_train.py",
            "tests/papers/regression/test_decoders.py",
        ],
        "bench": ["-m", "papers.engine.bench", *on, "--out", str(out / "bench.json")],
        "roofline": [
            "-m",
            "papers",
            "compute",
            "engine-roofline",
            *on,
            "--profile",
            "full",
            "--out",
            str(out / "engine-roofline.nc"),
        ],
        "check": ["-m", "papers", "check", *LIVE, *on, "--json"],
        "train": ["-m", "papers", "train", *PAPER, *on],
    }


def run(commands: Mapping[str, list[str]], minutes: float, out: Path) -> dict[str, dict]:
    """Run what is not through yet within a time, and return and write what was done: status and seconds by step."""
    out.mkdir(parents=True, exist_ok=True)
    note, end = out / NOTE, time.monotonic() + 60 * minutes
    done = writing.read_json(note, dict) or {}
    for name, command in commands.items():
        left = min(60 * LONGEST.get(name, minutes), end - time.monotonic())
        if done.get(name, {}).get("status") == "done" or left <= 0:
            continue
        print(f"== {name}, at most {left / 60:.0f} minutes", flush=True)
        began = time.monotonic()
        with (out / f"{name}.txt").open("a", encoding="utf-8") as told:
            try:
                code = subprocess.run(
                    [sys.executable, *command], cwd=BOOK.root, stdout=told, stderr=told, timeout=left
                ).returncode
                status = "done" if code == 0 else f"failed with status {code}"
            except subprocess.TimeoutExpired:
                status = "stopped when its time was over"
        done[name] = {"status": status, "seconds": round(time.monotonic() - began, 1)}
        print(f"   {status}, {done[name]['seconds']:.0f} s: {out / told.name}", flush=True)
        writing.write_json(note, done)
    return done


def main(arguments: list[str] | None = None) -> int:
    """Run all steps; 0 when each is through, 1 when one failed or time was over, 2 without the device."""
    options = typed.Parser(prog="./run gpu", description="All that is asked of a GPU.")
    options.add_argument("--minutes", type=float, default=40, help="how long all steps may take together")
    options.add_argument("--device", default="cuda", choices=("cpu", "cuda"), help="cpu tries the steps themselves")
    options.add_argument("--out", type=typed.path, default=OUT)
    asked = options.parse_args(arguments)
    if not asked.minutes > 0:
        options.error("--minutes has to be positive")
    try:
        require_device(asked.device)
    except ValueError as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 2
    print(torch.cuda.get_device_name() if asked.device == "cuda" else "the CPU", flush=True)
    commands = steps(asked.device, asked.out.resolve())
    done = run(commands, asked.minutes, asked.out)
    return 0 if all(done.get(name, {}).get("status") == "done" for name in commands) else 1


if __name__ == "__main__":
    sys.exit(main())
