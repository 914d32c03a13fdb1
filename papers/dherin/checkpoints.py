"""A reader's model on disk: what is refused before anything is loaded, what it takes of memory, and how it is read."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import torch

from papers.dherin.model_families import FAMILIES
from papers.dherin.real_models.classes import package

WEIGHTS = "model.safetensors"
BYTES = {"float32": 4, "bfloat16": 2}
MARGIN = 0.9
"""Share of the free memory that may be planned with."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder whose configuration, files and tokenizer were looked at.

    config    the entries of config.json
    numel     numbers in all weights
    inner     numbers in the feed-forward parts, of which copies are kept
    largest   numbers in the feed-forward part of one block
    """

    folder: Path
    config: dict
    numel: int
    inner: int
    largest: int

    def needed(self, dtype: str, passes: int, copies: bool) -> int:
        """Return bytes: weights, copies of what a patch changes, changes of one block in float64, and ``passes`` numbers."""
        size = BYTES[dtype]
        return self.numel * size + copies * (self.inner * size + 3 * 8 * self.largest) + passes * size


def looked_at(folder: Path) -> Checkpoint:
    """Return what is in a folder; raises ValueError in a sentence when it cannot be patched or would not be what it says."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}: name one that holds a model")
    config = _json(folder / "config.json")
    kind = config.get("model_type")
    if any("auto_map" in each for each in (config, _json(folder / "tokenizer_config.json", missing={}))):
        raise ValueError(f"{folder} asks for code of its own (auto_map), and that is not run here")
    if kind not in FAMILIES:
        raise ValueError(f"no seats are known of model_type {kind!r}: it has to be one of {', '.join(FAMILIES)}")
    if config.get("quantization_config") is not None:
        raise ValueError(f"{folder} is quantised, so that a patch cannot be added to its matrices: take the model as it was")
    if config.get("use_bidirectional_attention") or config.get("is_causal") is False:
        raise ValueError(f"{folder} is a model whose tokens see later ones, so that no context stands before a query")
    sizes = {name: size for path in _shards(folder) for name, size in _header(path).items()}
    blocks: dict[str, int] = {}
    for name, size in sizes.items():
        head, found, _ = name.replace(".block_sparse_moe.", ".mlp.").partition(".mlp.")
        if found:
            blocks[head] = blocks.get(head, 0) + size
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        raise ValueError(f"{folder} has no tokenizer: neither tokenizer.json nor tokenizer.model nor vocab.json")
    return Checkpoint(folder, config, sum(sizes.values()), sum(blocks.values()), max(blocks.values(), default=0))


def _json(path: Path, missing: dict | None = None) -> dict:
    if not path.is_file() and missing is not None:
        return missing
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{path} is no JSON") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no JSON object")
    return found


def _shards(folder: Path) -> list[Path]:
    index = folder / f"{WEIGHTS}.index.json"
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if not index.is_file():
        other = "only weights in a format that can bring code" if list(folder.glob("*.bin")) else "no weights"
        raise ValueError(f"{folder} has {other}: {WEIGHTS} is needed, or its shards with {index.name}")
    weight_map = _json(index).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ValueError(f"{index} names no weights")
    paths = [folder / str(name) for name in sorted(set(weight_map.values()))]
    if absent := [path.name for path in paths if not path.is_file()]:
        raise ValueError(f"{folder} lacks {', '.join(absent)}, which {index.name} names")
    return paths


def _header(path: Path) -> dict[str, int]:
    """Return how many numbers each tensor of a file has; the file has to be as long as its header says."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > path.stat().st_size:
                raise ValueError
            entries = {name: entry for name, entry in json.loads(file.read(length)).items() if name != "__metadata__"}
        end = 8 + length + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        if end != path.stat().st_size:
            raise ValueError
        return {name: math.prod(entry["shape"]) for name, entry in entries.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged or was cut off: its length is not what its header says") from error


def free_memory() -> float:
    """Return the bytes that are free, as Linux tells, of the machine or of the container; infinity where nothing tells it."""
    machine, group = _told("/proc/meminfo").get("MemAvailable:", math.inf), _told("/sys/fs/cgroup/memory.stat")
    limit = next(iter(_told("/sys/fs/cgroup/memory.max", name="limit").values()), math.inf)
    return min(1024 * machine, limit - group.get("anon", 0))


def _told(path: str, name: str = "") -> dict[str, float]:
    """Return the lines of a file, each a name and a number; none where there is no such file."""
    try:
        words = [f"{name} {line}".split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return {}
    return {line[0]: float(line[1]) for line in words if len(line) > 1 and line[1].isdigit()}


def config_of(checkpoint: Checkpoint):
    """Return the configuration as its class reads it."""
    return _loaded(checkpoint, "AutoConfig", {})


def tokenizer_of(checkpoint: Checkpoint):
    """Return the folder's tokenizer."""
    return _loaded(checkpoint, "AutoTokenizer", {})


def model_of(checkpoint: Checkpoint, dtype: torch.dtype) -> tuple[torch.nn.Module, list[str]]:
    """Return the model in the mode that evaluates, and the names of stored weights that its class leaves aside.

    Raises ValueError when a weight is missing, which transformers fills with random numbers.
    """
    settings = dict(use_safetensors=True, output_loading_info=True, dtype=dtype)
    model, told = _loaded(checkpoint, "AutoModelForCausalLM", settings)
    absent = sorted(map(str, [*told["missing_keys"], *told["mismatched_keys"]]))
    if absent:
        others = f" and {len(absent) - 1} more" if absent[1:] else ""
        raise ValueError(f"{checkpoint.folder} lacks the weight {absent[0]}{others}: random numbers would stand there")
    return model.eval().requires_grad_(False), sorted(told["unexpected_keys"])


def _loaded(checkpoint: Checkpoint, name: str, settings: dict):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    their = package()
    their.utils.logging.set_verbosity_error()
    their.utils.logging.disable_progress_bar()
    own = dict(local_files_only=True, trust_remote_code=False)
    try:
        return getattr(their, name).from_pretrained(str(checkpoint.folder.resolve()), **own, **settings)
    except Exception as error:  # what a damaged folder raises is of many kinds
        told = " ".join(str(error).split())[:160]
        raise ValueError(f"{checkpoint.folder} cannot be read by {name} ({type(error).__name__}): {told}") from error
