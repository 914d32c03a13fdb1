"""Alternative texts that choose their words by the data: on data made by hand, where another choice says something else."""

import xarray as xr

from papers.li.s3_3_generalization import figures as generalization
from papers.li.s3_4_pruning import figures as pruning
from papers.li.s5_experiments import figures as experiments


def one_seed(dims: str, values: list, **coords: list) -> xr.DataArray:
    return xr.DataArray(values, coords, dims.split()).expand_dims(seed=1)


def test_rows_are_said_to_rest_from_the_step_at_which_half_of_them_do():
    data = xr.Dataset(
        {
            "small": one_seed("setting", [0.12, 0.5], setting=["A", "B"]),
            "at_rest": one_seed("step", [0.45, 0.55, 0.8], step=[0, 10, 20]),
        }
    )
    alt, *_ = pruning.magnitudes.told(data)
    assert "a share of 0.12 is short" in alt and "at rest by step 10," in alt


def test_the_largest_error_is_that_at_sums_from_0_on():
    errors = [[0.9, 0.1, 0.3], [0.2, 0.4, 0.2]]
    error = one_seed("setting S_1", errors, setting=["first", "second"], S_1=[-1.0, 0.0, 1.0])
    spread = one_seed("setting S_1", [[0.1, 0.1, 0.3], [0.1, 0.1, 0.2]], setting=["first", "second"], S_1=error.S_1.values)
    alt, *_ = generalization.sum_reasons.told(xr.Dataset({"error": error, "gap_spread": spread}))
    assert "in the setting second, 0.4 at most; in each other setting it is at most 0.3 there" in alt
    assert alt.endswith("largest at a sum of 1.")


def test_one_series_is_lower_where_it_is_at_every_length():
    words: dict[str, str] = {}
    for name, learned, wide in (("without", [0.301, 0.2], 0.1), ("with", [0.299, 0.1], 0.1), ("neither", [0.301, 0.1], 1e-4)):
        error = one_seed("positions l", [[0.3, 0.15], learned], positions=["none", "learned"], l=[2, 4])
        words[name] = experiments.decoder_positions.told(xr.Dataset({"error": xr.concat([error, error + wide], "seed")}))[0]
    assert words["without"].endswith("series overlap, those without positions lower.")
    assert words["with"].endswith("series overlap, those with positions lower.")
    assert words["neither"].endswith("In places the intervals of the two series are apart.")
