"""The table of times: README has rows of it, and what it says of the stored files is what these carry."""

import re

import pytest

from icl_lib.companion import results, weights
from papers import registry
from tests.book.test_pages import ROOT

RERUN = (ROOT / "book" / "how_to_rerun.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| .* \| .*(?:minute|hour|second).* \|$", re.MULTILINE)


def test_readme_has_rows_of_the_table_of_times():
    rows = ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(rows) >= 5
    assert set(rows) <= set(ROW.findall(RERUN))


def test_sums_of_the_stored_seconds_are_those_of_the_files():
    networks, number, hours = re.search(r"([\d.]+) hours for the (\d+) networks and ([\d.]+) for the results", RERUN).groups()
    trained = [weights.attributes(path) for path in sorted((ROOT / "book/data/weights").glob("*.safetensors"))]
    stored = [results.attributes(path) for path in sorted((ROOT / "book/data").glob("*.full.nc"))]
    assert len(trained) == int(number)
    assert len(stored) == len(registry.EXPERIMENTS)
    for said, files in ((networks, trained), (hours, stored)):
        assert sum(float(one["seconds"]) for one in files) / 3600 == pytest.approx(float(said), rel=0.1)
