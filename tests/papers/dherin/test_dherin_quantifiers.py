"""A claim about all marks, layers, networks or blocks fails as soon as one of them does: each is broken alone."""

import itertools

import numpy as np
import pytest

from icl_lib.companion import HOLDS
from papers.registry import CLAIMS

QUANTIFIED = (
    ("D21", "difference", ("step", "seed"), {"way": "patch"}, 1e-9),
    ("D21c", "gap_single", ("step", "seed"), {"way": "patch"}, 1e-4),
    ("D24b", "stream", ("block",), {"network": "4 blocks"}, 1e-9),
    ("D24b", "largest", (), {"network": "4 blocks", "way": "patch"}, 1e-9),
    ("D25", "mean_single", (), {"network": "10 blocks", "way": "patch"}, 1e-4),
    ("D25d", "stream", ("block",), {"network": "10 blocks"}, 1e-9),
    ("D40", "error", ("architecture", "block"), {}, 1e-9),
    ("D36", "error", ("variant",), {}, 1e-9),
    ("D6f", "cosine_drawn", ("d",), {}, 0.5),
    ("D28", "slope", ("state",), {"layer": "tanh RNN"}, -1.0),
    ("D28", "slope", ("state",), {"layer": "GRU"}, -1.0),
    ("D23b", "loss", ("seed",), {}, 1.0),
    ("D23d", "step_risk", ("shape",), {}, 2.0),
)
"""Claim, the variable it reads, along what it says *all*, what else is read, and a value that must not pass."""


@pytest.mark.parametrize(("name", "variable", "along", "place", "wrong"), QUANTIFIED, ids=lambda each: str(each))
def test_one_broken_case_is_enough(name, variable, along, place, wrong, stored):
    claim = CLAIMS[name]
    dataset = stored(claim.experiment)
    assert claim.judge(dataset).verdict == HOLDS
    cells = dataset[variable].sel(place)
    for at in itertools.product(*(range(cells.sizes[dim]) for dim in along)):
        where = dict(zip(along, at, strict=True))
        if np.isnan(cells.isel(where)).all():  # the network has fewer blocks
            continue
        broken = dataset.copy(deep=True)
        whole = {dim: list(dataset[dim].values).index(label) for dim, label in place.items()} | where
        broken[variable][whole] = wrong
        assert claim.check(broken).verdict(claim.margin) != HOLDS, (name, variable, whole)
