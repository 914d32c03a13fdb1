"""The committed numbers of the quick profile: how they are made, and what counts as another number."""

from types import SimpleNamespace

import pytest
import xarray as xr

from book.builder import judged, outputs, quick, verdicts
from book.builder.layout import Layout
from icl_lib.companion import Claim, Discrepancy, results
from icl_lib.companion.quick import stored_quick
from papers import registry

MARGIN = 0.1


def stored(trained: bool = False, **entry) -> dict:
    words, numbers = dict(verdict="holds", control="fails", positive=""), dict(value=0.05, two_se=0.0, margin=MARGIN)
    plain = words | numbers | dict(resolution=None, near=False, rounding=False)
    return {"toy": {"declaration": "Toy()", "trained": trained, "claims": {"Z0": plain | entry}}}


def test_a_changed_verdict_is_a_difference_unless_it_was_near():
    found = stored(verdict="undecided")
    (sentence,) = quick.differences(stored(), found)
    assert sentence == "Z0 is undecided and its control fails; in quick.json it holds and its control fails."
    near = stored(verdict="undecided", near=True)
    assert quick.differences(stored(near=True), near) == []
    assert quick.near_differences(stored(near=True), near)[0].startswith(
        "Z0 is undecided and its control fails; in quick.json it"
    )
    assert quick.near_differences(stored(near=True), stored(near=True)) == quick.near_differences({}, near) == []
    for before, now in ((stored(near=True), found), (stored(), near)):  # one of the two could be said by nobody
        assert len(quick.differences(before, now)) == 1 and quick.near_differences(before, now) == []
    for before, now in (
        (stored(True, near=True), stored(True, verdict="undecided")),
        (stored(), stored(True, verdict="undecided", near=True)),
    ):
        assert quick.differences(before, now) == [], "of other networks the errors are others, and so is what is near"
    assert len(quick.differences(stored(), stored(True, verdict="undecided"))) == 1
    assert len(quick.differences(stored(), stored(control="holds"))) == 1
    assert len(quick.differences(stored(positive="holds"), stored(positive="fails"))) == 1


@pytest.mark.parametrize(("errors", "different"), [(6, True), (-6, True), (4, False), (-4, False)])
def test_values_differ_beyond_five_standard_errors_of_their_difference(errors, different):
    """Standard errors 0.003 and 0.004 make 0.005 of the difference."""
    before, now = stored(True, two_se=0.006), stored(True, two_se=0.008, value=0.05 + errors * 0.005)
    assert bool(quick.differences(before, now)) is different


def test_what_is_not_trained_has_the_same_value_and_error_on_every_machine():
    assert quick.differences(stored(two_se=0.006), stored(two_se=0.006, value=0.0509)) == []
    assert quick.differences(stored(two_se=0.006), stored(two_se=0.006, value=0.0511))
    assert quick.differences(stored(two_se=0.16), stored(two_se=0.162))


def test_a_value_without_error_may_move_by_one_percent_of_the_larger_of_it_and_the_margin():
    assert quick.differences(stored(), stored(value=0.0509)) == []
    assert quick.differences(stored(), stored(value=0.0511)) == ["Z0 has the value 0.0511 ± 0; in quick.json it is 0.05 ± 0."]
    assert quick.differences(stored(value=-8.0), stored(value=-8.07)) == []


def test_neither_errors_of_another_size_nor_another_margin_make_room():
    before, now = stored(True, two_se=0.006), stored(True, two_se=0.006, value=0.09)
    assert quick.differences(before, now)
    for other in (dict(two_se=0.6), dict(two_se=1e9), dict(margin=1e-4), dict(margin=10.0)):
        assert quick.differences(stored(True, **{"two_se": 0.006, **other}), now), other
        assert quick.differences(stored(True, **{"two_se": 0.006, **other}), before), other
    assert quick.differences(stored(True, two_se=0.05), before) == []
    assert quick.differences(stored(two_se=1e-17), stored(two_se=9e-17)) == []  # rounding


def test_rounding_may_be_any_rounding_within_the_margin():
    identity = dict(margin=1e-13, rounding=True)
    assert quick.differences(stored(value=3e-16, **identity), stored(value=8e-14, **identity)) == []
    assert quick.differences(stored(value=3e-16, **identity), stored(value=2e-13, **identity))


def test_no_number_is_no_number():
    nan, inf = float("nan"), float("inf")
    assert [quick.differences(stored(value=x), stored(value=x)) for x in (nan, inf)] == [[], []]
    assert quick.differences(stored(), stored(value=nan)) and quick.differences(stored(value=inf), stored())


def test_missing_claims_and_other_declarations_are_told():
    none = {"toy": {"declaration": "Toy()", "trained": False, "claims": {}}}
    for before in (none, {}):
        assert quick.differences(before, stored()) == ["Z0 is not in quick.json; ./run outputs writes it."]
    assert quick.differences(stored(), none) == ["Z0 is in quick.json and was not judged."]
    assert quick.differences(stored(), {}) == []  # of a notebook that has other experiments
    other = {"toy": none["toy"] | {"declaration": "Toy(N=3)"}}
    assert quick.differences(stored(), other) == ["toy is declared otherwise than in quick.json; ./run outputs writes it anew."]


def claim() -> Claim:
    texts = dict.fromkeys(("paper", "section", "sentence", "confidence", "kind"), "text")
    controls = {"another": lambda ds: ds + 9}
    check = lambda ds: Discrepancy(ds.x)  # noqa: E731
    return Claim(id="Z0", experiment="toy", margin=MARGIN, check=check, controls=controls, told={}, **texts)


def executed(folder, name: str, x: float) -> SimpleNamespace:
    attributes = dict(slug="toy", profile="quick", seed="0", declaration="Toy()")
    results.save(xr.Dataset({"x": x}, attrs=attributes), folder / name / "results" / "toy.quick.nc")
    places = dict(folder=folder / name, results=folder / name / "results", notebook=folder / name / f"{name}.ipynb")
    return SimpleNamespace(name=name, **places)


def test_what_executed_notebooks_saved_is_judged_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "CLAIMS", {"Z0": claim()})
    path, far = tmp_path / "data" / "quick.json", executed(tmp_path, "far", 0.05)
    assert not quick.update({"far": far}, path)
    assert stored_quick(path) == judged.of(far, "quick") == stored()
    near = executed(tmp_path, "near", 0.0995)
    assert quick.update({"near": near}, path) and not near.folder.exists()  # it will show another verdict
    assert stored_quick(path)["toy"]["claims"]["Z0"]["near"]
    assert not quick.update({"near": executed(tmp_path, "near", 0.0995)}, path)
    assert quick.update({"far": far}, path) and not far.folder.exists()


def test_a_verdict_in_full_answers_for_the_weights_that_its_result_reads(tmp_path, monkeypatch):
    experiment = registry.experiment("li-decoder")
    monkeypatch.setattr(registry, "EXPERIMENTS", {experiment.slug: experiment})
    stored = judged.judge(experiment.notebook, tmp_path, "full")["stored"]
    assert {"li-decoder.full.nc", "weights/li-decoder.safetensors"} <= {*stored}
    one = SimpleNamespace(name=experiment.notebook, folder=tmp_path)
    note = tmp_path / judged.NOTE.format("full")
    before = judged.of(one, "full")
    for torn in ("", "[]", "{"):
        note.write_text(torn)
        assert judged.of(one, "full") == before, "a note that is torn is written anew"


@pytest.mark.parametrize(("x", "executions"), [(0.05, 1), (0.0995, 2)])
def test_outputs_are_taken_after_the_numbers_are_written(tmp_path, monkeypatch, x, executions):
    """A claim that is near its margin is shown otherwise, so its notebook is executed once more."""
    done = []

    def bring_up_to_date(names, asked, layout):
        done.append(stored_quick(layout.stored_results / quick.FILE))
        return {"one": executed(tmp_path, "one", x)}

    monkeypatch.setattr(registry, "CLAIMS", {"Z0": claim()})
    monkeypatch.setattr(outputs.book, "bring_up_to_date", bring_up_to_date)
    monkeypatch.setattr(outputs, "replaced", lambda path, notebook, moved: moved and path.name == notebook.name == "one.ipynb")
    assert outputs.refresh([], Layout(tmp_path)) == ["one"]
    assert len(done) == executions and done[0] == {} and all(done[1:])


def test_what_a_notebook_left_counts_before_what_an_edition_recorded(monkeypatch):
    def found(claim, verdict):
        numbers = {"value": 1.0, "two_se": 0.0, "margin": 0.5, "resolution": None}
        return {"claims": {claim: numbers | {"verdict": verdict, "control": "fails", "positive": ""}}}

    left = {"quick": {"zhang-risk": found("Z10", "fails")}, "full": {}}
    monkeypatch.setattr(verdicts.judged, "of", lambda one, profile: left[profile])
    recorded = {"zhang-risk": found("Z10", "holds"), "zhang-averaged-error": found("Z11b", "holds")}
    rows = {row.claim.id: row.quick.verdict for row in verdicts.ledger(["a notebook"], recorded)}
    assert (rows["Z10"], rows["Z11b"], rows["Z1"]) == ("fails", "holds", verdicts.NOT_RUN)


def test_numbers_that_another_machine_may_find_stay_as_they_are_and_so_do_those_of_other_notebooks(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "CLAIMS", {"Z0": claim()})
    path, other = tmp_path / "quick.json", {"other": stored()["toy"]}
    quick.update({"one": executed(tmp_path, "one", 0.05)}, path)
    before = path.read_text()
    quick.update({"one": executed(tmp_path, "two", 0.05 * (1 + 1e-9))}, path)
    assert path.read_text() == before
    quick.update({"one": executed(tmp_path, "three", 0.06)}, path, other)
    assert stored_quick(path)["toy"]["claims"]["Z0"]["value"] == 0.06 and stored_quick(path)["other"] == other["other"]
