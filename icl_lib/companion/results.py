"""Datasets on disk: variables, provenance, files."""

import importlib.metadata
import io
import json
import os
import platform
import subprocess
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

import h5netcdf
import h5py
import numpy as np
import pandas as pd
import xarray as xr

from icl_lib.companion import book, bounds, content, origins, writing
from icl_lib.companion.book import Book
from icl_lib.companion.marks import CHANGED
from icl_lib.companion.paper import HERE
from icl_lib.companion.settings import Refused
from icl_lib.typed import refuse

NO_DATASET = "what is written is an xarray.Dataset, not a {}: put it into one under a name, xarray.Dataset({{NAME: ...}})"


class StaleResult(RuntimeError):
    """A stored result is missing, damaged, or was made by another declaration or other code; a notebook shows its sentence."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Damaged(StaleResult):
    """A stored file is not what was written: cut short, changed afterwards, or not to be read at all."""


def variable(dims: str | Sequence[str], values, long_name: str, units: str = "1") -> xr.Variable:
    """Return a labelled variable for a result; ``dims`` is one string of names parted by spaces, or a sequence."""
    names = dims.split() if isinstance(dims, str) else list(dims)
    return xr.Variable(names, np.asarray(values), {"long_name": long_name, "units": units})


def variables(
    described: Mapping[str, tuple[str, ...]], found: object, dims: str, dtype: str | None = None
) -> dict[str, xr.Variable]:
    """Return the labelled variables of a table: for every name its own dimensions, in the place of ``{}``, words and units.

    ``found`` holds readings by name, in lists as deep as other dimensions stand before the ``{}``.

    >>> from icl_lib.companion import variables
    >>> table = {"error": ("size", "relative error"), "loss": ("", "squared error", "y^2")}
    >>> both = variables(table, [{"error": [1, 2, 3], "loss": 4}, {"error": [5, 6, 7], "loss": 8}], "layer {}")
    >>> both["error"].dims, both["loss"].values.tolist(), both["loss"].attrs
    (('layer', 'size'), [4, 8], {'long_name': 'squared error', 'units': 'y^2'})
    """
    return {
        name: variable(dims.format(own).split(), np.array(_named(name, found), dtype), *words)
        for name, (own, *words) in described.items()
    }


def _named(name: str, found: object) -> object:
    return found[name] if isinstance(found, Mapping) else [_named(name, each) for each in found]


# --- provenance ---------------------------------------------------------------------------------------------------


def provenance(slug: str, profile: str, origin: Mapping[str, str], of: Book) -> dict[str, str]:
    """Return the attributes that say where a dataset will come from when it is made now; ``origin`` as ``identity`` gives."""
    return {
        "slug": slug,
        "profile": profile,
        **origin,
        "python": platform.python_version(),
        "xarray": importlib.metadata.version("xarray"),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(of),
    }


def difference(found: Mapping[str, object], wanted: Mapping[str, str], path: Path, of: Book) -> str | None:
    """Return in a sentence why a stored file does not answer for what is wanted, or None when it does.

    >>> from pathlib import Path
    >>> from icl_lib.companion import Book
    >>> from icl_lib.companion.results import difference
    >>> toys = Book(None, "toys", store=Path(), build=Path(), command="./toy")
    >>> stored, wanted = {"declaration": '{"N": 10}', "seed": "0"}, {"declaration": '{"N": 20}', "seed": "0"}
    >>> print(difference(stored, wanted, Path("toy-coin.full.nc"), toys))
    toy-coin.full.nc is outdated: its declaration N is 10, not 20; ./toy renew toy-coin makes it anew
    """
    for field, value in wanted.items():
        if found.get(field) != value:
            told = _first_difference(field, str(found.get(field)), value)
            return f"{path.name} is outdated: its {told}; {of.renewal(_name(path))} makes it anew"
    return None


def _first_difference(field: str, old: str, new: str) -> str:
    """Say which two values differ; of two tables the first entry that does, under its dotted name."""
    try:
        before, after = json.loads(old), json.loads(new)
    except ValueError:
        before = after = None
    tables = isinstance(before, dict) and isinstance(after, dict)
    name = next((key for key in before | after if before.get(key) != after.get(key)), None) if tables else None
    if name is None:
        return f"{field} is {old}, not {new}"
    told = (json.dumps(part.get(name, "missing"), ensure_ascii=False) for part in (before, after))
    return _first_difference(f"{field} {name}" if " " not in field else f"{field}.{name}", *told)


def _name(path: Path) -> str:
    return path.name.removesuffix(".nc").removesuffix(".full").removesuffix(".safetensors")


def commit(of: Book) -> str:
    """Return the commit of a book's checkout, ``+`` when code of library or wings differs; ``unknown`` outside git."""
    if of.root is None:  # what git would find above an installed package is another's
        return "unknown"
    git, folders = ["git", "-C", str(of.root)], [package.replace(".", "/") for package in of.packages]
    files = (getattr(sys.modules.get(package), "__file__", None) for package in of.packages)
    found = [Path(each).resolve() for each in files if each]  # below src/, perhaps
    folders += [str(each.parent) for each in found if each.name == "__init__.py" and each.is_relative_to(of.root.resolve())]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        dirty = subprocess.run([*git, "status", "--porcelain", *folders], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "")


# --- files --------------------------------------------------------------------------------------------------------


def encoded(dataset: xr.Dataset) -> bytes:
    """Return ``written(dataset)``; raises ValueError when the file would not give back what it was given."""
    refuse(not isinstance(dataset, xr.Dataset), NO_DATASET.format(type(dataset).__name__))
    paired = [str(name) for name, each in dataset.variables.items() if each.dtype.kind == "c"]
    refuse(bool(paired), f"complex numbers are not stored: give real and imaginary part of {', '.join(paired)} apart")
    several = [str(name) for name, each in dataset.indexes.items() if isinstance(each, pd.MultiIndex)]
    refuse(bool(several), f"an index of several levels is not stored: give {', '.join(several)} as plain coordinates")
    try:
        found = written(dataset)
        decoded(found)
    except (TypeError, h5netcdf.CompatibilityError) as error:
        raise ValueError(f"a dataset is stored as numbers and strings only: {error}") from error
    except bounds.BadFile as error:
        told = f"does not give back {lost[0]}" if (lost := _lost(dataset, found)) else error
        raise ValueError(f"the file of this dataset {told}: use numbers and strings only") from error
    return found


def _lost(dataset: xr.Dataset, found: bytes) -> list[Hashable]:
    """Return the variables that a file gives back otherwise."""
    with h5py.File(io.BytesIO(found)) as root:
        both = dataset, content.of_netcdf(root)
    parts = [
        {name: content.of_dataset(xr.Dataset({name: variable})) for name, variable in each.variables.items()} for each in both
    ]
    return [name for name, digest in parts[0].items() if parts[1].get(name) != digest]


def written(dataset: xr.Dataset) -> bytes:
    """Return a dataset as the bytes of a NetCDF file, with the digest of its content among the attributes."""
    worth_it = [name for name, v in dataset.data_vars.items() if v.size > 500 and v.dtype.kind in "fiub"]
    encoding = {name: {"zlib": True} for name in worth_it}  # a small array only grows: compression needs chunks
    sealed = dataset.drop_encoding().assign_attrs({content.NAME: content.of_dataset(dataset)})
    dask = sys.modules.get("dask")  # xarray would ask a connected cluster for a lock on this memory, in vain
    with dask.config.set(scheduler="threads") if dask else nullcontext():
        return bytes(sealed.to_netcdf(engine="h5netcdf", encoding=encoding))


def decoded(source: Path | bytes) -> xr.Dataset:
    """Return the dataset in a NetCDF file, or in its bytes; raises one of ``bounds.DAMAGED`` when it is none."""
    with h5py.File(_looked_at(source)) as root:
        dataset = content.of_netcdf(root)
    if content.NAME not in dataset.attrs:
        raise bounds.BadFile("holds no digest of what is in it, so that results.save did not write it")
    if dataset.attrs.pop(content.NAME) != content.of_dataset(dataset):
        raise bounds.BadFile("was changed after it was written")
    return dataset


def _looked_at(source: Path | bytes) -> io.BytesIO:
    """Return a NetCDF file in memory once it is known that it can be read; another file may come to have its name."""
    if isinstance(source, Path):
        bounds.require_size(source.stat().st_size, bounds.LARGEST_NETCDF)
        source = source.read_bytes()
    bounds.require_netcdf(source)
    return io.BytesIO(source)


def save(dataset: xr.Dataset, path: Path | str) -> None:
    """Write a dataset as NetCDF, atomically; encoded in memory, so that a full disk is a plain OSError."""
    whole = encoded(dataset)
    writing.write_atomically(Path(path), lambda file: file.write_bytes(whole))


def save_csv(dataset: xr.Dataset, path: Path | str) -> None:
    """Write a dataset as one long table (variable, its coordinates, value), atomically."""
    refuse(not isinstance(dataset, xr.Dataset), NO_DATASET.format(type(dataset).__name__))
    refuse(not dataset.data_vars, "the dataset has no variables: there is nothing to write")
    taken = sorted({"variable", "value"} & {*dataset.dims})
    refuse(bool(taken), f"the table has columns of its own called variable and value: rename the dimension {', '.join(taken)}")
    tables = []
    for name, values in dataset.reset_coords(drop=True).data_vars.items():
        rows = values.to_dataframe(name="value").reset_index() if values.ndim else pd.DataFrame({"value": [values.item()]})
        whole = {dim: "Int64" for dim in values.dims if rows[dim].dtype.kind in "iu"}  # stays so beside rows without it
        tables.append(rows[[*values.dims, "value"]].astype(whole).assign(variable=name))
    table = pd.concat(tables)
    dims = [column for column in table.columns if column not in ("variable", "value")]
    writing.write_atomically(Path(path), lambda file: table[["variable", *dims, "value"]].to_csv(file, index=False))


def load(path: Path | str, of: Book | None = None) -> xr.Dataset:
    """Read a dataset; raises StaleResult when the file is missing, Damaged when it is not what was written, and what to do.

    of   the book whose command makes it anew, if there is one
    """
    path = Path(path)
    with sound(path, of):
        return decoded(path)


def attributes(path: Path | str) -> dict[str, object]:
    """Read where a dataset comes from, and not its data, whose digest is not looked at; raises StaleResult as ``load`` does."""
    path = Path(path)
    with sound(path), h5netcdf.File(_looked_at(path)) as file:
        return dict(file.attrs)


@contextmanager
def sound(path: Path, of: Book | None = None) -> Iterator[None]:
    """Raise StaleResult where a file is missing, Damaged where reading it in this context fails; both say what to do."""
    made_by = of.renewal(_name(path)) if of else "computing it"
    if not path.is_file():
        raise StaleResult(f"{path.name or path} is missing: {made_by} makes it")
    remedy = f"restore it from git, or {made_by} makes it anew"
    try:
        yield
    except bounds.BadFile as error:
        raise Damaged(f"{path.name} {error}: {remedy}") from error
    except bounds.DAMAGED as error:
        raise Damaged(f"{path.name} is damaged: {remedy}") from error


def stored(experiment, seed: int = 0, folder: Path | None = None) -> xr.Dataset:
    """Return the committed measurements of an experiment at full scale; raises StaleResult naming what differs.

    Raises ValueError for an experiment of a package that stands in no book, Refused for what is no seed.
    """
    require_seed(seed)
    book.require_declared(experiment.module)
    if folder is None and (told := experiment.not_stored(seed)):
        raise StaleResult(told)
    path = experiment.book.result(experiment.slug) if folder is None else folder / f"{experiment.slug}.full.nc"
    if seed and folder is None:
        command, own = experiment.book.command, f"its run('full', {seed})"
        mine = f"{command} check {experiment.slug} --profile full --seed {seed}" if command else own
        raise StaleResult(f"{path.name} is stored of seed 0 alone: take seed = 0 here; {mine} computes another")
    measured = load(path, experiment.book)
    made_with = measured.attrs.get("versions") if experiment.book.root is None else None  # an installed book renews nothing
    origin = experiment.origin("full", seed, measured.attrs.get("device", "cpu"), made_with)
    if outdated := difference(measured.attrs, {"slug": experiment.slug, "profile": "full", **origin}, path, experiment.book):
        raise StaleResult(outdated)
    origins.tell_of_other_versions(measured.attrs.get("versions"), experiment.full)
    return measured


def require_seed(seed: int) -> None:
    """Raise Refused for what is no seed."""
    if type(seed) is not int or seed < 0:
        raise Refused(f"the seed is {seed!r}: take a whole number of at least 0")


def obtain(experiment, profile: str, seed: int = 0) -> xr.Dataset:
    """Return a result: ``quick`` is run here and now, ``full`` is read from the store.

    When the environment names a folder in ICL_RESULTS, the dataset of an experiment of the book is also written there as
    NetCDF and CSV.
    """
    if not hasattr(experiment, "measure"):
        raise Refused(f"an experiment is shown, such as Experiment(...) makes: this is {experiment!r:.60}")
    measured = stored(experiment, seed) if profile == "full" else experiment.measure(profile, seed)
    dataset = experiment.expect(measured)
    if (folder := os.environ.get("ICL_RESULTS")) and CHANGED not in dataset.attrs and experiment.module != HERE:
        whole = written(dataset)  # whoever takes it from there reads its digest
        writing.write_atomically(Path(folder) / f"{experiment.slug}.{profile}.nc", lambda file: file.write_bytes(whole))
        save_csv(dataset, Path(folder) / f"{experiment.slug}.{profile}.csv")
    return dataset
