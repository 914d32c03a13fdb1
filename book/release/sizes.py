"""What the data files of a bundle claim to hold, looked at before anything reads them."""

import io

from book.builder.problem import Problem
from icl_lib.companion import bounds


def require_sizes(name: str, content: bytes) -> None:
    """Raise a Problem where a NetCDF file or a file of weights claims too much, or more than it has."""
    try:
        if name.endswith(".nc"):
            bounds.require_netcdf(content)
        if name.endswith(".safetensors"):
            bounds.require_safetensors(io.BytesIO(content), len(content))
    except bounds.DAMAGED as error:
        told = str(error)[:160] if isinstance(error, bounds.BadFile) else "is not what its name says"
        raise Problem(f"{name} {told}.") from error
