"""Results of small runs with settings of their own, on which claims are tried."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from icl_lib.companion import FAILS, HOLDS, Claim, Declaration, Experiment


def made(declared: Mapping[Experiment, Declaration]) -> dict[str, xr.Dataset]:
    """Return what declarations measure and expect at the seed 1, as results of their experiments."""
    results = {each.slug: law.expect(law.run(1, "cpu"), 1) for each, law in declared.items()}
    return {slug: found.assign_attrs(slug=slug, profile="quick") for slug, found in results.items()}


def assert_holds(claim: Claim, datasets: Mapping[str, xr.Dataset]) -> None:
    """A claim holds, and each of its controls fails by a number."""
    judged = claim.judge(datasets[claim.experiment])
    assert (judged.verdict, judged.control_verdict) == (HOLDS, FAILS), judged.shown_value
    controls = [control(datasets[claim.experiment].copy(deep=True)) for control in claim.controls.values()]
    assert np.isfinite([claim.check(each).worst()[0] for each in controls]).all()
