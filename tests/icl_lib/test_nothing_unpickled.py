"""No file can bring code: nothing that is read is a pickle, and nothing that was read is evaluated."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "run", *(path for folder in ("icl_lib", "papers", "book", "tests") for path in (ROOT / folder).rglob("*.py"))]
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "jsonpickle"}
"""Modules that make objects of bytes by running what the bytes say."""
CALLS = {
    *("torch.load", "torch.save", "torch.jit.load", "torch.hub.load", "torch.package.PackageImporter"),
    *("numpy.load", "numpy.save", "numpy.savez", "numpy.fromregex", "numpy.lib.format.read_array"),
    *("pandas.read_pickle", "pandas.HDFStore", "pandas.read_hdf", "yaml.load", "yaml.unsafe_load", "yaml.full_load"),
    *("eval", "exec", "builtins.eval", "builtins.exec"),
}
"""Functions that do so, or may when they are told to."""
READERS = {"xarray.open_dataset", "xarray.load_dataset", "xarray.open_mfdataset", "xarray.open_dataarray", "xarray.open_zarr"}
"""Functions that guess how to read a file, unless they are told."""
WORDS = {"trust_remote_code", "allow_pickle", *(name.rpartition(".")[2] for name in MODULES | CALLS | READERS)}
NAMED = re.compile(rf"\b({'|'.join(sorted(WORDS))})\b")
"""A file in which none of these stands can do none of it, and is not parsed."""


def dotted(node: ast.AST, imports: dict[str, str]) -> str:
    """The name of what is called, with the module that it comes from."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, imports)}.{node.attr}"
    return imports.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


def offences(source: str) -> list[str]:
    """The lines of a file that may load code, with what stands there."""
    if not NAMED.search(source):
        return []
    nodes, imports, found = [*ast.walk(ast.parse(source))], {}, []
    for node in nodes:
        if isinstance(node, ast.Import):
            imports |= {a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in node.names}
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            modules = [node.module or ""]
        else:
            continue
        found += [f"{node.lineno}: {module}" for module in modules if module.split(".")[0] in MODULES]
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        name, named = dotted(call.func, imports), {each.arg: each.value for each in call.keywords}
        guesses = name in READERS and ast.unparse(named.get("engine", ast.Constant(None))) != "'h5netcdf'"
        trusts = ast.unparse(named.get("trust_remote_code", ast.Constant(False))) != "False"
        if name in CALLS or guesses or trusts or "allow_pickle" in named:
            found.append(f"{call.lineno}: {name}")
    return found


def test_no_file_of_ours_loads_code():
    found = {path.relative_to(ROOT).as_posix(): offences(path.read_text(encoding="utf-8")) for path in FILES}
    assert len(found) > 300 and not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import torch\ntorch.load(path, weights_only=True)",
        "from torch import load as read\nread(path)",
        "import numpy as np\nnp.load(path)",
        "reader(path, allow_pickle=True)",
        "AutoModel.from_pretrained(path, trust_remote_code=True)",
        "dict(trust_remote_code=asked)",
        "import xarray as xr\nxr.open_dataset(path)",
        "import xarray as xr\nxr.load_dataset(path, engine='scipy')",
        "eval(text)",
        "import yaml\nyaml.load(text, yaml.Loader)",
    ],
)
def test_what_loads_code_is_found(source):
    assert len(offences(source)) == 1


def test_what_does_not_is_passed():
    sound = "import torch, xarray, json, yaml\nxarray.load_dataset(p, engine='h5netcdf')\njson.load(f)\nyaml.safe_load(t)"
    assert offences(f"{sound}\nmodel.eval()\nself.load(path)\nread(path, trust_remote_code=False)") == []
