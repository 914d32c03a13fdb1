"""Datasets on disk: variables, provenance, digests. The only module that knows a path."""

import ast
import hashlib
import importlib.metadata
import json
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import safetensors
import safetensors.torch
import torch
import xarray as xr

LIBRARY = Path(__file__).resolve().parent
STORE = LIBRARY.parent / "book" / "data"
"""Where the committed full-scale results live, ``<slug>.full.nc``."""
CARRIERS = ("results.py", "experiments/experiment.py")
"""Modules that carry results and do not make them: a change there leaves stored numbers valid."""
CHECKPOINTS = LIBRARY.parent / "_build" / "checkpoints"
"""Where unfinished training runs keep their state."""
WEIGHTS = STORE / "weights"
"""Where the committed trained weights live, ``<name>.safetensors``."""
TRAINED = LIBRARY.parent / "_build" / "weights"
"""Where weights trained on this machine are kept for the next time."""


class StaleResult(RuntimeError):
    """A stored result is missing, damaged, or was made by another declaration or other code."""


def variable(dims: str | Sequence[str], values, long_name: str, units: str = "1") -> xr.Variable:
    """Return a labelled variable for a result; ``dims`` is one string of names parted by spaces, or a sequence."""
    names = dims.split() if isinstance(dims, str) else list(dims)
    return xr.Variable(names, np.asarray(values), {"long_name": long_name, "units": units})


# --- which code made a result -------------------------------------------------------------------------------------


def module_file(module: str) -> Path | None:
    """Return the source file of one of our modules or packages, or None when ``module`` names neither."""
    base = LIBRARY.parent.joinpath(*module.split("."))
    return next((f for f in (base.with_suffix(".py"), base / "__init__.py") if f.is_file()), None)


def imported_modules(source: str) -> set[str]:
    """Return the names of our modules that a piece of Python source imports, parent packages included."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    ours = [name.split(".") for name in names if name.split(".")[0] == LIBRARY.name]
    prefixes = {".".join(parts[:end]) for parts in ours for end in range(1, len(parts) + 1)}
    return {name for name in prefixes if module_file(name)}


def code_closure(*modules: str) -> list[Path]:
    """Return the source files of these modules and of all they import from this library, directly or not, sorted."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        file = module_file(module)
        if file is None:
            raise ValueError(f"no module {module} in this library: name one such as icl_lib.train")
        if module not in found:
            found[module] = file
            waiting += imported_modules(file.read_text(encoding="utf-8"))
    return sorted(set(found.values()))


def code_digest(*modules: str) -> str:
    """Return a digest of the code that makes the numbers: the closure less ``CARRIERS``.

    Comments, docstrings and blank lines do not count.
    """
    digest = hashlib.sha256()
    for file in code_closure(*modules):
        if file.relative_to(LIBRARY).as_posix() in CARRIERS:
            continue
        digest.update(file.relative_to(LIBRARY).as_posix().encode())
        digest.update(_code_lines(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:16]


def _code_lines(source: str) -> str:
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#"))


# --- provenance ---------------------------------------------------------------------------------------------------


def declaration_json(declaration) -> str:
    """Return a declaration (a dataclass of numbers, strings and tuples) as canonical JSON."""
    return json.dumps({"class": type(declaration).__name__, **asdict(declaration)}, sort_keys=True)


def provenance(slug: str, profile: str, seed: int, declaration, device: str) -> dict[str, str]:
    """Return the attributes that say where a dataset will come from when it is made now."""
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "torch", "xarray")}
    return {
        "slug": slug,
        "profile": profile,
        "seed": str(seed),
        "declaration": declaration_json(declaration),
        "code_digest": code_digest(type(declaration).__module__),
        "versions": json.dumps({"python": platform.python_version(), **packages}),
        "device": device,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
    }


def commit() -> str:
    """Return the commit of the checkout, marked ``+`` when files differ from it, or ``unknown`` outside git."""
    git = ["git", "-C", str(LIBRARY.parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        dirty = subprocess.run([*git, "status", "--porcelain", "icl_lib"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "")


# --- files --------------------------------------------------------------------------------------------------------


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it; on any failure ``path`` stays as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def encoded(dataset: xr.Dataset) -> bytes:
    """Return a dataset as the bytes of a NetCDF file."""
    worth_it = [name for name, v in dataset.data_vars.items() if v.size > 500 and v.dtype.kind in "fiub"]
    encoding = {name: {"zlib": True} for name in worth_it}  # a small array only grows: compression needs chunks
    dask = sys.modules.get("dask")  # xarray would ask a connected cluster for a lock on this memory, in vain
    with dask.config.set(scheduler="threads") if dask else nullcontext():
        return bytes(dataset.drop_encoding().to_netcdf(engine="h5netcdf", encoding=encoding))


def save(dataset: xr.Dataset, path: Path) -> None:
    """Write a dataset as NetCDF, atomically; encoded in memory, so that a full disk is a plain OSError."""
    content = encoded(dataset)
    write_atomically(path, lambda file: file.write_bytes(content))


def save_csv(dataset: xr.Dataset, path: Path) -> None:
    """Write a dataset as one long table (variable, its coordinates, value), atomically."""
    tables = []
    for name, values in dataset.data_vars.items():
        rows = values.to_dataframe(name="value").reset_index() if values.ndim else pd.DataFrame({"value": [values.item()]})
        tables.append(rows[[*values.dims, "value"]].assign(variable=name))
    table = pd.concat(tables)
    dims = [column for column in table.columns if column not in ("variable", "value")]
    write_atomically(path, lambda file: table[["variable", *dims, "value"]].to_csv(file, index=False))


def load(path: Path) -> xr.Dataset:
    """Read a dataset; raises StaleResult when the file is missing or damaged."""
    if not path.is_file():
        raise StaleResult(f"{path.name} is missing: recompute it with ./run book --profile full --fresh")
    try:
        return xr.load_dataset(path, engine="h5netcdf")
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise StaleResult(f"{path.name} is damaged: recompute it with ./run book --profile full --fresh") from error


def stored(experiment, seed: int = 0, folder: Path = STORE) -> xr.Dataset:
    """Return the committed full result of an experiment; raises StaleResult naming the field that differs."""
    dataset = load(folder / f"{experiment.slug}.full.nc")
    declaration = experiment.declaration("full")
    present = {
        "slug": experiment.slug,
        "profile": "full",
        "seed": str(seed),
        "declaration": declaration_json(declaration),
        "code_digest": code_digest(type(declaration).__module__),
    }
    for field, value in present.items():
        if dataset.attrs.get(field) != value:
            raise StaleResult(
                f"{experiment.slug}.full.nc is outdated: its {field} is {dataset.attrs.get(field)}, the code's is "
                f"{value}; recompute it with ./run book --profile full --fresh"
            )
    return dataset


# --- unfinished training runs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Checkpoint:
    """The state of one training run in one file, named after all that determines the run."""

    path: Path
    every: int

    @classmethod
    def of(cls, declaration, seed: int, device: str, every: int, folder: Path = CHECKPOINTS) -> "Checkpoint":
        """Return the checkpoint of a declared run; other declarations, seeds, devices or code give other files."""
        code = code_digest(type(declaration).__module__)
        run = f"{declaration_json(declaration)} {seed} {device} {code} {torch.__version__}"
        return cls(folder / f"{hashlib.sha256(run.encode()).hexdigest()[:24]}.pt", every)

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
        write_atomically(self.path, lambda file: torch.save(state, file))

    def remove(self) -> None:
        """Forget the run: it is finished."""
        self.path.unlink(missing_ok=True)


# --- trained weights ----------------------------------------------------------------------------------------------


def save_weights(weights: dict[str, torch.Tensor], origin: dict[str, str], path: Path) -> None:
    """Write weights in float32 as safetensors with their provenance, atomically."""
    plain = {name: weight.float().contiguous() for name, weight in weights.items()}
    encoded = safetensors.torch.save(plain, metadata=origin)
    write_atomically(path, lambda file: file.write_bytes(encoded))


def load_weights(path: Path, declaration, seed: int) -> dict[str, torch.Tensor] | None:
    """Return stored weights, or None when there are none of this declaration, seed and code."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            origin, weights = file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, safetensors.SafetensorError):
        return None
    asked = (declaration_json(declaration), str(seed), code_digest(type(declaration).__module__))
    return weights if asked == tuple(origin.get(field) for field in ("declaration", "seed", "code_digest")) else None


def obtain_weights(name: str, declaration, seed: int, device: str, make: Callable[[], dict[str, torch.Tensor]]):
    """Return the committed weights ``name`` if they were made by this declaration, seed and code; else those ``make`` gives.

    What was made is kept under ``_build/weights`` and found there the next time.
    """
    if (shipped := load_weights(WEIGHTS / f"{name}.safetensors", declaration, seed)) is not None:
        return shipped
    origin = provenance(name, "weights", seed, declaration, device)  # of the code as it is now
    run = hashlib.sha256(f"{origin['declaration']} {seed} {origin['code_digest']}".encode()).hexdigest()[:24]
    kept = TRAINED / f"{run}.safetensors"
    if (weights := load_weights(kept, declaration, seed)) is not None:
        return weights
    made = {name: weight.detach().cpu().float() for name, weight in make().items()}
    save_weights(made, origin, kept)
    return made


def obtain(experiment, profile: str, seed: int = 0) -> xr.Dataset:
    """Return a result: ``quick`` is run here and now, ``full`` is read from the store.

    When the environment names a folder in ICL_RESULTS, the dataset is also written there as NetCDF and CSV.
    """
    dataset = stored(experiment, seed) if profile == "full" else experiment.run(profile, seed)
    if folder := os.environ.get("ICL_RESULTS"):
        save(dataset, Path(folder) / f"{experiment.slug}.{profile}.nc")
        save_csv(dataset, Path(folder) / f"{experiment.slug}.{profile}.csv")
    return dataset
