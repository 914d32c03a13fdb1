"""What `./run patch` does: a model on disk is patched for a context, and judged without it, also on held-out queries."""

import argparse
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import torch

from icl_lib.companion import writing
from papers.dherin import checkpoints
from papers.dherin.context_patches import Row, Texts, largest, measured, passage, work
from papers.dherin.model_families import seats
from papers.dherin.passes import record
from papers.dherin.patch_report import page, table
from papers.dherin.transformers_models import PACKAGE, round_weights


def say(text: str) -> None:
    """Print what a reader who waits wants to know."""
    print(text, file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    """Patch a model for a context, and print or write what is left of it."""
    if bool(options.calibrate) != bool(options.placebo):
        raise ValueError("--calibrate and --placebo go together: a static patch says nothing without that of another context")
    require_places(options)
    checkpoint = checkpoints.looked_at(options.model)
    config = checkpoints.config_of(checkpoint)
    texts = read(options, checkpoints.tokenizer_of(checkpoint))
    first = planned(checkpoint, config, options.dtype, texts, max(options.keep))
    say(f"reading {checkpoint.numel:,} numbers in {first}")
    if first == "bfloat16":
        say("its own rounding is not told: that would take the model in float32, which has no room")
    model, unused = checkpoints.model_of(checkpoint, getattr(torch, first))
    if unused:
        say(f"{len(unused)} stored weights are not used by the class, such as {unused[0]!r}")
    report = {
        "model": str(options.model).encode("utf-8", "replace").decode(),
        "model_type": checkpoint.config["model_type"],
        "dtype": options.dtype,
        "versions": {name: importlib.metadata.version(name) for name in (PACKAGE, "torch")},
        "unused": unused,
        "tokens": {name: len(getattr(texts, name)) for name in ("context", "query", "placebo")},
        "lines": {name: len(getattr(texts, name)) for name in ("fitted", "held_out")},
        **judged(model, texts, options),
    }
    made = {options.json: json.dumps(report, indent=2, allow_nan=False) + "\n", options.page: page(report)}
    for path in filter(None, made):
        writing.write_atomically(path, lambda file, path=path: file.write_text(made[path], encoding="utf-8"))
    if not (options.json or options.page):
        print(table(report))
    return 0


def require_places(options: argparse.Namespace) -> None:
    """Raise ValueError where what is to be written has no place, or would replace what is read; nothing is made yet."""
    read = (options.model, options.context, options.query, options.calibrate, options.placebo)
    wanted = {os.path.realpath(path): path for path in (options.json, options.page) if path}
    if options.json and options.page and len(wanted) == 1:
        raise ValueError(f"--json and --page would both write {options.json}: give two names")
    for real, path in wanted.items():
        place = next(each for each in Path(real).parents if os.path.lexists(each))
        if not place.is_dir() or not os.access(place, os.W_OK):
            raise ValueError(f"{path} cannot be written: {place} is no folder, or one that takes no files")
        if {real, *map(str, Path(real).parents)} & {os.path.realpath(each) for each in read if each}:
            raise ValueError(f"{path} is among what is read: write elsewhere")


def judged(model: torch.nn.Module, texts: Texts, options: argparse.Namespace) -> dict[str, object]:
    """Return the rows of the report, and how far the precision that was asked for is off by itself."""
    found, whole = seats(model), passage(texts.context, [texts.query], len(texts.context))
    began, rounding = time.perf_counter(), None
    try:
        full = record(model, found, whole)
    except Exception as error:  # what a configuration that its class does not refuse raises is of many kinds
        raise ValueError(
            f"{options.model} cannot be run by its class ({type(error).__name__}): {checkpoints.short(error)}"
        ) from error
    if not full.logits.isfinite().all():
        raise ValueError(f"the model's own logits are not finite in {str(full.logits.dtype).removeprefix('torch.')}")
    one = (time.perf_counter() - began) / whole.tokens.numel()
    say(f"about {1 + one * work(texts, options.keep):.0f} s to go")
    if (asked := getattr(torch, options.dtype)) != full.logits.dtype:
        round_weights(model, asked)
        exact, full = full, record(model, found, whole)
        rounding = largest(full.logits, exact.logits)
    rows = told(measured(model, found, texts, full, options.keep), began)
    return {"rounding": rounding, "rows": [asdict(row) for row in rows]}


def told(rows: Iterator[Row], began: float) -> Iterator[Row]:
    """Yield rows, and say on the error stream when each is done."""
    for row in rows:
        say(f"{time.perf_counter() - began:5.0f} s: {row.patch}, {row.kept} tokens kept")
        yield row


def read(options: argparse.Namespace, tokenizer) -> Texts:
    """Return the files as tokens; a context begins as the tokenizer begins a text, a query goes on where it stands."""

    def tokens(text: str, begins: bool) -> list[int]:
        try:
            made = tokenizer(text, add_special_tokens=begins, return_special_tokens_mask=True)
        except Exception as error:  # what a tokenizer that is not whole raises is of many kinds
            raise ValueError(
                f"the tokenizer of {options.model} fails ({type(error).__name__}): {checkpoints.short(error)}"
            ) from error
        found, special = list(made["input_ids"]), list(made["special_tokens_mask"])
        while special and special.pop():  # with which a tokenizer ends a text: the query goes on there
            found.pop()
        return found

    context, query = (_text(path) for path in (options.context, options.query))
    lines = _text(options.calibrate).split("\n") if options.calibrate else []
    placebo = tokens(_text(options.placebo), True) if options.placebo else []
    queries = [tokens(line, False) for line in lines if line.strip()]
    queries = [list(query) for query in dict.fromkeys(map(tuple, queries))]  # one that stands twice would not be held out
    found = Texts(tokens(context, True), tokens(query.removesuffix("\n"), False), placebo, queries[::2], queries[1::2])
    needed = {"context": found.context, "query": found.query, **({"placebo": placebo} if options.placebo else {})}
    for name, made in needed.items():
        if not made:
            raise ValueError(f"{getattr(options, name)} holds no token: a {name} needs at least one")
    replaced = len(found.context) - round(min(options.keep) * len(found.context))
    if options.placebo and len(placebo) < replaced:
        raise ValueError(
            f"{options.placebo} has {len(placebo)} tokens, and takes the place of {replaced}: a placebo has to be as long"
        )
    if options.calibrate and (len(queries) < 2 or not all(queries)):
        raise ValueError(
            f"{options.calibrate} has to hold at least two different queries, each on a line and of one token or more"
        )
    return found


def _text(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size > checkpoints.LARGEST:
            raise ValueError(f"{path} is larger than the {checkpoints.LARGEST / 1e6:.0f} MB that are read")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no UTF-8 text") from error


def planned(checkpoint: checkpoints.Checkpoint, config, dtype: str, texts: Texts, keep: float) -> str:
    """Return the precision to begin with: float32, to tell the rounding of ``dtype``, unless only ``dtype`` has room.

    Raises ValueError when the texts are too long, have words that the model lacks, or memory would not do.
    """
    queries = [texts.query, *texts.fitted, *texts.held_out]
    longest, most = max(map(len, queries)), config.max_position_embeddings
    if (length := len(texts.context) + longest) > most:
        raise ValueError(f"context and query have {length} tokens together, and the model has {most} positions: shorten one")
    if (top := max(map(max, (texts.context, texts.placebo or [0], *queries)))) >= config.vocab_size:
        raise ValueError(
            f"the tokenizer makes token {top}, and the model knows {config.vocab_size}: they do not belong together"
        )
    checkpoint = replace(checkpoint, numel=max(checkpoint.numel, checkpoints.declared(config)))  # what lacks is made up
    at_once = max(length, len(texts.fitted) * (longest + round(keep * len(texts.context))))
    rows = 6 * sum(map(len, queries))  # of logits and of tokens behind each block, with copies in float64
    passes = config.vocab_size * (at_once + rows) + rows * config.num_hidden_layers * config.hidden_size
    passes += 3 * config.num_attention_heads * length**2  # what the tokens of a pass attend to, in classes that keep it
    free, needed = checkpoints.MARGIN * checkpoints.free_memory(), checkpoint.needed(dtype, passes, copies=True)
    if needed > free:
        raise ValueError(f"this takes about {needed / 1e9:,.1f} GB and {free / 1e9:.1f} GB are to be had: take a smaller model")
    return "float32" if checkpoint.needed("float32", passes, copies=False) <= free else dtype
