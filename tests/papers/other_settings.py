"""Results of small runs with settings of their own, on which claims and figures are tried."""

import xarray as xr

from icl_lib.companion import Declaration, Experiment


def made(experiment: Experiment, declaration: Declaration) -> xr.Dataset:
    """Return what a declaration measures and expects at the seed 1, as a result of the experiment."""
    found = declaration.expect(declaration.run(1, "cpu"), 1)
    return found.assign_attrs(slug=experiment.slug, profile="quick")
