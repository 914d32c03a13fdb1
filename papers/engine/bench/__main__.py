"""python -m papers.engine.bench: run the groups that were asked for, print the table, write JSON."""

import argparse
import sys

from icl_lib import typed
from icl_lib.companion import require_device
from papers.engine.bench import table
from papers.engine.bench.attention import attention
from papers.engine.bench.batches import batches
from papers.engine.bench.build import build
from papers.engine.bench.closed_form import closed_form
from papers.engine.bench.growth import growth
from papers.engine.bench.scale import QUICK, WHOLE
from papers.engine.bench.training import loop, rates

GROUPS = {
    "loop": loop,
    "rates": rates,
    "batches": batches,
    "attention": attention,
    "closed-form": closed_form,
    "growth": growth,
    "build": build,
}


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    about = "What the library's choices save, how fast it trains and what limits it."
    options = typed.Parser(prog="./run bench", description=about)
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--out", type=typed.file, help="JSON file to write")
    options.add_argument("--only", nargs="+", default=list(GROUPS), choices=GROUPS, metavar="GROUP", help=", ".join(GROUPS))
    options.add_argument("--quick", action="store_true", help="a short look: small sizes, one repeat")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; a device that is not there gives one sentence and exit status 2."""
    options = parser().parse_args(arguments)
    scale, rows = QUICK if options.quick else WHOLE, []
    try:
        require_device(options.device)
        for group in options.only:
            print(f"== {group}", flush=True)
            for row in GROUPS[group](options.device, scale):
                rows.append({"group": group, **row})
                print(table.shown(row), flush=True)
        if options.out:
            table.write(rows, options.device, scale, options.out)
    except ValueError as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.strerror or error} ({options.out}): free space or write elsewhere", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
