"""A bundle whose files are sound, executed: what is unpacked, what goes on, what is compared and certified."""

import json

import numpy as np
import pytest
from small_bundle import FILES, check, written

from book.build.layout import Layout
from book.build.problem import Problem
from book.release import certificate, requirements, rerun, unpacked, verify
from book.release.recorded import Recorded


def test_recomputing_everything_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    layout, asked = Layout(tmp_path), []
    for name in ("weights/w.safetensors", "a.full.nc", "b.full.nc"):
        (tmp_path / "book" / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "book" / "data" / name).write_text("old")

    def renew(files, layout):
        asked.append(files)
        (tmp_path / "book" / "data" / files[0]).write_text("new")
        if len(asked) == 1:
            raise Problem("stopped")

    monkeypatch.setattr(rerun.identity, "ROOT", tmp_path)
    monkeypatch.setattr(rerun, "renew", renew)
    monkeypatch.setattr(rerun.judged, "judge", lambda name, folder: {"full": {name: "renewed"}})
    monkeypatch.setattr(rerun.arguments, "notebook_names", lambda root: ["one", "two"])
    monkeypatch.setattr(rerun.book, "bring_up_to_date", lambda *_: {})
    with pytest.raises(Problem, match="stopped"):
        rerun.rerun(layout, full=True)
    rerun.rerun(layout, full=True)
    assert asked == [["a.full.nc", "b.full.nc", "weights/w.safetensors"], ["b.full.nc", "weights/w.safetensors"]]
    assert json.loads((layout.build / rerun.NOTE).read_text())["renewed"] == {"one": "renewed", "two": "renewed"}


def test_only_the_source_is_unpacked_and_what_else_lay_there_is_gone(tmp_path):
    (tmp_path / "_build").mkdir()
    for name in ("planted.py", "_build/kept"):
        (tmp_path / name).write_text("x")
    (tmp_path / "run").symlink_to("/etc/passwd")
    unpacked.unpack(FILES.items(), tmp_path)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"_build/kept"} | {name.removeprefix("source/") for name in FILES if name.startswith("source/")}
    assert (tmp_path / "run").read_bytes() == FILES["source/run"]


def test_another_environment_is_refused():
    assert requirements.differing(f"numpy=={np.__version__}\n# a comment\n") == []
    with pytest.raises(Problem, match=r"numpy 1.0, here .*; none-such 2, here none"):
        requirements.require_same("numpy==1.0\nnone-such==2\n")


def test_the_comparison_names_what_differs():
    one = {"verdict": "holds", "control": "fails", "value": 1.0, "two_se": 0.02, "margin": 3.0, "positive": "", "near": False}
    recorded = {"toy": {"declaration": "{}", "claims": {"Z1": one, "Z2": one}}, "gone": {"declaration": "{}", "claims": {}}}
    kept = Recorded(recorded, {"Z1": {"verdict": "fails"}}, "")
    now = {"declaration": "{}", "claims": {"Z1": one | {"value": 1.06}, "Z2": one | {"value": 1.2}}}
    found = {"quick": {"toy": now}, "full": {"toy": now}, "earlier": [], "files": {}}
    differing, _ = verify.compare(kept, found)
    assert differing == [
        "gone is in quick.json and was not computed.",
        "Z2 has the value 1.2 ± 0.02; in quick.json it is 1 ± 0.02.",
        "Z1 holds on the stored result; in the ledger it fails.",
    ]
    renewed = {"toy": now | {"claims": now["claims"] | {"Z1": one | {"verdict": "fails", "value": 9.0}}}}
    assert len(verify.compare(kept, found | {"renewed": renewed})[0]) == 5


def test_a_number_of_a_stored_result_that_flips_no_verdict_is_found():
    """Five of its standard errors may lie between two samples; the same stored data gives the same number."""
    judged = {"verdict": "holds", "value": 1.0, "two_se": 0.4, "margin": 3.0}
    told = {"verdict": "holds", "found": {"value": 1.0, "two_se": 0.4}}
    found = {"toy": {"claims": {"Z1": judged}}}
    assert verify.stored_differences({"Z1": told}, found) == []
    assert verify.stored_differences({"Z1": told | {"found": {"value": 1.02, "two_se": 0.4}}}, found) == []  # rounding
    (sentence,) = verify.stored_differences({"Z1": told | {"found": {"value": 1.1, "two_se": 0.4}}}, found)
    assert sentence == "Z1 has the value 1 ± 0.4 on the stored result; in the ledger it is 1.1 ± 0.4."
    (sentence,) = verify.stored_differences({"Z2": told}, found)
    assert sentence == "Z2 not run on the stored result; in the ledger it holds."


def test_the_certificate_says_what_differed(tmp_path):
    bundle = written(tmp_path / "bundle.zip", FILES)
    told = {
        **certificate.of_bundle(bundle.name, check(bundle).manifest, "abc", "def"),
        **certificate.of_machine(),
        **{"origin": certificate.UNCHECKED, "packed": "anew", "executed": ["All."], "differences": ["Z1 fails."]},
        **{"began": "now", "ended": "then", "command": "./run verify bundle.zip"},
    }
    text = certificate.write(told, tmp_path)
    assert "self-consistent, origin unchecked" in text and "Differs\n  Z1 fails." in text
    assert json.loads((tmp_path / "certificate.json").read_text())["files"] == len(FILES)
    assert str(tmp_path) not in text
