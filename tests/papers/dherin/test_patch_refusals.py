"""What `./run patch` refuses: each in one sentence and with status 2, before anything is computed, and nothing is written."""

import json
import os
import shutil
import struct

import pytest

pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file, save_file
from small_checkpoints import call, saved, written

from papers.dherin import checkpoints, patch_command
from papers.dherin.checkpoints import WEIGHTS

INDEX = f"{WEIGHTS}.index.json"
DOWN = "model.layers.1.mlp.down_proj.weight"


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama") / "model", "Llama")


@pytest.fixture
def copied(llama, tmp_path):
    return shutil.copytree(llama, tmp_path / "model")


@pytest.fixture
def asked(tmp_path):
    return written(tmp_path)


def assert_refused(capsys, told: str, status: int) -> None:
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if not line.startswith("reading ")]
    assert status == 2 and len(lines) == 1 and lines[0].startswith("error: ") and told in lines[0] and not said.out


def entered(path, **entries):
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def configured(**entries):
    return lambda folder: entered(folder / "config.json", **entries)


def put(name: str, content: str | bytes):
    return lambda folder: (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def looped(name: str):
    def change(folder):
        (folder / name).unlink()
        (folder / name).symlink_to(name)

    return change


def weights(change):
    """Return what changes the tensors of a folder, given by name."""

    def write(folder):
        found = {name: tensor.clone() for name, tensor in load_file(folder / WEIGHTS).items()}
        change(found)
        save_file(found, folder / WEIGHTS, {"format": "pt"})

    return write


def header(change, length: int = 0):
    """Return what changes the entries of a header; ``length`` bytes of tensors are said to follow, of which none is written."""

    def write(folder):
        raw = (folder / WEIGHTS).read_bytes()
        size = struct.unpack("<Q", raw[:8])[0]
        entries = json.loads(raw[8 : 8 + size])
        change(entries)
        text = json.dumps(entries).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + size :])
        if length:
            os.truncate(folder / WEIGHTS, 8 + len(text) + length)

    return write


def whole(kind):
    return weights(lambda found: found.update({DOWN: found[DOWN].to(kind)}))


def fifo(folder):
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def sharded(change):
    """Return what puts the weights into one shard, and changes the index."""

    def write(folder):
        (folder / WEIGHTS).rename(folder / "one.safetensors")
        index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(folder / "one.safetensors"), "one.safetensors")}
        (folder / INDEX).write_text(json.dumps(change(index) or index))

    return write


def elsewhere(name):
    return sharded(lambda index: index["weight_map"].update({DOWN: name}))


def without_first_words(folder):
    path = folder / "tokenizer.json"
    entered(path, model={**json.loads(path.read_text())["model"], "vocab": {"a": 0}, "unk_token": "z"})


FOLDERS = {
    "missing": ("there is no folder", shutil.rmtree),
    "a file": ("there is no folder", lambda folder: (shutil.rmtree(folder), folder.write_text("x"))),
    "no config": ("config.json cannot be read: No such", lambda folder: (folder / "config.json").unlink()),
    "config in a loop": ("config.json cannot be read: Too many", looped("config.json")),
    "config a pipe": ("config.json is no file", fifo),
    "config cut": ("config.json is no JSON", put("config.json", "{")),
    "config deep": ("config.json is no JSON", put("config.json", "[" * 100_000)),
    "config a list": ("holds no JSON object", put("config.json", "[]")),
    "bert": ("model_type 'bert'", configured(model_type="bert")),
    "t5": ("model_type 't5'", configured(model_type="t5")),
    "no type": ("model_type None", configured(model_type=None)),
    "type a list": ("model_type ['llama']", configured(model_type=["llama"])),
    "classifier": ("does not say the next token", configured(architectures=["LlamaForSequenceClassification"])),
    "encoder": ("tokens see later ones", configured(is_causal=False)),
    "both ways": ("tokens see later ones", configured(use_bidirectional_attention=True)),
    "quantised": ("is quantised", configured(quantization_config={"quant_method": "gptq"})),
    "compressed": ("is quantised", configured(compression_config={"quant_method": "x"})),
    "int8": ("in I8, as quantised models do", whole(torch.int8)),
    "float8": ("in F8_E4M3, as quantised models do", whole(torch.float8_e4m3fn)),
    "remote code": ("code of its own", configured(auto_map={"AutoModel": "m.M"})),
    "remote tokenizer": ("code of its own", put("tokenizer_config.json", '{"auto_map": {"AutoTokenizer": ["m.M", null]}}')),
    "adapter": ("weights from elsewhere", put("adapter_config.json", "{}")),
    "other weights": ("weights from elsewhere", configured(transformers_weights="other.safetensors")),
    "pickle": ("a format that can bring code", lambda folder: (folder / WEIGHTS).rename(folder / "pytorch_model.bin")),
    "no weights": ("has no weights", lambda folder: (folder / WEIGHTS).unlink()),
    "weights in a loop": ("has no weights", looped(WEIGHTS)),
    "cut": ("file not fully covered", lambda folder: os.truncate(folder / WEIGHTS, (folder / WEIGHTS).stat().st_size - 9)),
    "header cut": ("is damaged, cut off or of another kind", lambda folder: os.truncate(folder / WEIGHTS, 100)),
    "header long": ("header too large", put(WEIGHTS, struct.pack("<Q", 2**60) + b"{}")),
    "header deep": ("invalid JSON in header", put(WEIGHTS, struct.pack("<Q", 10**5) + b"[" * 10**5)),
    "pointer": ("header too large", put(WEIGHTS, "version https://git-lfs.github.com/spec/v1")),
    "header lies": ("overflow computing buffer size", header(lambda entries: entries[DOWN].update(shape=[10**9, 10**9]))),
    "weight missing": (f"lacks the weight {DOWN}: random", weights(lambda found: found.pop(DOWN))),
    "weight of another shape": ("should be 16 x 24 and is 16 x 25", weights(lambda f: f.update({DOWN: torch.ones(16, 25)}))),
    "block missing": ("weights for 2 blocks, and config.json asks for 3", configured(num_hidden_layers=3)),
    "block too many": ("weights for 2 blocks, and config.json asks for 1", configured(num_hidden_layers=1)),
    "many blocks": ("config.json asks for 10000000", configured(num_hidden_layers=10**7)),
    "other width": ("config.json is of another model", configured(hidden_size=20)),
    "wide": ("GB are to be had", configured(hidden_size=10**7, intermediate_size=10**7)),
    "many words": ("GB are to be had", configured(vocab_size=10**10)),
    "no width": ("cannot be read by AutoConfig", configured(hidden_size="many")),
    "no activation": ("what its class cannot be", configured(hidden_act="none")),
    "not a number": ("logits are not finite", weights(lambda found: found[DOWN].fill_(float("nan")))),
    "no tokenizer": ("has no tokenizer", lambda folder: (folder / "tokenizer.json").unlink()),
    "tokenizer cut": ("cannot be read by AutoTokenizer", put("tokenizer.json", "{")),
    "tokenizer of nothing": ("the tokenizer of", without_first_words),
    "tokenizer of more": ("they do not belong together", configured(vocab_size=20)),
    "few positions": ("and the model has 22 positions", configured(max_position_embeddings=22)),
    "index cut": ("holds no JSON object", sharded(lambda index: [1])),
    "index of nothing": ("names no weights", sharded(lambda index: {"weight_map": {}})),
    "shard missing": ("lacks two.safetensors", elsewhere("two.safetensors")),
    "shard outside": ("no safetensors file in its folder", elsewhere("../one.safetensors")),
    "shard anywhere": ("no safetensors file in its folder", elsewhere("/one.safetensors")),
    "shard a number": ("names '3'", elsewhere(3)),
    "shard a list": ("no safetensors file in its folder", elsewhere(["one.safetensors"])),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_refused_in_one_sentence(name, copied, asked, tmp_path, capsys):
    told, change = FOLDERS[name]
    change(copied)
    before = set(tmp_path.iterdir())
    wanted = ("--json", str(tmp_path / "out.json"), "--page", str(tmp_path / "out.html"))
    assert_refused(capsys, told, call(copied, asked, *wanted))
    assert set(tmp_path.iterdir()) == before


TEXTS = [
    ("query", b"\n", "query holds no token"),
    ("context", b"", "context holds no token"),
    ("placebo", b" ", "placebo holds no token"),
    ("placebo", b"w1 w2", "a placebo has to be as long"),
    ("query", b"\xff\xfe", "is no UTF-8 text"),
    ("query", b"w1 " * 500, "the model has 512 positions"),
    ("calibrate", b"w1 w2\nw1 w2\n", "at least two different queries"),
    ("context", None, "cannot be read"),
]


@pytest.mark.parametrize(("name", "content", "told"), TEXTS)
def test_a_text_is_refused_in_one_sentence(name, content, told, llama, asked, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content) if content is not None else path.unlink()
    assert_refused(capsys, told, call(llama, asked, only=asked))


def test_a_text_that_is_too_large_is_not_read(llama, asked, tmp_path, capsys):
    os.truncate(tmp_path / "context", 10**12)
    assert_refused(capsys, "context is larger than the 100 MB", call(llama, asked))


def test_options_are_refused_in_one_sentence(llama, asked, capsys, monkeypatch):
    assert_refused(capsys, "go together", call(llama, asked, only=("--context", "--query", "--calibrate")))
    for keep in ("1", "-0.1", "half"):
        with pytest.raises(SystemExit) as stop:
            call(llama, asked, "--keep", keep)
        assert_refused(capsys, "is no share", stop.value.code)
    monkeypatch.setattr(checkpoints, "free_memory", lambda: 1e4)
    assert_refused(capsys, "GB are to be had", call(llama, asked))


@pytest.mark.parametrize("option", ["--json", "--page"])
def test_a_place_that_takes_no_file_is_refused_before_the_model_is_looked_at(option, asked, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(checkpoints, "looked_at", lambda folder: pytest.fail("too late"))
    for place, told in (("query/out", "cannot be written"), ("query", "is among what is read"), ("model/out", "is among what")):
        assert_refused(capsys, told, call(tmp_path / "model", asked, option, str(tmp_path / place)))
    with pytest.raises(SystemExit) as stop:
        call(tmp_path / "model", asked, option, str(tmp_path))
    assert_refused(capsys, "is not a file that can be written", stop.value.code)
    both = ("--json", str(tmp_path / "out"), "--page", str(tmp_path / "out"))
    assert_refused(capsys, "would both write", call(tmp_path / "model", asked, *both))
    assert (tmp_path / "query").read_text().startswith("w22")


def test_a_text_in_a_loop_of_links_is_refused_where_a_file_is_to_be_written(llama, asked, tmp_path, capsys):
    (tmp_path / "context").unlink()
    (tmp_path / "context").symlink_to("context")
    told = "context cannot be read: Too many levels"
    assert_refused(capsys, told, call(llama, asked, "--json", str(tmp_path / "out.json")))


@pytest.mark.parametrize("name", ["model.more", "model.layers.2.mlp.more"])
def test_memory_is_refused_by_the_header_alone(name, copied, asked, capsys, monkeypatch):
    """A file that claims 400 GB, and has them as a hole: of its tensors not one is opened."""
    most = 4 * 10**11

    def claims(entries):
        end = max(entry["data_offsets"][1] for entry in entries.values() if "data_offsets" in entry)
        entries[name] = {"dtype": "F32", "shape": [10**6, 10**5], "data_offsets": [end, end + most]}
        claims.end = end + most

    header(claims)(copied)
    size = struct.unpack("<Q", (copied / WEIGHTS).open("rb").read(8))[0]
    os.truncate(copied / WEIGHTS, 8 + size + claims.end)
    configured(num_hidden_layers=3 if "layers" in name else 2)(copied)
    assert (copied / WEIGHTS).stat().st_blocks * 512 < 10**6
    monkeypatch.setattr(checkpoints, "model_of", lambda *given: pytest.fail("the weights are read"))
    monkeypatch.setattr(patch_command, "record", lambda *given: pytest.fail("the model is run"))
    told = "this takes about 3,200.0 GB" if "mlp" in name else "this takes about 400.0 GB"
    assert_refused(capsys, told, call(copied, asked))
    assert checkpoints.looked_at(copied).numel > 10**11


def test_heads_that_do_not_fit_are_told_when_the_class_runs(tmp_path, asked, capsys, monkeypatch):
    """Some classes refuse it when they are made, others when they run."""
    folder = saved(tmp_path / "model", "Llama")

    def fails(*given):
        raise RuntimeError("The size of tensor a (2)\nmust match")

    monkeypatch.setattr(patch_command, "record", fails)
    assert_refused(capsys, "cannot be run by its class (RuntimeError): The size of tensor a (2) must", call(folder, asked))
