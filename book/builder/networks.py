"""How many trained networks a claim rests on."""

from collections import Counter
from functools import cache
from pathlib import Path

import h5netcdf

from icl_lib.companion import origins, weights
from papers import registry

REPEATED = ("seed", "run", "network")
"""Dimensions along which a result that trains has one network after the other."""
BUCKETS = ("0", "1", "2", "3", "many")


def bucket(number: int | None) -> str:
    """The choice in the ledger's filter under which a number of networks stands; none where it is not known."""
    return "" if number is None else str(number) if number <= 3 else "many"


@cache
def networks(slug: str, stored: Path) -> int | None:
    """The networks of one kind that a result reads, or else trains; 0 where nothing is trained.

    Those of several kinds are not added up. Without a stored result that reads nothing, it is not known.
    """
    read = Counter()
    for training in {*weights.trainings(registry.EXPERIMENTS[slug].full)}:
        read[training[0].name] += getattr(training[0], "replicates", 1)
    path = stored / f"{slug}.full.nc"
    if read or not path.exists():
        return max(read.values(), default=None)
    with h5netcdf.File(path) as file:
        sizes = {name: dimension.size for name, dimension in file.dimensions.items()}
        return max(sizes.get(dim, 1) for dim in REPEATED) if origins.trained(file.attrs) else 0
