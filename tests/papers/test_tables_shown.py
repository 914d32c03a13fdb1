"""Tables of stored results are what is written down of them, row by row, to be read by a person.

``python -m tests.papers.test_tables_shown`` writes ``shown/tables.txt`` anew; read what has changed before it is committed.
"""

import inspect
from collections.abc import Callable

import pytest

from icl_lib.companion import results
from icl_lib.companion.table import Table
from papers import BOOK, registry
from tests.papers.told import SHOWN

WRITTEN = SHOWN / "tables.txt"
SLUGS = {
    "dherin.s4_1_agreement.errors": "dherin-agreement-deep",
    "dherin.s4_1_agreement.plateau": "dherin-plateau",
    "dherin.s4_4_finetuning.distances": "dherin-finetuning",
    "dherin.s4_4_finetuning.factors": "dherin-alignment",
    "dherin.skip_connections.left_over": "dherin-skip-connections",
    "dherin.static_patches.readings": "dherin-static-one-block",
    "dherin.modern_blocks.agreement": "dherin-gemma",
    "engine.limits": "engine-roofline",
    "engine.reached": "engine-roofline",
    "garg.prior_observations.table": "garg-shifts",
    "zhang.appendices.slack": "zhang-off-diagonal",
    "zhang.s1_introduction.remaining": "zhang-one-step",
    "zhang.s3_preliminaries.losses": "zhang-population-loss",
    "zhang.s4_2_shifts.garg_table": "zhang-garg-prompts",
    "zhang.s4_3_gpt2.by_way": "zhang-gpt2-scale",
    "zhang.s4_3_gpt2.relative": "zhang-gpt2",
    "zhang.s4_3_random_covariances.gains": "zhang-random-covariance",
    "zhang.s5_1_quadratic_form.curvature": "zhang-full-loss",
    "zhang.s5_3_pl_inequality.heights": "zhang-long-prompts",
    "zhang.s5_3_pl_inequality.slacks": "zhang-pl",
}
"""The result of each table that a room makes."""


def tables() -> dict[str, Callable]:
    """The functions of rooms and wings that make a table of a dataset."""
    found = {}
    for module in registry._MODULES:
        for name, each in inspect.getmembers(module, inspect.isfunction):
            place = module.__name__.removeprefix("papers.").rpartition(".")[0]
            if (
                each.__module__ == module.__name__
                and inspect.signature(each).return_annotation is Table
                and "dataset" in (inspect.signature(each).parameters)
            ):
                found[f"{place}.{name}"] = each
    return found


def told(name: str) -> str:
    """A table of the stored result as text, under its name."""
    experiment = registry.EXPERIMENTS[SLUGS[name]]
    dataset = experiment.expect(results.load(BOOK.result(experiment.slug)))
    return f"{name}\n{tables()[name](dataset)!r}"


@pytest.mark.parametrize("name", SLUGS)
def test_a_table_says_what_is_written_down(name):
    assert told(name) in WRITTEN.read_text(encoding="utf-8").strip().split("\n\n")


def test_every_table_is_written_down():
    assert set(tables()) == set(SLUGS)


if __name__ == "__main__":
    WRITTEN.write_text("\n\n".join(map(told, SLUGS)) + "\n", encoding="utf-8")
