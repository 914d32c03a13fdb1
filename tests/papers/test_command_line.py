"""python -m papers: what it prints, what it returns, what it refuses."""

import json
from dataclasses import dataclass, replace

import pytest

from icl_lib.companion import results
from icl_lib.companion.settings import changed, read
from papers import registry
from papers.__main__ import main
from papers.regression.curriculum import Ramp
from tests.elsewhere import move_book


def test_list_names_every_experiment_and_claim(capsys):
    assert main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["slug"] for row in rows} == set(registry.EXPERIMENTS)
    assert {c["id"] for row in rows for c in row["claims"]} == set(registry.CLAIMS)
    assert all(set(c) == {"id", "kind", "confidence"} for row in rows for c in row["claims"])
    assert main(["list"]) == 0
    assert "zhang-risk" in capsys.readouterr().out


def test_check_prints_one_row_a_claim(capsys):
    assert main(["check", "zhang-rank-one-trap", "--seed", "5", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert list(row) == ["claim", "verdict", "control_verdict", "value", "margin", "seconds"]
    assert (row["claim"], row["verdict"], row["control_verdict"]) == ("Z26b", "holds", "fails")


def test_cuda_without_a_device_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for command in (["compute", "zhang-flow"], ["check", "zhang-flow"]):
        assert main([*command, "--device", "cuda"]) == 2
        assert "no CUDA device" in capsys.readouterr().err


@dataclass(frozen=True)
class Inner:
    beta: float


@dataclass(frozen=True)
class Outer:
    setting: Inner
    steps: int
    lengths: tuple[int, ...]
    shares: tuple[float, ...]
    tasks: str


OUTER = Outer(Inner(2.0), 10, (4, 8), (0.5,), "cyclic 3")


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("setting.beta", "3", replace(OUTER, setting=Inner(3.0))),
        ("steps", "7", replace(OUTER, steps=7)),
        ("lengths", "(5, 9)", replace(OUTER, lengths=(5, 9))),
        ("lengths", "6", replace(OUTER, lengths=(6,))),
        ("shares", "[1, 0.25]", replace(OUTER, shares=(1.0, 0.25))),
        ("tasks", "one-sided", replace(OUTER, tasks="one-sided")),
    ],
)
def test_a_field_of_a_declaration_can_be_set(field, text, expected):
    assert changed(OUTER, {field: read(text, field)}) == expected


@pytest.mark.parametrize(
    ("field", "text", "says"),
    [
        ("stesp", "7", "'stesp': did you mean steps"),
        ("setting", "7", "name one, such as setting.X=VALUE"),
        ("setting.gamma", "7", "unknown field of Inner 'gamma': take one of beta"),
        ("steps.beta", "7", "steps is one value"),
        ("steps", "7.5", "not of the kind"),
        ("steps", "", "not of the kind"),
        ("tasks", "7", "not of the kind"),
        ("lengths", "four", "not of the kind"),
        ("lengths", "(4, 'x')", "not of the kind"),
        ("shares", "()", "not of the kind"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(field, text, says):
    with pytest.raises(ValueError, match=says):
        changed(OUTER, {field: read(text, field)})


def test_settings_reach_the_run_and_are_recorded(tmp_path, capsys):
    out = tmp_path / "flow.nc"
    assert main(["compute", "zhang-flow", "--set", "starts=1", "--out", str(out)]) == 0
    assert json.loads(results.load(out).attrs["declaration"])["starts"] == 1
    assert main(["compute", "zhang-flow", "--set", "nonsense"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err


def test_the_scale_of_a_paper_is_a_profile_of_its_own(capsys):
    assert main(["compute", "zhang-risk", "--profile", "published"]) == 2
    assert "zhang-risk declares nothing at the paper's own scale" in capsys.readouterr().err
    declared = registry.experiment("zhang-gpt2").declaration("published")
    assert [training.N for training in declared.fixed] == [40, 70, 100]
    for training in declared.fixed + declared.random:
        assert (training.layers, training.heads, training.width, training.d) == (12, 8, 256, 20)
        assert (training.B, training.steps, training.rate) == (64, 500_000, 1e-4)
        assert registry.training(training.name) is training and training.name not in registry.TRAININGS


def test_a_network_at_the_scale_of_a_paper_is_kept_and_not_shipped(tmp_path, monkeypatch, capsys):
    tiny = replace(
        registry.training("gpt2-paper-fixed-40"),
        layers=1,
        heads=1,
        width=4,
        d=1,
        N=2,
        sparsity=1,
        room=4,
        dims=Ramp(1, 1, 1, 1),
        points=Ramp(3, 3, 1, 1),
        B=2,
        steps=3,
    )
    monkeypatch.setitem(registry.PUBLISHED_TRAININGS, tiny.name, tiny)
    move_book(monkeypatch, store=tmp_path / "shipped", build=tmp_path / "kept")
    for _ in range(2):
        assert main(["train", tiny.name]) == 0
    assert capsys.readouterr().out.count(tiny.name) == 2
    assert len(list((tmp_path / "kept" / "weights").iterdir())) == 1 and not (tmp_path / "shipped").exists()
