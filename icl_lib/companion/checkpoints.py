"""Unfinished training runs on disk: tensors as safetensors, all else as JSON in their header; nothing in a file is code."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from icl_lib.companion import book, bounds, origins, weights, writing


@dataclass(frozen=True)
class Checkpoint:
    """The state of one training run in one file, named after all that determines the run.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torch
    >>> from icl_lib.companion import Checkpoint
    >>> with TemporaryDirectory() as folder:
    ...     Checkpoint(Path(folder, "run.safetensors"), every=10).save({"step": 10, "parameters": {"w": torch.ones(2)}})
    ...     state = Checkpoint(Path(folder, "run.safetensors"), every=10).load()
    >>> state["step"], state["parameters"]["w"].tolist()
    (10, [1.0, 1.0])
    """

    path: Path
    every: int

    def __post_init__(self):
        if self.every < 1:
            raise ValueError(f"a checkpoint every {self.every} steps: save it every 1 or more")

    @classmethod
    def of(cls, declaration, seed: int, device: str, every: int) -> "Checkpoint":
        """Return the checkpoint of a declared run; another identity gives another file."""
        run = origins.origin(declaration, seed, device)["identity"]
        return cls(book.of(declaration).build / "checkpoints" / f"{run[:24]}.safetensors", every)

    def load(self) -> dict | None:
        """Return the stored state, or None when there is none or the file is damaged (the run then starts anew)."""
        try:
            tensors, origin = weights.read(self.path)
            return _grown(json.loads(origin["tree"]), tensors)
        except FileNotFoundError:
            return None
        except bounds.DAMAGED as error:
            why = f" (it {error})" if isinstance(error, bounds.BadFile) else ""
            warnings.warn(f"checkpoint {self.path.name} is damaged{why}: the run starts anew", stacklevel=2)
            return None

    def save(self, state: Mapping[str, Any]) -> None:
        """Store a state, atomically: nested mappings of tensors, numbers and None."""
        tensors: dict[str, torch.Tensor] = {}
        tree = json.dumps(_cut(state, "", tensors))
        weights.write(tensors, {"tree": tree}, self.path)

    def remove(self) -> None:
        """Forget the run: it is finished."""
        self.path.unlink(missing_ok=True)
        writing.remove_abandoned(self.path)


def _cut(state: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    """Return a state as JSON has it, a list in the place of every tensor: its name, its device, its strides."""
    if isinstance(state, Mapping):
        if wrong := [key for key in state if not isinstance(key, str)]:
            raise TypeError(f"{wrong[0]!r} names a part of {name or 'the state'} of a training run: take texts as names")
        return {key: _cut(value, f"{name}/{key}", tensors) for key, value in state.items()}
    if isinstance(state, torch.Tensor):
        kept = f"{len(tensors)}{name}"  # a name of a state may have a slash in it
        tensors[kept] = state.detach()
        return [kept, str(state.device), torch.empty_like(state).stride()]
    if state is None or isinstance(state, int | float):
        return state
    raise TypeError(f"{name} of a training run is a {type(state).__name__}: take tensors, numbers and None")


def _grown(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """Return the state that ``_cut`` was given, to the bit and with the same order in memory, on which sums depend."""
    if isinstance(tree, dict):
        return {key: _grown(value, tensors) for key, value in tree.items()}
    if isinstance(tree, list):
        name, device, stride = tree
        plain = tensors[name]
        return torch.empty_strided(plain.shape, stride, dtype=plain.dtype, device=device).copy_(plain)
    return tree
