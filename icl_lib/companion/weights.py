"""Trained weights on disk, as safetensors."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from icl_lib.companion import book, bounds, content, digests, identity, origins, results, writing
from icl_lib.typed import refuse

TRAINING_SEED = ContextVar("TRAINING_SEED", default=0)
"""The seed of the trainings whose weights are shipped; the seed of a run draws what they are evaluated on."""

Weights = dict[str, torch.Tensor]


# --- files --------------------------------------------------------------------------------------------------------


def write(tensors: Weights, origin: Mapping[str, str], path: Path) -> None:
    """Write tensors with where they come from, and with the digest of both, as safetensors, atomically."""
    half = [name for name, tensor in tensors.items() if tensor.dtype == torch.bfloat16]
    refuse(bool(half), f"bfloat16 is not written: give tensor.float() of {', '.join(half)}")
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}  # some may be tied
    sealed = {**origin, content.NAME: _digest(plain, origin)}
    encoded = safetensors.torch.save(plain, metadata=sealed)
    writing.write_atomically(path, lambda file: file.write_bytes(encoded))


def read(path: Path) -> tuple[Weights, dict[str, str]]:
    """Return tensors and where they come from; raises one of ``bounds.DAMAGED`` when they are not as written."""
    with safetensors.safe_open(path, framework="torch") as file:
        origin, tensors = file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if origin.pop(content.NAME, None) != _digest(tensors, origin):
        raise bounds.BadFile("was changed after it was written")
    return tensors, origin


def _digest(tensors: Weights, origin: Mapping[str, str]) -> str:
    return content.of_tensors({name: tensor.numpy() for name, tensor in tensors.items()}, origin)


def save_weights(weights: Weights, origin: dict[str, str], path: Path) -> None:
    """Write weights in float32 with their provenance, atomically."""
    write({name: weight.float() for name, weight in weights.items()}, origin, path)


def tensors_digest(tensors: Weights) -> str:
    """Return a digest of names, shapes and numbers alone; it is part of the identity of what reads them."""
    arrays = ((name, tensors[name].numpy()) for name in sorted(tensors))
    return digests.of_bytes(*(f"{name} {values.dtype} {values.shape}".encode() + values.tobytes() for name, values in arrays))


def attributes(path: Path) -> dict[str, str] | None:
    """Return the provenance of a file of weights, or None when it is missing or damaged.

    Once the number 2 in the file is changed to 0, the file is damaged:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torch
    >>> from icl_lib.companion.weights import attributes, write
    >>> with TemporaryDirectory() as folder:
    ...     write({"w": torch.tensor([1.0, 2.0])}, {"seed": "0"}, path := Path(folder, "toy.safetensors"))
    ...     print(attributes(path))
    ...     _ = path.write_bytes(path.read_bytes()[:-4] + bytes(4))
    ...     print(attributes(path))
    {'seed': '0'}
    None
    """
    try:
        return read(path)[1]
    except bounds.DAMAGED:
        return None


def outdated(path: Path, declaration, seed: int) -> str | None:
    """Return why a file does not hold the weights of a declared training, or None when it does."""
    home = book.of(declaration)
    try:
        with results.sound(path, home):
            found = read(path)[1]
    except results.StaleResult as error:
        return str(error)
    return results.difference(found, origins.origin(declaration, seed, found.get("device", "cpu")), path, home)


def load_weights(path: Path, declaration, seed: int) -> Weights | None:
    """Return stored weights, or None when there are none or this declaration and code did not make them.

    The versions of packages may be others.

    Raises Damaged when they are not as written.
    """
    if not path.exists():
        return None
    with results.sound(path, home := book.of(declaration)):
        found, origin = read(path)
    made_with = origin.get("versions")
    wanted = origins.origin(declaration, seed, origin.get("device", "cpu"), made_with=made_with)
    if results.difference(origin, wanted, path, home):
        return None
    origins.tell_of_other_versions(made_with, declaration)
    return found


# --- what is shipped ----------------------------------------------------------------------------------------------


def seed_of(training, seed: int) -> int:
    """Return the seed that a training has in a run of ``seed``: one whose weights are shipped has its own, TRAINING_SEED."""
    return TRAINING_SEED.get() if training.name else seed


def trainings(declaration) -> list[tuple[Any, int]]:
    """Return the named trainings that a run of a declaration reads, each with the number of the run.

    A declaration that reads several trainings of its networks says how many in a field ``runs``; their seeds follow each other.
    """
    named = [part for part in identity.parts(declaration) if hasattr(part, "train") and getattr(part, "name", "")]
    return [(training, run) for training in named for run in range(getattr(declaration, "runs", 1))]


def shipped(declaration) -> dict[str, str]:
    """Return the digests of the shipped weights that a run of a declaration reads, by name; of another seed, that seed.

    Raises Damaged as ``load_weights`` does.
    """
    if own := TRAINING_SEED.get():
        return {training.name: f"trained with seed {own}" for training, _ in trainings(declaration)}
    files = {book.of(training).weights(training.name, run): (training, run) for training, run in trainings(declaration)}
    found = {path.stem: load_weights(path, *made) for path, made in files.items()}
    return {name: tensors_digest(tensors) for name, tensors in found.items() if tensors is not None}


def origin(declaration, seed: int, device: str, made_with: str | None = None) -> dict[str, str]:
    """Return all that determines a result, the weights that it reads among it."""
    return origins.origin(declaration, seed, device, shipped(declaration), made_with)


def obtain_weights(
    name: str, training, seed: int, device: str, make: Callable[[], Weights] | None = None, *, run: int = 0
) -> Weights:
    """Return the shipped weights ``name`` if this training and code made them; else train, or ``make`` those without a name.

    ``training`` is a declaration with a field ``name``, empty where nothing is shipped, and ``train(seed, device)`` -> weights.
    ``run`` counts trainings that differ in their seed alone. What was made is kept under ``_build/weights``, in float32, and
    found there when this training is asked for again, whatever ``make`` is; to ship it, copy it to ``book.weights(name)``.
    """
    own, home = seed_of(training, seed) + run, book.of(training)
    shipped_file = home.weights(name, own)
    if (weights := load_weights(shipped_file, training, own)) is not None:
        return weights
    made_from = results.provenance(name, "weights", origins.origin(training, own, device), home)  # the code as its files are
    kept = home.build / "weights" / f"{made_from['identity'][:24]}.safetensors"
    with suppress(results.Damaged):  # here nothing is lost but time
        if (weights := load_weights(kept, training, own)) is not None:
            return weights
    if training.name:
        why = f"those of seed {own} are not shipped" if TRAINING_SEED.get() else outdated(shipped_file, training, own)
        ship = "" if home.command else f" It is kept as {kept}; copied to {shipped_file} it is shipped."
        print(f"Training {name}, which may take minutes, for {why}.{ship}", file=sys.stderr, flush=True)
    save_weights(make() if make and not training.name else training.train(own, device), made_from, kept)
    return read(kept)[0]
