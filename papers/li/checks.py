"""Controls that the claims of several sections share."""

from icl_lib.companion.controls import Control


def everywhere(name: str, **place) -> Control:
    """Return the control that puts what a variable is at one place, told by labels, in all its places."""
    return lambda dataset: dataset.assign({name: dataset[name].where(False, dataset[name].sel(place, drop=True))})
