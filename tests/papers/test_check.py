"""`./run check`: what makes it exit with 1, what it tells besides, and that options are honoured."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from book import job
from icl_lib.companion import Judgement, results, weights
from icl_lib.companion.marks import unmarked
from icl_lib.typed import CALLER, MOST, Misdeclared
from papers import check_command, registry
from papers.__main__ import main, parser
from papers.check_command import contradiction, remark
from tests.elsewhere import move_book

SLUG = "zhang-rank-one-trap"


def judged(verdict="holds", near="fails", resolution=float("nan")):
    return Judgement(registry.CLAIMS["Z8"], verdict, near, value=0.0, two_se=1.0, margin=0.5, resolution=resolution)


@pytest.mark.parametrize(
    ("judgement", "quick", "full"),
    [
        (judged(), True, True),
        (judged("undecided"), True, False),
        (judged("fails"), False, False),
        (replace(judged(), claim=replace(registry.CLAIMS["Z8"], recorded="undecided")), True, False),
        (judged(near="undecided"), True, False),
        (judged(near="undecided", resolution=0.1), True, False),
        (judged(near="holds"), False, False),
        (judged(near="holds", resolution=0.1), True, False),
    ],
)
def test_what_contradicts_the_record(judgement, quick, full):
    assert (not contradiction(judgement, "quick"), not contradiction(judgement, "full")) == (quick, full)


def test_a_near_miss_may_hold_in_settings_of_ones_own_and_a_wrong_verdict_may_not():
    assert not contradiction(judged(near="holds"), "full", own_settings=True)
    assert contradiction(judged("fails"), "full", own_settings=True) == "fails, recorded: holds"


def test_a_near_miss_that_is_not_rejected_is_told():
    assert remark(judged(), "quick") == ""
    assert remark(judged(near="undecided"), "quick").startswith("its near miss is undecided; these data cannot tell it")
    assert remark(judged(near="holds"), "full", own_settings=True).startswith("its near miss holds; these data cannot")


@pytest.fixture
def one_claim(monkeypatch):
    """The claims of one result, as a test sets them: a claim with its judgement."""

    def set_to(**judgement):
        found = replace(judged(), claim=registry.CLAIMS["Z26b"], **judgement)
        stand_in = SimpleNamespace(id="Z26b", recorded="holds", judge=lambda dataset: found)
        monkeypatch.setattr(registry, "claims_of", lambda slug: [stand_in])

    return set_to


def test_check_names_the_claim_that_makes_it_exit_with_1(one_claim, capsys):
    one_claim(verdict="fails")
    assert main(["check", SLUG]) == 1
    assert capsys.readouterr().err == "Z26b contradicts the record: fails, recorded: holds\n"


def test_check_tells_a_near_miss_that_quick_cannot_reject_and_exits_with_0(one_claim, capsys):
    one_claim(control_verdict="undecided")
    assert main(["check", SLUG]) == 0
    assert capsys.readouterr().err.startswith("Z26b: its near miss is undecided; these data cannot tell it from the claim")


def test_what_one_result_lacks_is_told_before_any_is_computed(monkeypatch, capsys):
    lacking = replace(registry.EXPERIMENTS["dherin-recall"], needs=("llamas",))
    monkeypatch.setitem(registry.EXPERIMENTS, "dherin-recall", lacking)
    assert main(["check", SLUG, "dherin-recall"]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1) and "dherin-recall needs llamas, which is missing" in said.err


def test_rows_in_json_are_printed_as_they_come(monkeypatch, capsys):
    seen = []

    def counted(experiments):
        for experiment in experiments:
            yield experiment
            seen.append(capsys.readouterr().out)

    monkeypatch.setattr(check_command, "counted", counted)
    assert main(["check", SLUG, SLUG, "--json"]) == 0
    assert all('"claim": "Z26b"' in each for each in seen) and len(seen) == 2
    assert len(json.loads("".join(seen) + capsys.readouterr().out)) == 2


def test_without_a_terminal_it_says_now_and_then_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(check_command, "OFTEN", 0)
    three = [registry.EXPERIMENTS[SLUG]] * 3
    assert list(check_command.counted(three)) == three
    assert "2 of 3 results after 0 s" in capsys.readouterr().err


@pytest.mark.long
def test_a_figure_is_drawn_of_the_networks_that_were_asked_for(monkeypatch, tmp_path):
    seeds = []
    monkeypatch.setattr(weights, "trainings", lambda declaration: [(SimpleNamespace(name="network"), 0)])
    monkeypatch.setattr(weights, "shipped", lambda declaration: seeds.append(weights.TRAINING_SEED.get()) or {})
    for words, wanted in ((["--train-seed", "1"], 1), ([], 0)):
        assert main(["figure", "zhang-flow", *words, "--out", str(tmp_path / "x.svg")]) == 0
        assert {*seeds} == {wanted}
        seeds.clear()


@pytest.mark.parametrize("command", ["compute", "figure", "check"])
def test_a_seed_of_trainings_is_refused_where_nothing_was_trained(command, capsys):
    assert main([command, SLUG, "--train-seed", "1"]) == 2
    assert capsys.readouterr().err == f"error: {SLUG} reads no trained networks in this profile: leave out --train-seed\n"


def test_a_file_is_written_where_the_command_was_given(monkeypatch, tmp_path):
    monkeypatch.setenv(CALLER, str(tmp_path))
    assert main(["compute", SLUG, "--out", "mine.nc"]) == 0
    assert results.load(tmp_path / "mine.nc").attrs["slug"] == SLUG
    asked = parser().parse_args(["merge", "one", "/two", "--out", "three"])
    assert [str(each) for each in (*asked.folders, asked.out)] == [f"{tmp_path}/one", "/two", f"{tmp_path}/three"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", "zhang-rsik"], "unknown experiment 'zhang-rsik': did you mean zhang-risk"),
        (["check", "Z1"], "Z1 is a claim: take its experiment, zhang-one-step"),
        (["check", "zhang_1_introduction"], "zhang_1_introduction is a notebook: take one of its experiments, zhang-one-step"),
        (["check", "nothing-like-it"], f"and {len(registry.EXPERIMENTS) - MOST} more; ./run list has them all"),
        (["check", "--set", "N=3"], "name the experiment"),
        (["compute", "zhang-flow", "--set", "starts=2", "--set", "starts=3"], "starts is set twice"),
        (["compute", SLUG, "--out", "/proc/nowhere/flow.nc"], "nowhere"),
        (["train", "gpt2-fixd-20"], "unknown training 'gpt2-fixd-20': did you mean"),
        (["renew", "--list", "zhang-rsik"], "unknown result or shipped network 'zhang-rsik': did you mean zhang-risk"),
        (["compute", "zhang-flow", "--set", "start=1"], "unknown field of"),
        (["compute", "zhang-flow", "--set", f"starts={'-' * 50_000}1"], "is too long to be read"),
        (["compute", "zhang-time-course", "--set", f"kappa={'9' * 400}"], "larger than any number"),
        (["compute", "zhang-time-course", "--set", f"N={'9' * 5000}"], "is not of the kind"),
        (["compute", "zhang-time-course", "--set", "N={{}}"], "is not of the kind"),
        (["sweep", SLUG, "--shard", f"1/{'9' * 5000}"], "there is no shard"),
    ],
)
def test_what_cannot_be_asked_gets_one_sentence(words, says, capsys):
    assert main(words) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and says in message and message.count("\n") == 1 and len(message) < 600


@pytest.mark.parametrize(
    "error", [MemoryError(), OverflowError("x"), RecursionError("x"), RuntimeError("not enough memory:\n9")]
)
def test_what_is_too_large_gets_one_sentence(error, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("icl_lib.companion.experiment.Experiment.measure", fail)
    assert main(["compute", SLUG]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: this cannot be computed here") and message.count("\n") == 1
    monkeypatch.setattr("icl_lib.companion.experiment.Experiment.measure", lambda *_: {}[3])
    with pytest.raises(KeyError):
        main(["compute", SLUG])
    assert main(["compute", "zhang-flow", "--set", "starts=2"]) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sweep", "--seeds", "0-99999999999"], "names more than 10000 seeds"),
        (["sweep", "--seeds", f"0-{'9' * 5000}"], "names no seeds"),
        (["sweep", "--jobs", "9" * 5000], "is no positive number"),
        (["check", "--seed", "9" * 5000], "is no seed"),
        (["compute", SLUG, "--profile", "huge"], "invalid choice"),
        (["compute", SLUG, "--device", "tpu"], "invalid choice"),
        (["renew", "--list", "--all"], "not allowed with argument --list"),
        (["compute", SLUG, "--out", "a.csv"], "does not end in .nc"),
        (["figure", SLUG, "--out", "a.png"], "does not end in .svg"),
        *((["compute", SLUG, "--out", place], "not a file that can be written") for place in ("/dev/null", "/", "")),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_short_sentence(words, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(words)
    said = capsys.readouterr().err
    assert stopped.value.code == 2 and says in said and said.count("\n") == 1 and len(said) < 200


@pytest.mark.parametrize("change", [{"seeds": [-1]}, {"seeds": "12"}, {"settings": 5}, {"slugs": [3]}, None])
def test_a_plan_of_a_sweep_that_is_none_is_refused_before_anything_is_written(change, tmp_path, capsys):
    sound = {"slugs": [SLUG], "profile": "quick", "seeds": [0], "settings": [], "device": "cpu"}
    plan = tmp_path / "in" / "plans" / "a.json"
    plan.parent.mkdir(parents=True)
    plan.write_text(json.dumps(sound | change) if change else "[" * 100_000)
    assert main(["merge", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 2
    assert "a.json is damaged: remove it" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_training_that_nobody_asked_for_is_told(monkeypatch, tmp_path, capsys):
    move_book(monkeypatch, store=tmp_path / "shipped", build=tmp_path / "kept")
    training = registry.training(next(iter(registry.TRAININGS)))
    quick = SimpleNamespace(name=training.name, train=lambda seed, device: {})
    monkeypatch.setattr(weights.origins, "origin", lambda *_, **__: {"identity": "0" * 64})
    monkeypatch.setattr(weights.origins, "tell_of_other_versions", lambda *_: None)
    weights.obtain_weights(training.name, quick, 0, "cpu")
    assert (
        f"Training {training.name}, which may take minutes, for {training.name}.safetensors is missing"
        in capsys.readouterr().err
    )
    weights.obtain_weights(training.name, quick, 0, "cpu")
    assert capsys.readouterr().err == ""


def test_another_seed_at_full_scale_is_told_with_what_computes_it():
    experiment = registry.EXPERIMENTS[SLUG]
    with pytest.raises(results.StaleResult, match=f"seed 0 alone.* ./run check {SLUG} --profile full --seed 7"):
        results.obtain(experiment, "full", 7)


def test_a_terminal_shows_no_marks():
    assert unmarked("risk ⟨0.12⟩ and ⟨\na\n⟩") == "risk 0.12 and a"


def test_a_claim_numbered_by_another_wing_is_refused():
    claim = next(iter(registry.CLAIMS.values()))
    with pytest.raises(Misdeclared, match=r"A9 stands in papers\.zhang\..*, whose claims are numbered by Z.*: rename it"):
        registry._order(replace(claim, id="A9"))


def test_a_job_tells_in_one_sentence_what_is_misdeclared(tmp_path, monkeypatch, capsys):
    (tmp_path / "wrong.py").write_text("from icl_lib.typed import Misdeclared\nraise Misdeclared('O1 is about oswald-stpe')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.argv", ["job"])
    assert job.main(["wrong"]) == 2
    assert capsys.readouterr().err == "error: O1 is about oswald-stpe\n"
