"""The table of times: README has rows of it, and what it says of the stored files is what these carry."""

import re
from pathlib import Path

import h5py
import pytest
from safetensors import safe_open

from book.builder import times
from tests.book.test_pages import ROOT

RERUN = (ROOT / "book" / "how_to_rerun.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| .* \| .*(?:minute|hour|second).* \|$", re.MULTILINE)


def test_readme_has_rows_of_the_table_of_times():
    rows = ROW.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(rows) >= 5
    assert set(rows) <= set(ROW.findall(RERUN))


def test_sums_of_the_stored_seconds_are_those_of_the_files(tmp_path):
    (tmp_path / "how_to_rerun.md").write_text(RERUN, encoding="utf-8")
    times.fill(tmp_path, ROOT / "book" / "data")
    page = (tmp_path / "how_to_rerun.md").read_text(encoding="utf-8")
    assert times.MARK in RERUN and times.MARK not in page
    number, hours, networks, trained = re.search(
        r"\| all \| (\d+): ([\d.]+) hours \| (\d+): ([\d.]+) hours \| CPU \|", page
    ).groups()
    for said, count, folder, files in (
        (hours, number, "book/data", "*.full.nc"),
        (trained, networks, "book/data/weights", "*.safetensors"),
    ):
        found = [seconds_in(path) for path in sorted((ROOT / folder).glob(files))]
        assert len(found) == int(count)
        assert sum(found) / 3600 == pytest.approx(float(said), rel=0.05)


def seconds_in(path: Path) -> float:
    """The seconds that a file carries, read without the library."""
    if path.suffix == ".nc":
        with h5py.File(path) as file:
            return float(file.attrs["seconds"])
    with safe_open(path, "numpy") as file:
        return float(file.metadata()["seconds"])


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(89, "89 seconds"), (90, "1.5 minutes"), (600, "10 minutes"), (5400, "1.5 hours"), (43200, "12 hours")],
)
def test_a_time_has_two_digits(seconds, told):
    assert times.in_words(seconds) == told
