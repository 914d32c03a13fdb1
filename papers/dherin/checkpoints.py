"""A reader's model on disk: what is refused before anything is loaded, what it takes of memory, and how it is read."""

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch

from papers.dherin.model_families import FAMILIES
from papers.dherin.transformers_models import package

WEIGHTS = "model.safetensors"
BYTES = {"float32": 4, "bfloat16": 2}
MARGIN = 0.8
"""Share of the free memory that may be planned with; in bfloat16 a small model took a sixth more than was planned."""
LARGEST = 100 * 10**6
"""Bytes of a text and of a file of JSON."""
FLOATS = ("F64", "F32", "F16", "BF16")


@dataclass(frozen=True)
class Checkpoint:
    """A folder whose configuration, files and tokenizer were looked at.

    config    the entries of config.json
    numel     numbers in all weights
    blocks    how many have a feed-forward part
    inner     numbers in the feed-forward parts, of which copies are kept
    largest   numbers in the feed-forward part of one block
    """

    folder: Path
    config: dict
    numel: int
    blocks: int
    inner: int
    largest: int

    def needed(self, dtype: str, passes: int, copies: bool) -> int:
        """Return bytes: weights, copies of what a patch changes, changes of one block in float64, and ``passes`` numbers."""
        size = BYTES[dtype]
        return self.numel * size + copies * (self.inner * size + 3 * 8 * self.largest) + passes * size


def looked_at(folder: Path) -> Checkpoint:
    """Return what is in a folder; raises ValueError in a sentence when it cannot be patched or would not be what it says."""
    try:
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder}: name one that holds a model")
        config = _json(folder / "config.json")
        _require_patchable(folder, config)
        sizes = {name: size for path in _shards(folder) for name, size in _header(path).items()}
        tokenizers = ("tokenizer.json", "tokenizer.model", "vocab.json")
        if not any((folder / name).is_file() for name in tokenizers):
            raise ValueError(f"{folder} has no tokenizer: neither {' nor '.join(tokenizers)}")
    except OSError as error:
        raise ValueError(f"{error.filename or folder} cannot be read: {error.strerror}") from error
    blocks: dict[str, int] = {}
    for name, size in sizes.items():
        head, found, _ = name.replace(".block_sparse_moe.", ".mlp.").partition(".mlp.")
        if found:
            blocks[head] = blocks.get(head, 0) + size
    inner, largest = sum(blocks.values()), max(blocks.values(), default=0)
    return Checkpoint(folder, config, sum(sizes.values()), len(blocks), inner, largest)


def _require_patchable(folder: Path, config: dict) -> None:
    kind, made_for = config.get("model_type"), config.get("architectures")
    if any("auto_map" in each for each in (config, _json(folder / "tokenizer_config.json", missing={}))):
        raise ValueError(f"{folder} asks for code of its own (auto_map), and that is not run here")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ValueError(f"no seats are known of model_type {kind!r}: it has to be one of {', '.join(FAMILIES)}")
    for name in made_for if isinstance(made_for, list) else []:
        if "For" in str(name) and "ForCausalLM" not in str(name):
            raise ValueError(f"{folder} is a {name!r}, which does not say the next token: take a model that does")
    if any(config.get(name) is not None for name in ("quantization_config", "compression_config")):
        raise ValueError(f"{folder} is quantised, so that a patch cannot be added to its matrices: take the model as it was")
    if config.get("use_bidirectional_attention") or config.get("is_causal") is False:
        raise ValueError(f"{folder} is a model whose tokens see later ones, so that no context stands before a query")
    if "transformers_weights" in config or (folder / "adapter_config.json").exists():
        raise ValueError(f"{folder} takes weights from elsewhere, as of an adapter: take a model that has all in {WEIGHTS}")


def _json(path: Path, missing: dict | None = None) -> dict:
    if not path.exists() and missing is not None:
        return missing
    if path.stat().st_size > LARGEST or not path.is_file():
        raise ValueError(f"{path} is no file, or larger than the {LARGEST / 1e6:.0f} MB that are read")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
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
    names = sorted(set(map(str, weight_map.values())))
    if strange := [name for name in names if Path(name).name != name or not name.endswith(".safetensors")]:
        raise ValueError(f"{index} names {strange[0]!r}, which is no safetensors file in its folder")
    if absent := [name for name in names if not (folder / name).is_file()]:
        raise ValueError(f"{folder} lacks {', '.join(absent)}, which {index.name} names")
    return [folder / name for name in names]


def _header(path: Path) -> dict[str, int]:
    """Return how many numbers each tensor of a file has, of which no number is read."""
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
            kinds = {name: tensor.get_dtype() for name, tensor in tensors.items()}
            sizes = {name: math.prod(tensor.get_shape()) for name, tensor in tensors.items()}
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is damaged, cut off or of another kind: {error}") from error
    for name, kind in kinds.items():
        if kind not in FLOATS and name.endswith(("weight", "_proj")):
            raise ValueError(f"{path} holds {name!r} in {kind}, as quantised models do: take the model as it was")
    return sizes


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
    """Return the configuration as its class reads it; raises ValueError when it has other blocks than the weights."""
    config = _loaded(checkpoint, "AutoConfig", {})
    if config.num_hidden_layers != checkpoint.blocks:
        raise ValueError(
            f"{checkpoint.folder} has weights for {checkpoint.blocks} blocks, and config.json asks for "
            f"{config.num_hidden_layers}: they do not belong together"
        )
    return config


def declared(config) -> int:
    """Return how many numbers a model of this configuration has, from its class, without room for any of them."""
    try:
        with torch.device("meta"):
            model = package().AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    except Exception as error:
        raise ValueError(f"config.json asks for what its class cannot be ({type(error).__name__}): {short(error)}") from error
    return sum(weight.numel() for weight in model.parameters())


def tokenizer_of(checkpoint: Checkpoint):
    """Return the folder's tokenizer."""
    return _loaded(checkpoint, "AutoTokenizer", {})


def model_of(checkpoint: Checkpoint, dtype: torch.dtype) -> tuple[torch.nn.Module, list[str]]:
    """Return the model in the mode that evaluates, and the names of stored weights that its class leaves aside.

    Raises ValueError when a weight is missing or of another shape, where transformers puts random numbers.
    """
    settings = dict(use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True, dtype=dtype)
    model, told = _loaded(checkpoint, "AutoModelForCausalLM", settings)
    if other := sorted(told["mismatched_keys"]):
        name, found, asked = other[0]
        sizes = " and is ".join(" x ".join(map(str, size)) for size in (asked, found))
        raise ValueError(
            f"{checkpoint.folder} holds the weight {name}, which should be {sizes}: config.json is of another model"
        )
    if absent := sorted(told["missing_keys"]):
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
        raise ValueError(f"{checkpoint.folder} cannot be read by {name} ({type(error).__name__}): {short(error)}") from error


def short(error: Exception) -> str:
    """Return what an error of others says, in one line."""
    return " ".join(str(error).split())[:160]
