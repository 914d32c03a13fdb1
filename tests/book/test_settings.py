"""Settings that cannot be read are told before anything is made; a site in a layer that cannot be renamed is copied."""

import errno
from pathlib import Path

import pytest

from book.builder import book, published_at, render
from book.builder.layout import MARK, Layout
from book.builder.problem import Problem
from book.builder.settings import READERS, require_in_contents, require_settings

BASE = "https://owner.github.io/name"
BROKEN = {
    "_config.yml": "a: [",
    "_toc.yml": "a: b: c",
    "CITATION.cff": "x: '",
    "pyproject.toml": "a =",
    "book/data/quick.json": "{",
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("empty", [False, True])
def test_settings_that_cannot_be_read_are_told_in_a_sentence(name, empty, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("" if empty else BROKEN[name])
    if empty and name == "pyproject.toml":
        return  # a table without names
    assert book.answer(lambda layout: pytest.fail("work began"), "Nothing was changed.") == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{name} ") and "estore it from git" in first and second == "Nothing was changed."


@pytest.mark.parametrize("contents", ["format: jb-book", "root: 5", "root:"])
def test_a_table_of_contents_without_a_first_page_is_told_in_a_sentence(contents, tmp_path):
    (tmp_path / "_toc.yml").write_text(contents)
    with pytest.raises(Problem, match="_toc.yml names no first page"):
        require_settings(tmp_path)
    (tmp_path / "_toc.yml").write_text("root: book/index")
    require_settings(tmp_path)


def test_the_address_of_the_pages_is_a_setting_or_a_variable(tmp_path, monkeypatch):
    config = tmp_path / "_config.yml"
    config.write_text("html:\n  baseurl: https://example.org/book/\n")
    monkeypatch.delenv(published_at.PAGES, raising=False)
    assert published_at.address(tmp_path) == "https://example.org/book"
    monkeypatch.setenv(published_at.PAGES, f"{BASE}/")
    assert published_at.address(tmp_path) == BASE
    for wrong in ("owner.github.io/name", "ftp://owner", "https:///name", f"{BASE}?a=1", "http://[x"):
        monkeypatch.setenv(published_at.PAGES, wrong)
        with pytest.raises(Problem, match="no address of a site"):
            published_at.address(tmp_path)
    monkeypatch.delenv(published_at.PAGES)
    config.write_text("html:\nrepository:\n  url:\n")
    assert published_at.address(tmp_path) == published_at.repository(tmp_path) == ""
    config.write_text("html: 5\n")
    with pytest.raises(Problem, match="html in _config.yml holds no table"):
        published_at.address(tmp_path)


def site(folder, text):
    (folder / "book").mkdir(parents=True)
    (folder / "book" / "a.html").write_text(text)
    return folder


@pytest.mark.parametrize("layered", [False, True])
def test_the_new_site_takes_the_place_of_one_that_cannot_be_renamed(layered, tmp_path, monkeypatch):
    layout = Layout(tmp_path)
    new = site(tmp_path / "_build" / "site" / "_build" / "html", "new")
    site(layout.html, "old")
    rename = Path.rename

    def refuse(self, to):
        if layered and self == layout.html:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refuse)
    render.publish(new, layout)
    assert (layout.html / "book" / "a.html").read_text() == "new"
    render.clear(layout)
    assert [path.name for path in layout.build.iterdir()] == ["html"]


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_killed_exchange_leaves_is_one_whole_site(whole, tmp_path):
    """Killed while the old site was taken away by a copy, or while what was left of it was removed."""
    layout = Layout(tmp_path)
    site(layout.build / "html.old", "old")
    site(layout.html, "half" if not whole else "new")
    if whole:
        (layout.html / MARK).write_text("all")
    render.recover(layout)
    assert (layout.html / "book" / "a.html").read_text() == ("new" if whole else "old")
    assert [path.name for path in layout.build.iterdir()] == ["html"]


def test_what_a_killed_printing_leaves_is_gone_with_the_next_command(tmp_path):
    layout = Layout(tmp_path)
    site(layout.html, "a page")
    (layout.html / render.WHOLE).write_text("all pages")
    with book.alone(layout):
        assert not (layout.html / render.WHOLE).exists()


def test_a_notebook_that_no_part_of_the_contents_names_is_told_before_it_is_executed(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: book/index\nparts:\n- chapters:\n  - file: notebooks/one\n")
    require_in_contents(["one"], tmp_path)
    with pytest.raises(Problem, match="notebooks/on.ipynb is in no part of _toc.yml: add a line '- file: notebooks/on'"):
        require_in_contents(["one", "on"], tmp_path)
