"""Controls that many claims share: what each puts where, and what there is not."""

import pytest
import xarray as xr

from icl_lib.companion import at, everywhere, exchanged, near_miss, near_misses, put, replaced


def test_a_control_takes_other_places_or_other_rows():
    data = xr.Dataset({"x": ("k", [1.0, 2.0])}, coords={"k": ["a", "b"]})
    assert at(k=[1])(data).x.values.tolist() == [2.0]
    assert exchanged("k", "a", "b")(data).x.sel(k="a") == 2.0
    near = xr.Dataset({"x_near": (("k", "mistake"), [[1.0, 2.0]])}, {"k": ["a"], "mistake": ["less", "more"]})
    assert near_miss("x", "more")(near).x_theory.identical(xr.DataArray([2.0], {"k": ["a"]}, name="x_theory"))
    assert everywhere("x", k="b")(data).x.identical(data.x.where(False, 2.0))


def test_a_row_or_a_near_miss_that_there_is_not_is_told():
    data = xr.Dataset({"x": ("k", [1.0, 2.0])}, coords={"k": ["ridge", "zero"]})
    for control in (exchanged("k", "ridge", "zeros"), replaced("k", "zeros"), replaced("k", "zero", "rigde")):
        with pytest.raises(ValueError, match="unknown k '(zeros|rigde)': did you mean (zero|ridge)"):
            control(data)
    labelled = data.rename(k="row").assign_coords(k=("row", ["ridge", "zero"]))
    with pytest.raises(ValueError, match="unknown dimension 'k': take one of row"):
        exchanged("k", "ridge", "zero")(labelled)
    with pytest.raises(ValueError, match="unknown dimension 'K': did you mean k"):
        at(K=0)(data)
    with pytest.raises(ValueError, match="near misses have the shapes .*: give one or more, all along"):
        near_misses("k l", {"more": [1.0, 2.0]})
    near = xr.Dataset({"x_near": ("mistake", [1.0, 2.0])}, {"mistake": ["less", "more"]})
    with pytest.raises(ValueError, match="unknown mistake 'mor': did you mean more"):
        near_miss("x", "mor")(near)
    with pytest.raises(ValueError, match="unknown variable 'y_near': did you mean x_near"):
        near_miss("y", "more")(near)
    for names in ({"x_near": "x_nea"}, {"x_nea": "x_near"}):
        with pytest.raises(ValueError, match="unknown variable 'x_nea': did you mean x_near"):
            put(**names)(near)


def test_near_misses_keep_their_labels():
    first = xr.DataArray([1.0, 2.0], {"N": [1, 2]})
    data = xr.Dataset({"x": ("N", [3.0, 4.0])}, {"N": [1, 2]}).assign(
        x_near=near_misses("N", {"a": first[::-1], "b": first[::-1]})
    )
    assert data.x_near.sel(mistake="a").values.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="near misses have different labels, or the same in another order: give all alike"):
        near_misses("N", {"a": first, "b": first[::-1]})
