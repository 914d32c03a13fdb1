"""What `./run patch` does: a model on disk is patched for a context, and judged without it, also on held-out queries."""

import argparse
import json
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch

from icl_lib.companion import results
from icl_lib.patches.passes import record
from papers.dherin import checkpoints
from papers.dherin.context_patches import Row, Texts, largest, measured, passage, work
from papers.dherin.model_families import seats


def say(text: str) -> None:
    """Print what a reader who waits wants to know."""
    print(text, file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    """Patch a model for a context, and print or write what is left of it."""
    if bool(options.calibrate) != bool(options.placebo):
        raise ValueError("--calibrate and --placebo go together: a static patch says nothing without that of another context")
    checkpoint = checkpoints.looked_at(options.model)
    texts = read(options, checkpoints.tokenizer_of(checkpoint))
    first = planned(checkpoint, options.dtype, texts, max(options.keep))
    say(f"reading {checkpoint.numel:,} numbers in {first}")
    if first == "bfloat16":
        say("its own rounding is not told: that would take the model in float32, which has no room")
    model, unused = checkpoints.model_of(checkpoint, getattr(torch, first))
    if unused:
        say(f"{len(unused)} stored weights are not used by the class, such as {unused[0]}")
    found, whole = seats(model), passage(texts.context, [texts.query], len(texts.context))
    began = time.perf_counter()
    full, rounding = record(model, found, whole), None
    if not full.logits.isfinite().all():
        raise ValueError(f"the model's own logits are not finite in {first}")
    one = (time.perf_counter() - began) / whole.tokens.numel()
    say(f"about {1 + one * work(texts, options.keep):.0f} s to go")
    if first != options.dtype:
        rounded(model, getattr(torch, options.dtype))
        exact, full = full, record(model, found, whole)
        rounding = largest(full.logits, exact.logits)
    report = {
        "model": str(options.model),
        "model_type": checkpoint.config["model_type"],
        "dtype": options.dtype,
        "rounding": rounding,
        "unused": unused,
        "tokens": {name: len(getattr(texts, name)) for name in ("context", "query", "placebo")},
        "lines": {name: len(getattr(texts, name)) for name in ("fitted", "held_out")},
        "rows": [asdict(row) for row in told(measured(model, found, texts, full, options.keep), began)],
    }
    text = json.dumps(report, indent=2, allow_nan=False) + "\n" if options.json else table(report)
    if options.json:
        results.write_atomically(options.json, lambda file: file.write_text(text, encoding="utf-8"))
    else:
        print(text)
    return 0


def rounded(model: torch.nn.Module, dtype: torch.dtype) -> None:
    """Round the weights, and no buffer: rotary frequencies stay in float32, as the classes read them."""
    for weight in model.parameters():
        weight.data = weight.data.to(dtype)


def told(rows: Iterator[Row], began: float) -> Iterator[Row]:
    """Yield rows, and say on the error stream when each is done."""
    for row in rows:
        say(f"{time.perf_counter() - began:5.0f} s: {row.patch}, {row.kept} tokens kept")
        yield row


def read(options: argparse.Namespace, tokenizer) -> Texts:
    """Return the files as tokens; a context begins as the tokenizer begins a text, a query goes on where it stands."""

    def tokens(text: str, begins: bool) -> list[int]:
        return tokenizer(text, add_special_tokens=begins)["input_ids"]

    context, query = (_text(path) for path in (options.context, options.query))
    lines = _text(options.calibrate).splitlines() if options.calibrate else []
    placebo = tokens(_text(options.placebo), True) if options.placebo else []
    queries = [tokens(line, False) for line in lines if line.strip()]
    queries = [list(query) for query in dict.fromkeys(map(tuple, queries))]  # one that stands twice would not be held out
    found = Texts(tokens(context, True), tokens(query.removesuffix("\n"), False), placebo, queries[::2], queries[1::2])
    needed = {"context": found.context, "query": found.query, **({"placebo": placebo} if options.placebo else {})}
    for name, made in needed.items():
        if not made:
            raise ValueError(f"{getattr(options, name)} holds no token: a {name} needs at least one")
    if options.calibrate and (len(queries) < 2 or not all(queries)):
        raise ValueError(
            f"{options.calibrate} has to hold at least two different queries, each on a line and of one token or more"
        )
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 text") from error


def planned(checkpoint: checkpoints.Checkpoint, dtype: str, texts: Texts, keep: float) -> str:
    """Return the precision to begin with: float32, to tell the rounding of ``dtype``, unless only ``dtype`` has room.

    Raises ValueError when the texts are too long, have words that the model lacks, or memory would not do.
    """
    config, queries = checkpoints.config_of(checkpoint), [texts.query, *texts.fitted, *texts.held_out]
    longest, most = max(map(len, queries)), config.max_position_embeddings
    if (length := len(texts.context) + longest) > most:
        raise ValueError(f"context and query have {length} tokens together, and the model has {most} positions: shorten one")
    if (top := max(map(max, (texts.context, texts.placebo or [0], *queries)))) >= config.vocab_size:
        raise ValueError(
            f"the tokenizer makes token {top}, and the model knows {config.vocab_size}: they do not belong together"
        )
    at_once = max(length, len(texts.fitted) * (longest + round(keep * len(texts.context))))
    rows = 6 * sum(map(len, queries))  # of logits and of tokens behind each block, with copies in float64
    passes = config.vocab_size * (at_once + rows) + rows * config.num_hidden_layers * config.hidden_size
    passes += 3 * config.num_attention_heads * length**2  # what the tokens of a pass attend to, in classes that keep it
    free, needed = checkpoints.MARGIN * checkpoints.free_memory(), checkpoint.needed(dtype, passes, copies=True)
    if needed > free:
        raise ValueError(f"this takes about {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are to be had: take a smaller model")
    return "float32" if checkpoint.needed("float32", passes, copies=False) <= free else dtype


def table(report: dict) -> str:
    """Return the report as text: a line a patch, then its errors and sizes block by block."""
    tokens, number = report["tokens"], lambda each: "not finite" if each is None else f"{each:.2g}"
    lines = [f"{report['model_type']} in {report['dtype']}; context {tokens['context']} tokens, query {tokens['query']}"]
    if report["rounding"] is not None:
        lines.append(f"rounding of {report['dtype']} by itself: logits error {number(report['rounding'])}")
    lines.append(f"{'kept':>5}  {'patch':30}{'tokens':>7}{'logits error':>14}{'top-1':>7}{'KL':>10}")
    for row in report["rows"]:
        head = f"{row['kept']:5}  {row['patch']:30}{row['tokens']:7}"
        if row["refused"]:
            lines.append(f"{head}  none: {row['refused']}")
            continue
        lines.append(f"{head}{number(row['logits_error']):>14}{row['top1_agreement']:7.2f}{number(row['kl']):>10}")
        for name, key in (("error behind each block", "block_error"), ("size in each block", "size")):
            if row[key]:
                numbers = f"{name}: {' '.join(map(number, row[key]))}"
                lines += textwrap.wrap(numbers, 100, initial_indent=" " * 7, subsequent_indent=" " * 9)
    return "\n".join(lines)
