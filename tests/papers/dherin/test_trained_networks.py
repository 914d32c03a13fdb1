"""Networks trained on linear regression: declarations, the training, and the shipped weights."""

from dataclasses import dataclass, replace

import pytest
import torch

from icl_lib.companion import origins, results, weights
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers import BOOK, registry, renewal
from papers.__main__ import main
from papers.dherin.real_models.recall_training import GPT, LLAMA
from papers.dherin.trained import (
    ManyBlocks,
    OneBlock,
    Training,
    cosine,
    of_other_tasks,
    predictions,
    prefix_predictions,
    regression,
    start,
    tasks,
    tokens,
    train_marks,
    trained,
    untrained,
)
from papers.regression.trainings import FIXED, FROZEN, RANDOM
from tests.elsewhere import move_book

TINY = Training(
    "tiny",
    OneBlock("softmax attention", d=2, width=4, heads=2, hidden=6),
    N=5,
    every_prefix=False,
    B=8,
    rate=1e-2,
    steps=6,
    replicates=2,
)
DEEP = replace(TINY, name="deep", model=ManyBlocks(depth=2, d=2, width=4, heads=2, hidden=6))


@dataclass(frozen=True)
class Holder:
    training: Training
    others: tuple[Training, ...]
    number: int


def prompts(d: int, shape: tuple[int, ...] = (7,), N: int = 5) -> Prompts:
    return regression(d).sample(stream(0, "prompts"), shape, N)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Send weights to an empty folder."""
    move_book(monkeypatch, store=tmp_path / "shipped", build=tmp_path / "made")
    return tmp_path


@pytest.mark.parametrize("layer", ["softmax attention", "tanh RNN", "GRU"])
def test_predictions_are_the_last_entry_at_the_query(layer):
    model = replace(TINY.model, layer=layer)
    network, batch = model.network(), prompts(2)
    weights = network.start(stream(0, "weights"), (), torch.zeros((), dtype=torch.float64))
    sequence = tokens(batch)
    assert torch.equal(sequence[:, -1, -1], torch.zeros(7)) and torch.equal(sequence[:, :-1, -1], batch.y)
    found = predictions(network, weights, batch)
    assert torch.allclose(found, network(weights, sequence)[:, -1])
    every = prefix_predictions(network, weights, batch)
    assert every.shape == (7, 6) and torch.allclose(every[:, -1], found)
    third = Prompts(batch.x[:, :3], batch.y[:, :3], batch.x[:, 3], batch.y[:, 3])
    assert torch.allclose(every[:, 3], predictions(network, weights, third))


@pytest.mark.parametrize("model", [TINY.model, DEEP.model])
def test_heads_divide_the_width(model):
    with pytest.raises(ValueError, match="3 heads of 4 channels: heads must divide the width"):
        replace(model, heads=3)


def test_a_deep_network_predicts_at_the_query():
    network, batch = DEEP.model.network(), prompts(2)
    weights = network.start(stream(0, "weights"), (), torch.zeros((), dtype=torch.float64))
    assert torch.equal(predictions(network, weights, batch), network(weights, tokens(batch))[:, -1])


@pytest.mark.parametrize("training", [TINY, DEEP, replace(TINY, every_prefix=True)])
def test_training_keeps_its_marks_and_replicates_do_not_meet(training):
    found = train_marks(training, 3, "cpu", (0, 2))
    assert sorted(found) == [0, 2, 6]
    begun = start(training, 3, "cpu")
    assert all(torch.equal(found[0].weights[name], weight.double()) for name, weight in begun.items())
    shorter = train_marks(replace(training, replicates=1), 3, "cpu", ())[6]
    assert found[6].replicates == 2 and shorter.replicates == 1
    with pytest.raises(ValueError, match="steps from 0 to 6"):
        train_marks(training, 3, "cpu", (7,))


@pytest.mark.parametrize("every_prefix", [False, True])
def test_one_step_moves_every_weight_by_the_learning_rate(every_prefix):
    """The first step of Adam is rate times the sign of the gradient, here of torch.autograd on the same prompts."""
    once = replace(TINY, steps=1, replicates=1, every_prefix=every_prefix)
    found = train_marks(once, 0, "cpu", (0,))
    weights = {name: w.float().requires_grad_() for name, w in found[0].replicate(0).items()}
    batch = regression(2, torch.float32).sample(stream(0, "data/0"), (1, 8), 5)
    batch = Prompts(*(part[0] for part in batch))
    if every_prefix:
        errors = prefix_predictions(once.model.network(), weights, batch) - torch.cat([batch.y, batch.y_query[:, None]], -1)
    else:
        errors = predictions(once.model.network(), weights, batch) - batch.y_query
    loss = errors.square().mean()
    gradients = torch.autograd.grad(loss, list(weights.values()))
    for (name, before), gradient in zip(weights.items(), gradients, strict=True):
        step = found[1].replicate(0)[name] - before.detach()
        clear = gradient.abs() > 1e-5
        assert torch.allclose(step[clear], -1e-2 * gradient[clear].sign().double(), rtol=1e-2)


def test_the_schedule_ends_at_nothing():
    assert (cosine(0), cosine(1)) == (1, 0) and cosine(0.5) == pytest.approx(0.5)
    assert [cosine(1 / 4), cosine(2 / 3)] == pytest.approx([0.8535534, 0.25])  # along a line it would be 0.75 and 0.33


def test_weights_are_trained_once_and_kept(nowhere):
    nameless = replace(TINY, name="")
    first = trained(nameless, 1, "cpu")
    (kept,) = (nowhere / "made" / "weights").iterdir()
    stamp = kept.stat().st_mtime_ns
    again = trained(nameless, 1, "cpu")
    assert kept.stat().st_mtime_ns == stamp
    assert all(torch.equal(again.weights[name], w) for name, w in first.weights.items())
    trained(nameless, 2, "cpu")
    trained(replace(nameless, rate=2e-2), 1, "cpu")
    assert len(list((nowhere / "made" / "weights").iterdir())) == 3


def test_a_shipped_network_has_a_seed_of_its_own(nowhere):
    """The seed of a run draws what a network is evaluated on, and trains none anew."""
    first, same = trained(TINY, 1, "cpu"), trained(TINY, 2, "cpu")
    before = weights.origin(TINY, 1, "cpu")
    token = weights.TRAINING_SEED.set(4)
    try:
        other, origin = trained(TINY, 1, "cpu"), weights.origin(TINY, 1, "cpu")
    finally:
        weights.TRAINING_SEED.reset(token)
    assert all(torch.equal(same.weights[name], w) for name, w in first.weights.items())
    assert not all(torch.equal(other.weights[name], w) for name, w in first.weights.items())
    assert origin["identity"] != before["identity"] and "trained with seed 4" in str(origin)
    assert len(list((nowhere / "made" / "weights").iterdir())) == 2


def test_shipped_weights_are_used_only_when_they_match(nowhere):
    file = nowhere / "shipped" / "weights" / "tiny.safetensors"
    W = torch.arange(3.0)
    made_from = results.provenance("tiny", "weights", origins.origin(TINY, 0, "cpu"), BOOK)
    weights.save_weights({"W": W}, made_from, file)
    assert torch.equal(weights.load_weights(file, TINY, 0)["W"], W)
    assert weights.load_weights(file, TINY, 1) is None
    assert weights.load_weights(file, replace(TINY, N=6), 0) is None
    never = weights.obtain_weights("tiny", TINY, 0, "cpu", lambda: pytest.fail("trained in place of loaded"))
    assert torch.equal(never["W"], W)
    later = made_from["versions"].replace('"torch": "2.', '"torch": "3.')
    forged = {"code": ("0", "code is 0"), "identity": ("0", "identity is 0"), "versions": (later, 'versions torch is "3.')}
    for field, (other, told) in forged.items():
        weights.save_weights({"W": W}, made_from | {field: other}, file)
        assert weights.load_weights(file, TINY, 0) is None
        assert weights.outdated(file, TINY, 0).startswith(f"tiny.safetensors is outdated: its {told}")
    assert "is missing: ./run renew missing makes it" in weights.outdated(nowhere / "missing.safetensors", TINY, 0)


def test_weights_that_other_versions_trained_are_read_and_this_is_told_once(nowhere, capsys):
    file, made_with = nowhere / "shipped" / "weights" / "tiny.safetensors", '{"torch": "0.1", "numpy": "0.2", "scipy": "0.3"}'
    weights.save_weights({"W": torch.ones(3)}, origins.origin(TINY, 0, "cpu", made_with=made_with), file)
    assert all(torch.equal(weights.load_weights(file, TINY, 0)["W"], torch.ones(3)) for _ in range(2))
    assert weights.load_weights(file, TINY, 1) is None and weights.load_weights(file, replace(TINY, N=6), 0) is None
    assert weights.outdated(file, TINY, 0).startswith('tiny.safetensors is outdated: its versions torch is "0.1"')
    assert capsys.readouterr().err.count("What is stored was made with torch 0.1, numpy 0.2, scipy 0.3; here are torch ") == 1


def test_a_result_is_outdated_by_other_weights(nowhere):
    file, holder = nowhere / "shipped" / "weights" / "tiny.safetensors", Holder(TINY, (), 1)
    assert weights.shipped(holder) == {}
    made_from = results.provenance("tiny", "weights", origins.origin(TINY, 0, "cpu"), BOOK)
    found = []
    for number in (1.0, 1.0, 2.0):
        weights.save_weights({"W": number * torch.ones(3)}, made_from | {"created": str(len(found))}, file)
        found.append(weights.origin(holder, 0, "cpu")["identity"])
    assert weights.shipped(holder) == {"tiny": weights.tensors_digest({"W": 2 * torch.ones(3)})}
    assert found[0] == found[1] != found[2]
    assert origins.origin(holder, 0, "cpu")["identity"] not in found


@pytest.mark.parametrize(
    ("model", "says"),
    [(("LSTM", 2, 4, 2, 6), "LSTM"), (("softmax attention", 2, 4, 3, 6), "must divide")],
)
def test_impossible_networks_are_refused(model, says):
    with pytest.raises((ValueError, TypeError), match=says):
        OneBlock(*model)


def test_a_declaration_names_the_weights_it_needs():
    one, rnn = registry.TRAININGS["one-block"], registry.TRAININGS["prefix-rnn"]
    assert registry.trainings_of(Holder(one, (rnn, TINY), 3)) == ["one-block", "prefix-rnn"]
    assert registry.trainings_of(Holder(replace(one, steps=3), (), 3)) == []


NETWORKS, _ = renewal.items([])
"""Those of every wing that are shipped, each with its seed."""


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
def test_shipped_weights_are_current_and_small(network):
    path = BOOK.store / "weights" / f"{network.name}.safetensors"
    assert weights.outdated(path, registry.TRAININGS[network.training], network.seed) is None
    assert path.stat().st_size < 4_000_000


def test_every_shipped_file_has_a_training():
    assert {file.stem for file in (BOOK.store / "weights").glob("*.safetensors")} == {network.name for network in NETWORKS}
    assert [network.training for network in NETWORKS if network.seed == 2] == [
        t.name for t in (*FIXED, *RANDOM, *FROZEN, LLAMA, GPT)
    ]


def test_train_writes_the_shipped_file(nowhere, monkeypatch, capsys):
    monkeypatch.setitem(registry.TRAININGS, "tiny", TINY)
    monkeypatch.setattr(results, "commit", lambda of: "0123456789ab")
    assert main(["train", "tiny"]) == 0
    assert capsys.readouterr().out.startswith("tiny: ")
    assert weights.load_weights(nowhere / "shipped" / "weights" / "tiny.safetensors", TINY, 0) is not None
    assert main(["train", "nothing"]) == 2
    assert "unknown training 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "drawn_with"), [("tiny", 0), ("", 7)])
def test_networks_before_training_are_those_that_were_trained(name, drawn_with):
    """Networks that are shipped were drawn with their own seed, whatever the run's seed is; others with that of the run."""
    found, expected = untrained(replace(TINY, name=name), 7), start(TINY, drawn_with, "cpu")
    assert all(torch.equal(found.weights[key], expected[key].double()) for key in expected)


def test_labels_of_another_task_are_those_that_it_gives_these_inputs():
    drawn = prompts(2)
    found, w = of_other_tasks(drawn), tasks(drawn)
    assert torch.allclose((drawn.x * w[:, None]).sum(-1), drawn.y)
    for k in range(7):
        assert torch.allclose(found.y[k], drawn.x[k] @ w[k - 1]) and torch.equal(found.x[k], drawn.x[k])
