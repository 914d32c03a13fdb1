"""Trained weights and unfinished training runs on disk."""

import hashlib
import pickle
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from icl_lib.companion import identity, results

WEIGHTS = results.STORE / "weights"
"""Where the committed trained weights live, ``<name>.safetensors``."""
TRAINED = results.BUILD / "weights"
"""Where weights trained on this machine are kept for the next time."""
CHECKPOINTS = results.BUILD / "checkpoints"
"""Where unfinished training runs keep their state."""

TRAINING_SEED = ContextVar("TRAINING_SEED", default=0)
"""The seed of the trainings whose weights are shipped; the seed of a run draws what they are evaluated on."""

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Checkpoint:
    """The state of one training run in one file, named after all that determines the run."""

    path: Path
    every: int

    @classmethod
    def of(cls, declaration, seed: int, device: str, every: int, folder: Path | None = None) -> "Checkpoint":
        """Return the checkpoint of a declared run; another identity gives another file."""
        run = identity.origin(declaration, seed, device)["identity"]
        return cls((folder or CHECKPOINTS) / f"{run[:24]}.pt", every)

    def load(self) -> dict | None:
        """Return the stored state, or None when there is none or the file is damaged (the run then starts anew)."""
        try:
            return torch.load(self.path, weights_only=True)
        except FileNotFoundError:
            return None
        except (OSError, EOFError, RuntimeError, pickle.UnpicklingError):
            warnings.warn(f"checkpoint {self.path.name} is damaged: the run starts anew", stacklevel=2)
            return None

    def save(self, state: dict) -> None:
        """Store a state, atomically."""
        results.write_atomically(self.path, lambda file: torch.save(state, file))

    def remove(self) -> None:
        """Forget the run: it is finished."""
        self.path.unlink(missing_ok=True)


def save_weights(weights: Weights, origin: dict[str, str], path: Path) -> None:
    """Write weights in float32 as safetensors with their provenance, atomically."""
    plain = {name: weight.detach().cpu().float().contiguous() for name, weight in weights.items()}
    encoded = safetensors.torch.save(plain, metadata=origin)
    results.write_atomically(path, lambda file: file.write_bytes(encoded))


def content(path: Path) -> str:
    """Return a digest of the tensors in a file of weights: names, shapes, numbers."""
    digest = hashlib.sha256()
    with safetensors.safe_open(path, framework="numpy") as file:
        for name in sorted(file.keys()):
            tensor = file.get_tensor(name)
            digest.update(f"{name} {tensor.dtype} {tensor.shape}".encode() + tensor.tobytes())
    return digest.hexdigest()


def attributes(path: Path) -> dict[str, str] | None:
    """Return the provenance of a file of weights, or None when it is missing or damaged."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            return file.metadata() or {}
    except (OSError, safetensors.SafetensorError):
        return None


def outdated(path: Path, declaration, seed: int) -> str | None:
    """Return why a file does not hold the weights of a declared training, or None when it does."""
    if (found := attributes(path)) is None:
        return f"{path.name} is missing or damaged: ./run renew {path.stem} trains it"
    return results.difference(found, identity.origin(declaration, seed, found.get("device", "cpu")), path)


def load_weights(path: Path, declaration, seed: int) -> Weights | None:
    """Return stored weights, or None when there are none of this identity."""
    return None if outdated(path, declaration, seed) else safetensors.torch.load_file(path)


def shipped_file(name: str, seed: int) -> Path:
    """Return where the shipped weights of a training lie: those of seed 0 under its name alone."""
    return WEIGHTS / (f"{name}.seed{seed}.safetensors" if seed else f"{name}.safetensors")


def seed_of(training, seed: int) -> int:
    """Return the seed that a training has in a run of ``seed``: one whose weights are shipped has its own, TRAINING_SEED."""
    return TRAINING_SEED.get() if training.name else seed


def trainings(declaration) -> list[tuple[Any, int]]:
    """Return the named trainings that a run of a declaration reads, each with the number of the run.

    A declaration that reads several trainings of its networks says how many in a field ``runs``; their seeds follow each other.
    """
    named = [part for part in identity.parts(declaration) if hasattr(part, "train") and part.name]
    return [(training, run) for training in named for run in range(getattr(declaration, "runs", 1))]


def shipped(declaration) -> dict[str, str]:
    """Return the digests of the shipped weights that a run of a declaration reads, by name; of another seed, that seed."""
    if own := TRAINING_SEED.get():
        return {training.name: f"trained with seed {own}" for training, _ in trainings(declaration)}
    files = {shipped_file(training.name, run): (training, run) for training, run in trainings(declaration)}
    return {path.stem: content(path) for path, made in files.items() if outdated(path, *made) is None}


def origin(declaration, seed: int, device: str) -> dict[str, str]:
    """Return all that determines a result, the weights that it reads among it."""
    return identity.origin(declaration, seed, device, shipped(declaration))


def obtain_weights(
    name: str, training, seed: int, device: str, make: Callable[[], Weights] | None = None, *, run: int = 0
) -> Weights:
    """Return the shipped weights ``name`` if this training and code made them; else train, or ``make`` those without a name.

    ``run`` counts trainings that differ in their seed alone. What was made is kept under ``_build/weights`` and found there
    the next time.
    """
    own = seed_of(training, seed) + run
    if (weights := load_weights(shipped_file(name, own), training, own)) is not None:
        return weights
    made_from = results.provenance(name, "weights", identity.origin(training, own, device))  # the code as it is now
    kept = TRAINED / f"{made_from['identity'][:24]}.safetensors"
    if (weights := load_weights(kept, training, own)) is not None:
        return weights
    save_weights(make() if make and not training.name else training.train(own, device), made_from, kept)
    return safetensors.torch.load_file(kept)
