"""`./run figure SLUG`: one figure drawn anew, with another seed or other settings, and its claims judged."""

import argparse
import time
import webbrowser
from pathlib import Path

from icl_lib.companion import Cards, writing
from icl_lib.companion.laid_open import drawing_of
from icl_lib.companion.marks import unmarked
from papers import BOOK, registry, renewal


def run(options: argparse.Namespace) -> int:
    """Compute one result, write its figure as SVG and open it, and print its judged claims."""
    experiment = registry.asked(options.slug, options.profile, options.settings)
    drawing = drawing_of(experiment)
    if drawing is None:
        room = f"{experiment.module.rpartition('.')[0]}.figures"
        raise ValueError(
            f"no figure of {room} is named {experiment.slug}; {BOOK.command} check {experiment.slug} judges its claims"
        )
    renewal.announce(renewal.alike([experiment.slug], options), options.settings)
    began = time.perf_counter()
    dataset = experiment.run(options.profile, options.seed, options.device)
    path = options.out or BOOK.build / "drawn" / f"{experiment.slug}.{options.profile}.seed{options.seed}.svg"
    writing.write_atomically(path, lambda file: file.write_text(drawing(dataset).light, encoding="utf-8"))
    print(unmarked(str(Cards(*(claim.judge(dataset) for claim in registry.claims_of(experiment.slug))))))
    print(f"{experiment.slug} ({options.profile}, seed {options.seed}): {time.perf_counter() - began:.1f} s, {path}")
    if not options.out:
        webbrowser.open(Path(path).resolve().as_uri())
    return 0
