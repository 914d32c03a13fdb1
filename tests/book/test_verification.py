"""A bundle whose files are sound, executed: what is unpacked, what goes on, what is compared and certified."""

import argparse
import json
from dataclasses import replace

import numpy as np
import pytest
from small_bundle import FILES, check, written

from book.builder.layout import Layout
from book.builder.problem import Problem
from book.release import certificate, requirements, rerun, unpacked, verify
from book.release.recorded import Recorded

JUDGED = dict(verdict="holds", control="fails", positive="", value=1.0, two_se=0.4, margin=3.0, near=False, rounding=False)
TOLD = {"verdict": "holds", "control_verdict": "fails", "positive_verdict": "", "margin": 3.0}
TOLD["found"] = {"value": 1.0, "two_se": 0.4}


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

    monkeypatch.setattr(rerun, "BOOK", replace(rerun.BOOK, root=tmp_path))
    monkeypatch.setattr(rerun, "renew", renew)
    monkeypatch.setattr(rerun.judged, "judge", lambda name, folder, profile: {"results": {name: profile}})
    monkeypatch.setattr(rerun.arguments, "notebook_names", lambda root: ["one", "two"])
    monkeypatch.setattr(rerun.book, "bring_up_to_date", lambda *_: {})
    with pytest.raises(Problem, match="stopped"):
        rerun.rerun(layout, full=True)
    rerun.rerun(layout, full=True)
    assert asked == [["a.full.nc", "b.full.nc", "weights/w.safetensors"], ["b.full.nc", "weights/w.safetensors"]]
    assert json.loads((layout.build / rerun.NOTE).read_text())["renewed"] == {"one": "full", "two": "full"}


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
    one = JUDGED | {"two_se": 0.02}
    recorded = {
        "toy": {"declaration": "{}", "trained": True, "claims": {"Z1": one, "Z2": one}},
        "gone": {"declaration": "{}", "trained": True, "claims": {}},
    }
    kept = Recorded(recorded, {"Z1": TOLD | {"verdict": "fails", "found": {"value": 1.06, "two_se": 0.02}}}, "")
    now = {"declaration": "{}", "trained": True, "claims": {"Z1": one | {"value": 1.06}, "Z2": one | {"value": 1.2}}}
    found = {"quick": {"toy": now}, "full": {"toy": now}, "earlier": [], "files": {}}
    differing, _ = verify.compare(kept, found)
    assert differing == [
        "gone is in quick.json and was not computed.",
        "Z2 has the value 1.2 ± 0.02; in quick.json it is 1 ± 0.02.",
        "Z1 holds and its control fails; in the ledger it fails and its control fails.",
        "Z2 is not in the ledger.",
    ]
    renewed = {"toy": now | {"claims": now["claims"] | {"Z1": one | {"verdict": "fails", "value": 9.0}}}}
    assert len(verify.compare(kept, found | {"renewed": renewed})[0]) == 6


LEDGER = [
    ({"verdict": "fails"}, "Z1 holds and its control fails; in the ledger it fails and its control fails."),
    ({"control_verdict": "holds"}, "Z1 holds and its control fails; in the ledger it holds and its control holds."),
    ({"margin": 7.0}, "Z1 has the margin 3; in the ledger it is 7."),
    ({"found": {"value": 1.1, "two_se": 0.4}}, "Z1 has the value 1 ± 0.4; in the ledger it is 1.1 ± 0.4."),
    ({"found": {"value": 1.0, "two_se": 40.0}}, "Z1 has the value 1 ± 0.4; in the ledger it is 1 ± 4e+01."),
    ({"found": None}, "Z1 has the value 1 ± 0.4; in the ledger it is nan ± 0."),
]


@pytest.mark.parametrize(("change", "sentence"), LEDGER)
def test_what_the_ledger_says_of_a_stored_result_is_found_again(change, sentence):
    """Five of its standard errors may lie between two samples; the same stored data gives the same number."""
    found, other = (
        {"toy": {"claims": {"Z1": JUDGED}}},
        {key: value for key, value in (TOLD | change).items() if value is not None},
    )
    assert verify.stored_differences({"Z1": TOLD}, found) == []
    assert verify.stored_differences({"Z1": TOLD | {"found": {"value": 1.02, "two_se": 0.4}}}, found) == []  # rounding
    assert verify.stored_differences({"Z1": other}, found) == [sentence]


def test_the_ledger_has_the_claims_of_the_stored_results_and_no_others():
    found, not_run = {"toy": {"claims": {"Z1": JUDGED}}}, TOLD | {"verdict": "not run", "control_verdict": "", "margin": None}
    assert verify.stored_differences({"Z1": TOLD, "Z2": TOLD}, found) == ["Z2 is in the ledger and was not judged."]
    assert verify.stored_differences({"Z2": not_run}, found) == ["Z1 is not in the ledger."]
    (sentence,) = verify.stored_differences({"Z1": TOLD | {"margin": None}}, found)
    assert sentence == "Z1 has the margin 3; in the ledger it is nan."
    endless = {"toy": {"claims": {"Z1": JUDGED | {"value": float("inf")}}}}
    assert verify.stored_differences({"Z1": {key: TOLD[key] for key in TOLD if key != "found"}}, endless) == []


@pytest.mark.parametrize("cited", [True, False])
def test_a_bundle_is_as_cited_only_when_its_digest_was_given(tmp_path, monkeypatch, cited):
    bundle = written(tmp_path / "bundle.zip", FILES)
    digest = check(bundle).digest
    given = argparse.Namespace(bundle=bundle, sha256=digest if cited else None, full=False, words=["bundle.zip"])
    monkeypatch.setattr(verify, "require_same", lambda pins: None)
    monkeypatch.setattr(verify, "execute", lambda *_: {})
    monkeypatch.setattr(verify, "compare", lambda *_: ([], ["All."]))
    assert verify.verify(given, Layout(tmp_path)) == 0
    (told,) = (tmp_path / "_build" / "verify").glob("*/certificate.json")
    assert json.loads(told.read_text())["origin"] == (certificate.CITED if cited else certificate.UNCHECKED)


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
