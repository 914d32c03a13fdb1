"""What `./run lab` opens: copies of the last build; those that a reader has changed stay until they are reset."""

import json
import os

import pytest

from book.builder import lab
from book.builder.layout import COPIES, UP, Layout


@pytest.fixture(autouse=True)
def own_settings(monkeypatch):
    """Settings of a reader's own, which stay beside those of the copies."""
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")


@pytest.fixture
def layout(tmp_path) -> Layout:
    """A checkout with a site that hands out two copies."""
    layout = Layout(tmp_path)
    (layout.html / COPIES).mkdir(parents=True)
    for name in ("one", "two"):
        (layout.html / COPIES / f"{name}.ipynb").write_text(json.dumps({"cells": [f"[a]({UP}book/a.html)", name]}))
    return layout


def test_a_copy_that_was_changed_stays_until_it_is_reset(layout, capsys):
    one, two = (layout.lab / f"{name}.ipynb" for name in ("one", "two"))
    assert lab.opened(layout, reset=False) == (layout.lab, "")
    assert "](../html/book/a.html)" in one.read_text()
    one.write_text("mine")
    for copy in (layout.html / COPIES).glob("*"):
        copy.write_text("built again")
    words = lab.prepared(layout.root, ["--port=1"])
    assert words == ["--notebook-dir", str(layout.root), "--LabApp.default_url=/lab/tree/_build/lab", "--port=1"]
    assert "one.ipynb; ./run lab --reset" in capsys.readouterr().out
    settings, mine = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    shown = json.loads((layout.lab / ".jupyter" / "labconfig" / "page_config.json").read_text())
    assert (settings, mine) == (str(layout.lab / ".jupyter"), "mine") and shown == {
        "disabledExtensions": {"jupyterlab-myst": True}
    }
    assert (one.read_text(), two.read_text()) == ("mine", "built again")
    (layout.lab / lab.NOTE).write_text("{")
    assert "one.ipynb" in lab.opened(layout, reset=False)[1]
    assert "--reset" not in lab.prepared(layout.root, ["--reset"]) and capsys.readouterr().out == ""
    assert one.read_text() == "built again"
    assert lab.opened(layout, reset=False)[1] == ""


def test_without_a_book_the_committed_notebooks_are_opened(tmp_path, capsys):
    assert lab.prepared(tmp_path, [])[-1].endswith("/lab/tree/notebooks")
    assert capsys.readouterr().out.count("\n") == 1 and not (tmp_path / "_build").exists()
    assert os.environ["JUPYTER_CONFIG_PATH"] == "mine"  # sources are in MyST
