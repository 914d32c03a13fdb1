"""`./run patch`: what may be asked. The wing of Dherin et al. does it, and is imported then alone."""

import argparse
import math

from icl_lib import typed


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command to the command line."""
    command = commands.add_parser(
        "patch", help="patch a language model that you have on disk, and judge it without its context"
    )
    files = {
        "--model": "folder with config.json, safetensors and a tokenizer; nothing is downloaded, no code of it is run",
        "--context": "text that the patch stands for, UTF-8; it begins as the tokenizer begins a text",
        "--query": "text that goes on where the context stops, UTF-8; a line break at its end is dropped",
        "--calibrate": "queries, one a line: a static patch is fitted to every other line, and judged on those between",
        "--placebo": "another context, at least as long, cut to the length of what it replaces; it gets its own patch",
    }
    for name, told in files.items():
        required = name in ("--model", "--context", "--query")
        metavar = "FOLDER" if name == "--model" else "FILE"
        command.add_argument(name, type=typed.path, required=required, metavar=metavar, help=told)
    told = "shares of the context, its last tokens, that stay in view; 0 unless given"
    command.add_argument("--keep", type=share, nargs="+", default=[0.0], metavar="SHARE", help=told)
    told = "of weights and passes; with bfloat16 its own rounding is told, too"
    command.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"), help=told)
    command.add_argument("--json", type=typed.file, metavar="OUT", help="JSON file to write in place of the table")
    told = "the same as a page, HTML that needs no other file, to write in place of the table"
    command.add_argument("--page", type=typed.file, metavar="OUT", help=told)


def share(text: str) -> float:
    """Read a share of the context that stays."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no share: write a number of at least 0, and below 1")
    return found


def run(options: argparse.Namespace) -> int:
    """Patch and judge."""
    from papers.dherin import patch_command

    return patch_command.run(options)
