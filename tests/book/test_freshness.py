"""Freshness of an executed notebook: each thing that it was made from decides alone."""

from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book.builder import cache, closure
from book.builder.layout import Layout
from icl_lib.companion import digests
from papers import BOOK, registry

SOURCES = {"notebook": "1", "library": "2", "requirements": "3"}


@pytest.fixture
def layout(tmp_path, monkeypatch):
    """A place with one executed notebook, whose sources and near claims are told here."""
    now = SimpleNamespace(sources=dict(SOURCES), near={"toy": ["Z1"]})
    places = SimpleNamespace(
        root=tmp_path,
        notebooks=tmp_path / "notebooks",
        stored_results=tmp_path / "data",
        build=tmp_path / "_build",
        now=now,
        executed=lambda profile, name: tmp_path / profile / name,
    )
    monkeypatch.setattr(cache, "source_digests", lambda name, profile, layout: now.sources)
    monkeypatch.setattr(cache, "near_claims", lambda slugs, layout: {slug: now.near[slug] for slug in slugs})
    (tmp_path / "data" / "weights").mkdir(parents=True)
    files = {"weights/toy.safetensors": b"weights", "toy.full.nc": b"numbers"}
    for name, content in files.items():
        (tmp_path / "data" / name).write_bytes(content)
    work = cache.workplace(places)
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), work / "toy.ipynb")
    (work / "results").mkdir()
    (work / "results" / "toy.quick.nc").write_bytes(b"made")
    stored = {name: digests.of_file(places.stored_results / name) for name in files}
    cache.keep("toy", "quick", cache.Origin(dict(SOURCES), stored, {"toy": ["Z1"]}), 1.0, work, places)
    return places


CHANGES = {
    "notebook": lambda at: at.now.sources.update(notebook="other"),
    "library": lambda at: at.now.sources.update(library="other"),
    "requirements": lambda at: at.now.sources.update(requirements="other"),
    "near claims": lambda at: at.now.near.update(toy=[]),
    "weights": lambda at: (at.stored_results / "weights" / "toy.safetensors").write_bytes(b"others"),
    "weights that are gone": lambda at: (at.stored_results / "weights" / "toy.safetensors").unlink(),
    "a stored result": lambda at: (at.stored_results / "toy.full.nc").write_bytes(b"others"),
    "a result made": lambda at: (at.executed("quick", "toy") / "results" / "toy.quick.nc").write_bytes(b"others"),
    "a result more": lambda at: (at.executed("quick", "toy") / "results" / "new.quick.nc").write_bytes(b"made"),
    "outputs": lambda at: (at.executed("quick", "toy") / "toy.ipynb").write_text("{}"),
    "the record": lambda at: (at.executed("quick", "toy") / "record.json").write_text("{}"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_makes_it_stale(layout, what):
    assert cache.lookup("toy", "quick", layout).reused
    CHANGES[what](layout)
    assert cache.lookup("toy", "quick", layout) is None


def test_a_notebook_is_its_cells_with_their_tags_and_its_profile(tmp_path, monkeypatch):
    """Outputs are not: they are what is made."""
    monkeypatch.setattr(closure, "code_closure", lambda *modules: [])
    (tmp_path / "requirements.txt").write_text("numpy")
    places = SimpleNamespace(notebooks=tmp_path, root=tmp_path)

    def digest(profile="quick", source="1", tags=(), text="words") -> str:
        cells = [new_code_cell(source, metadata={"tags": list(tags)}), new_markdown_cell(text)]
        nbformat.write(new_notebook(cells=cells), tmp_path / "toy.ipynb")
        return cache.source_digests("toy", profile, places)["notebook"]

    others = [digest("full"), digest(source="2"), digest(tags=["parameters"]), digest(text="other words")]
    assert digest() == digest() and len({digest(), *others}) == 5


def test_what_it_may_load_are_the_weights_and_results_of_its_profile():
    own = [each for each in registry.EXPERIMENTS.values() if each.notebook == "garg_prior_observations"]
    for profile in ("quick", "full"):
        found = cache.origin("garg_prior_observations", profile, Layout(BOOK.root))
        names = {f"weights/{name}.safetensors" for each in own for name in registry.trainings_of(getattr(each, profile))}
        results = {f"{each.slug}.full.nc" for each in own if profile == "full"}
        assert names and names | results <= {*found.stored} and all(found.stored.values())
        assert any(name.endswith(".full.nc") for name in found.stored) == (profile == "full")
        assert bool(found.near) == (profile == "quick")
