"""`./run patch` on tiny random models that are saved to disk: numbers, what is held out, page and table."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

pytest.importorskip("transformers")

from small_checkpoints import WORDS, call, saved, tokenizer_of_words, written
from tokenizers import processors
from transformers import AutoModelForCausalLM

from papers.__main__ import parser
from papers.dherin import checkpoints, patch_command
from papers.dherin.context_patches import Texts, measured, passage, work
from papers.dherin.model_families import seats
from papers.dherin.passes import record
from papers.dherin.patch_report import number

ROOT = Path(__file__).parents[3]
KINDS = ("static", "placebo", "no")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama") / "model", "Llama")


@pytest.fixture
def asked(tmp_path):
    return written(tmp_path)


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
    assert 1 <= int(re.search(r"about (\d+) s to go", said.err)[1]) < 600 and not said.out


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


def test_memory_is_counted_from_the_headers(llama):
    """By hand for Llama: three matrices of 16 x 24 a block; embedding and head 31 x 16; attention with half the keys."""
    found = checkpoints.looked_at(llama)
    inner, attention = 3 * 16 * 24, 2 * 16 * 16 + 2 * 16 * 8
    assert (found.largest, found.inner, found.blocks) == (inner, 2 * inner, 2)
    assert found.numel == checkpoints.declared(checkpoints.config_of(found))
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
    page = tmp_path / "out.html"
    assert call(llama, asked, "--json", str(out), "--page", str(page)) == 130
    assert out.read_text() == "before" and not page.exists()


def test_a_tokenizer_that_ends_a_text_does_not_end_the_context(tmp_path, asked, capsys):
    """With a token for the beginning and one for the end: the first stays, and a context of these two alone is none."""
    folder, tokenizer = saved(tmp_path / "model", "Llama"), tokenizer_of_words()
    tokenizer.add_special_tokens({"bos_token": "w29", "eos_token": "w30"})
    around = [("w29", 29), ("w30", 30)]
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single="w29 $A w30", special_tokens=around)
    tokenizer.save_pretrained(folder)
    assert tokenizer("w1")["input_ids"] == [29, 1, 30]
    assert report(tmp_path, folder, asked)["tokens"] == {"context": 21, "query": 4, "placebo": 0}
    (tmp_path / "context").write_text("")
    assert call(folder, asked) == 2 and "context holds no token" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_text_and_lines_end_where_lines_end(tmp_path, llama, asked):
    (tmp_path / "context").write_bytes(b"\xef\xbb\xbfw1 w2\r\nw3\n")
    (tmp_path / "calibrate").write_bytes("w1\u2028w2\r\nw3\x0cw4\r\n".encode())
    found = report(tmp_path, llama, asked, only=asked)
    assert found["tokens"]["context"] == 3 and found["lines"] == {"fitted": 1, "held_out": 1}


class Seen(HTMLParser):
    """Text, tags and attributes of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.told, self.tags, self.named = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.named += [f"{name}={value}" for name, value in attrs]

    def handle_data(self, data):
        self.told.append(data)


def test_the_page_says_what_the_json_says(tmp_path, asked, capsys):
    folder = saved(tmp_path / "<b>&model", "OLMo 2")
    (tmp_path / "query").write_text(" ".join(WORDS[1:31]))
    place = tmp_path / "new" / "out.html"
    found = report(tmp_path, folder, asked, "--page", str(place), "--keep", "0", "0.5", "--dtype", "bfloat16", only=asked)
    page = Seen(place.read_text())
    assert not capsys.readouterr().out
    cells = [row["patch"] for row in found["rows"]]
    assert [each for each in page.told if each in set(cells)] == cells and len(cells) == 12
    for row in found["rows"]:
        wanted = row["refused"] and f"none: {row['refused']}"
        assert (wanted or number(row["logits_error"])) in page.told
        assert wanted or number(row["kl"]) in page.told
        assert wanted or f"{row['patch']}, {row['kept']} tokens kept" in page.told
    assert page.tags.count("details") == len([row for row in found["rows"] if not row["refused"]])
    assert str(folder) in page.told and "b" not in page.tags and "script" not in page.tags
    assert not any(word in " ".join(page.named) for word in ("http:", "https:", "src=", "href="))
    assert f"transformers {found['versions']['transformers']}" in " ".join(page.told)


def test_a_number_that_is_none_is_told():
    assert [number(each) for each in (None, 0.0123, 12345.0)] == ["not finite", "0.012", "1.2e+04"]


def test_the_command_on_the_page_is_accepted():
    text = (ROOT / "notebooks" / "dherin_real_models.ipynb").read_text(encoding="utf-8")
    (words,) = re.findall(r"\./run (patch --model [^\\]*)", text)
    options = parser().parse_args(shlex.split(words))
    assert options.model.name == "FOLDER" and options.keep == [0.0] and options.dtype == "float32"


def test_tokens_of_all_passes_by_hand():
    """The context before 2 lines: 20. Half of it stays: 57 of the texts alone, 15 rows of 5, and 10 of a fitted line."""
    texts = Texts([0] * 10, [0] * 3, [], [[0] * 4], [[0] * 5])
    assert work(texts, [0.5]) == 20 + 57 + 75 + 10
    assert work(texts, [0.5, 0.5]) == 20 + 2 * 142
