"""What the data files of a bundle claim to hold, looked at before anything reads them."""

import io
import struct

from book.build.problem import Problem
from icl_lib.companion import bounds

REQUIRE = {".nc": bounds.require_netcdf, ".safetensors": bounds.require_safetensors}
DAMAGED = (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error)
"""What a file that is none of its kind may raise; ``bounds.Refused`` is a ValueError."""


def require_sizes(name: str, content: bytes) -> None:
    """Raise a Problem where a NetCDF file or a file of weights claims too much, or more than it has."""
    require = next((each for ending, each in REQUIRE.items() if name.endswith(ending)), None)
    if require:
        try:
            require(io.BytesIO(content), len(content))
        except DAMAGED as error:
            told = str(error)[:160] if isinstance(error, bounds.Refused) else "is not what its name says"
            raise Problem(f"{name} {told}.") from error
