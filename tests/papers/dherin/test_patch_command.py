"""`./run patch` on tiny random models that are saved to disk: numbers, what is held out, refusals, nothing half-written."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from icl_lib.patches.passes import record
from icl_lib.seeds import stream
from papers.__main__ import main, parser
from papers.dherin import checkpoints, patch_command
from papers.dherin.checkpoints import WEIGHTS
from papers.dherin.context_patches import Texts, measured, passage
from papers.dherin.model_families import seats
from papers.dherin.real_models.classes import ModelSizes, made

ROOT = Path(__file__).parents[3]
WORDS = [f"w{k}" for k in range(31)]
SIZES = ModelSizes(width=16, hidden=24, depth=2, heads=2, vocabulary=31)
KINDS = ("static", "placebo", "no")
CONTEXT = " ".join(WORDS[1:21])


def saved(folder, name: str, sizes: ModelSizes = SIZES, **how):
    made(name, sizes, stream(0, name)).save_pretrained(folder, **how)
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0").save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama") / "model", "Llama")


@pytest.fixture
def copied(llama, tmp_path):
    return shutil.copytree(llama, tmp_path / "model")


@pytest.fixture
def asked(tmp_path):
    """Write the files, and return the words of the command without the model."""
    texts = {
        "context": CONTEXT,
        "query": "w22 w23 w24 w25\n",
        "calibrate": "w21 w1\nw22 w2 w3\n\nw23 w3\nw24 w4\nw23 w3\nw25 w5\n",
        "placebo": " ".join(reversed(CONTEXT.split())) + " w29 w30",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {f"--{name}": str(tmp_path / name) for name in texts}


def call(folder, asked, *more, only=("--context", "--query")):
    words = [word for name in only for word in (name, asked[name])]
    return main(["patch", "--model", str(folder), *words, *more])


def report(tmp_path, folder, asked, *more, only=("--context", "--query")):
    assert call(folder, asked, "--json", str(tmp_path / "out.json"), *more, only=only) == 0
    return json.loads((tmp_path / "out.json").read_text())


def rows(found, kept: int) -> dict:
    return {row["patch"]: row for row in found["rows"] if row["kept"] == kept}


@pytest.mark.parametrize("name", ["GPT-2", "Llama", "Gemma 2", "Mixtral", "Qwen2-MoE"])
def test_a_joint_patch_and_a_token_patch_are_exact(name, tmp_path, asked, capsys):
    folder = saved(tmp_path / "model", name)
    found = report(tmp_path, folder, asked, "--keep", "0", ".5")
    assert found["tokens"] == {"context": 20, "query": 4, "placebo": 0} and found["rounding"] is None
    assert len(found["rows"]) == 6 and found["unused"] == []
    for kept in (0, 10):
        cell = rows(found, kept)
        without = cell["no patch"]
        assert without["logits_error"] > 1e-2 and without["kl"] > 1e-3 and without["size"] == []
        for patch, tokens in (("joint patch", 4), ("token patch, last token", 1)):
            row = cell[patch]
            assert row["tokens"] == tokens and row["top1_agreement"] == 1 and row["refused"] == ""
            assert row["logits_error"] < 1e-4 and abs(row["kl"]) < 1e-8 and max(row["block_error"]) < 1e-4
            assert len(row["size"]) == 2 and min(row["size"]) > 1e-3
    said = capsys.readouterr()
    assert "s to go" in said.err and not said.out


def test_static_patches_are_judged_on_lines_they_were_not_fitted_to(tmp_path, llama, asked, monkeypatch):
    """The ridge answers the lines of the fit far better than new ones; a line that stands twice is on one side only."""
    seen = {}
    original = patch_command.measured
    monkeypatch.setattr(patch_command, "measured", lambda *given: seen.update(texts=given[2]) or original(*given))
    found = report(tmp_path, llama, asked, "--keep", "0", "0.25", only=asked)
    texts = seen["texts"]
    assert texts.fitted == [[21, 1], [23, 3], [25, 5]] and texts.held_out == [[22, 2, 3], [24, 4]]
    assert found["lines"] == {"fitted": 3, "held_out": 2} and len(found["rows"]) == 12
    cell = rows(found, 0)
    static, placebo, none = (cell[f"{kind} patch, held-out lines"] for kind in KINDS)
    assert static["tokens"] == placebo["tokens"] == none["tokens"] == 5
    assert static["logits_error"] > 0.05 and placebo["logits_error"] > 0.05 and static["size"] != placebo["size"]


def static_rows(folder, texts: Texts, keep: float):
    model, _ = checkpoints.model_of(checkpoints.looked_at(folder), torch.float32)
    full = record(model, seats(model), passage(texts.context, [texts.query], len(texts.context)))
    cells = {row.patch: row for row in measured(model, seats(model), texts, full, [keep])}
    return (cells[f"{kind} patch, held-out lines"] for kind in KINDS)


def test_a_static_patch_is_nearly_exact_on_the_lines_of_its_fit(llama):
    """The same lines on both sides, one padded beside a longer one: what is left is the ridge."""
    texts = Texts(list(range(1, 21)), [22, 23], [5, 6], [[24], [22, 23]], [[24], [22, 23]])
    static, placebo, none = static_rows(llama, texts, 0.5)
    assert static.logits_error < 0.1 * none.logits_error and placebo.logits_error > 0.5 * none.logits_error


def test_numbers_without_a_patch_are_those_of_the_class(tmp_path, llama, asked):
    """The rows once more from the model's own forward; of the context five tokens stay, at their places."""
    model = AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32).eval()
    tokens = torch.arange(1, 25)[None]
    tokens[:, 20:] += 1
    with torch.no_grad():
        with_context = model(tokens).logits[0, -4:].double()
        seen = dict(position_ids=torch.arange(15, 24)[None], attention_mask=torch.ones(1, 9, dtype=torch.long))
        without = model(tokens[:, 15:], **seen).logits[0, -4:].double()
    row = rows(report(tmp_path, llama, asked, "--keep", "0.25"), 5)["no patch"]
    error = ((without - with_context).norm(dim=-1) / with_context.norm(dim=-1)).max().item()
    p, q = with_context.log_softmax(-1), without.log_softmax(-1)
    kl = torch.nn.functional.kl_div(q, p, log_target=True, reduction="batchmean").item()
    assert row["logits_error"] == pytest.approx(error, rel=1e-4) and row["kl"] == pytest.approx(kl, rel=1e-4)
    assert row["top1_agreement"] == (without.argmax(-1) == with_context.argmax(-1)).double().mean().item()


def test_a_placebo_takes_the_place_of_what_is_removed(llama):
    """With the context's own tokens as placebo both patches are one; a longer placebo is cut, what stays in view stays."""
    context = list(range(1, 21))
    texts = Texts(context, [22, 23], [*context[:15], 29, 30, 29, 30, 29, 30], [[24], [22, 23]], [[25], [26]])
    static, placebo, _ = static_rows(llama, texts, 0.25)
    assert static.logits_error == pytest.approx(placebo.logits_error, rel=1e-5) and static.size == placebo.size


def test_shorter_queries_are_padded_behind():
    found = passage([7, 8], [[1], [2, 3, 4]], 6)
    assert found.tokens.tolist() == [[7, 8, 1, 0, 0], [7, 8, 2, 3, 4]]
    assert found.positions.tolist() == [[4, 5, 6, 7, 8]] * 2
    assert found.rows.tolist() == [[False, False, True, False, False], [False, False, True, True, True]]


def test_table_and_rounding_in_bfloat16(llama, asked, capsys):
    assert call(llama, asked, "--dtype", "bfloat16") == 0
    said = capsys.readouterr().out
    assert "llama in bfloat16; context 20 tokens, query 4" in said and "rounding of bfloat16 by itself" in said
    assert said.count("size in each block: ") == 2 and said.count("error behind each block: ") == 3


def test_no_gain_for_many_tokens_is_told_in_the_row(tmp_path, asked):
    folder = saved(tmp_path / "model", "OLMo 2")
    (tmp_path / "query").write_text(" ".join(WORDS[1:31]))
    cell = rows(report(tmp_path, folder, asked), 0)
    assert "no gain gives these 30 outputs" in cell["joint patch"]["refused"] and cell["joint patch"]["kl"] is None
    assert cell["token patch, last token"]["logits_error"] < 1e-4


def test_shards_are_read(tmp_path, asked):
    folder = saved(tmp_path / "model", "Llama", max_shard_size="10KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    assert rows(report(tmp_path, folder, asked), 0)["joint patch"]["logits_error"] < 1e-4
    gone = sorted(folder.glob("*.safetensors"))[1]
    gone.unlink()
    with pytest.raises(ValueError, match=f"lacks {gone.name}"):
        checkpoints.looked_at(folder)


def configured(folder, **entries):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def without_weight(folder):
    from safetensors.torch import load_file, save_file

    path = folder / WEIGHTS
    save_file({k: v for k, v in load_file(path).items() if "layers.1.mlp.down_proj" not in k}, path, {"format": "pt"})


REFUSED = {
    "there is no folder": shutil.rmtree,
    "config.json cannot be read": lambda folder: (folder / "config.json").unlink(),
    "config.json is no JSON": lambda folder: (folder / "config.json").write_text("{"),
    "model_type 'bert'": lambda folder: configured(folder, model_type="bert"),
    "is quantised": lambda folder: configured(folder, quantization_config={"quant_method": "gptq"}),
    "code of its own": lambda folder: configured(folder, auto_map={"AutoModel": "m.M"}),
    "tokens see later ones": lambda folder: configured(folder, is_causal=False),
    "a format that can bring code": lambda folder: (folder / WEIGHTS).rename(folder / "pytorch_model.bin"),
    "has no weights": lambda folder: (folder / WEIGHTS).unlink(),
    "damaged or was cut off": lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-9]),
    "lacks the weight model.layers.1.mlp.down_proj.weight": without_weight,
    "cannot be read by AutoModelForCausalLM": lambda folder: configured(folder, hidden_size=20),
    "has no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "cannot be read by AutoTokenizer": lambda folder: (folder / "tokenizer.json").write_text("{"),
    "they do not belong together": lambda folder: configured(folder, vocab_size=20),
    "and the model has 22 positions": lambda folder: configured(folder, max_position_embeddings=22),
}


@pytest.mark.parametrize("told", REFUSED)
def test_a_folder_is_refused_in_one_sentence(told, copied, asked, tmp_path, capsys):
    REFUSED[told](copied)
    assert_refused(capsys, told, call(copied, asked, "--json", str(tmp_path / "out.json")))
    assert not (tmp_path / "out.json").exists() and not list(tmp_path.glob(".out*"))


def assert_refused(capsys, told: str, status: int) -> None:
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if not line.startswith("reading ")]
    assert status == 2 and len(lines) == 1 and lines[0].startswith("error: ") and told in lines[0] and not said.out


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("query", b"\n", "query holds no token"),
        ("context", b"", "context holds no token"),
        ("placebo", b" ", "placebo holds no token"),
        ("query", b"\xff\xfe", "is no UTF-8 text"),
        ("query", b"w1 " * 500, "the model has 512 positions"),
        ("calibrate", b"w1 w2\nw1 w2\n", "at least two different queries"),
        ("context", None, "cannot be read"),
    ],
)
def test_a_text_is_refused_in_one_sentence(name, content, told, llama, asked, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content) if content is not None else path.unlink()
    assert_refused(capsys, told, call(llama, asked, only=asked))


def test_options_are_refused_in_one_sentence(llama, asked, capsys, monkeypatch):
    assert_refused(capsys, "go together", call(llama, asked, only=("--context", "--query", "--calibrate")))
    for keep in ("1", "-0.1", "half"):
        with pytest.raises(SystemExit) as stop:
            call(llama, asked, "--keep", keep)
        assert_refused(capsys, "is no share", stop.value.code)
    monkeypatch.setattr(checkpoints, "free_memory", lambda: 1e4)
    assert_refused(capsys, "GB are to be had", call(llama, asked))


def test_memory_is_counted_from_the_headers(llama):
    """By hand for Llama: three matrices of 16 x 24 a block; embedding and head 31 x 16; attention with half the keys."""
    found = checkpoints.looked_at(llama)
    inner, attention = 3 * 16 * 24, 2 * 16 * 16 + 2 * 16 * 8
    assert (found.largest, found.inner) == (inner, 2 * inner)
    assert found.numel == 2 * (inner + attention + 2 * 16) + 2 * 31 * 16 + 16
    assert found.needed("bfloat16", 10, copies=True) == 2 * (found.numel + found.inner + 10) + 24 * inner
    assert checkpoints.free_memory() > 1e6


def test_free_memory_is_that_of_the_container(monkeypatch):
    told = {"/proc/meminfo": {"MemAvailable:": 1000.0}, "/sys/fs/cgroup/memory.stat": {"anon": 24.0}}
    limit: dict[str, float] = {}
    monkeypatch.setattr(checkpoints, "_told", lambda path, name="": told.get(path, limit))
    assert checkpoints.free_memory() == 1024000
    limit["limit"] = 2024.0
    assert checkpoints.free_memory() == 2000


def test_a_model_that_fits_in_bfloat16_alone_is_read_in_it(llama, asked, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(checkpoints.Checkpoint, "needed", lambda self, dtype, passes, copies: {"bfloat16": 5}.get(dtype, 9))
    monkeypatch.setattr(checkpoints, "free_memory", lambda: 7 / checkpoints.MARGIN)
    assert report(tmp_path, llama, asked, "--dtype", "bfloat16")["rounding"] is None
    assert "in bfloat16\nits own rounding is not told" in capsys.readouterr().err


def test_an_interrupted_run_writes_nothing(llama, asked, tmp_path, monkeypatch):
    out = tmp_path / "out.json"
    out.write_text("before")

    def stopped(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(patch_command, "measured", stopped)
    assert call(llama, asked, "--json", str(out)) == 130 and out.read_text() == "before"


def test_the_command_on_the_page_is_accepted():
    text = (ROOT / "notebooks" / "dherin_real_models.ipynb").read_text(encoding="utf-8")
    (words,) = re.findall(r"\./run (patch --model [^\\]*)", text)
    options = parser().parse_args(shlex.split(words))
    assert options.model.name == "FOLDER" and options.keep == [0.0] and options.dtype == "float32"
