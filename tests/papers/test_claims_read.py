"""What every claim is, finds and looks at: kind, margins, its number and its controls', what moves it, in which of the rows.

A claim that comes to look at less than its sentence speaks of, one loss for both, the last mark for every mark, is a change in
``shown/claims.txt``, to be read before it is committed. ``python -m tests.papers.test_claims_read`` writes it anew; with
slugs behind it, what stands there of these.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from icl_lib.companion import Agreement, Claim, Discrepancy, modules, results
from icl_lib.companion.slack import REPEATED
from papers import registry
from tests.papers.told import short

SHOWN = Path(__file__).parent / "shown" / "claims.txt"
JUDGED = [slug for slug in registry.EXPERIMENTS if registry.claims_of(slug)]
FACTORS = (1e3, 1e-3, -1.0)
"""By these a part of a variable is multiplied, until one is noticed."""
MANY, SOME = 16, 7
"""Of a dimension with more entries than the one, so many are moved: the first, the last, and between them at even steps."""
LONG = 60
"""Letters from which on labels are told by their numbers."""
WORDS = {"half": 0.5, "½": 0.5, "quarter": 0.25, "three": 3, "third": 3, "five": 5, "eighth": 8, "ten": 10}
IN_OTHER_WORDS = {
    **dict.fromkeys(["Z17d", "Z17e", "Z17f", "Z17g", "Z17i"], [1e-12]),
    "Z25b": [1e-6],
    "Z26c": [1.001],
    "Z26f": [1.01],
    "Z26g": [1.001],
    "L9p": [1e-9],
    "L20b": [0.005, 0.9, 1.1],
    "L20d": [0.005],
    "D18b": [3],
    "D20e": [3],
    **dict.fromkeys(["D26d", "D26e", "D29", "D29b", "D33g"], [0.5]),
    "D54c": [1.25],
    "D66": [2e-6],
    "G1g": [0.5],
    "G3e": [0.2],
    "A5": [3],
    "A5b": [3],
    "S4f": [20],
    "S4h": [0.6],
    "S4k": [5],
    "S4p": [3],
}
"""Numbers of checks that a claim says as a power, a root, a percentage, a share, a count, a rank, its margin or *exact*."""
Check = Callable[[xr.Dataset], Discrepancy | Agreement]


def outcome(check: Check, dataset: xr.Dataset) -> tuple[bytes, ...]:
    """Return all that a check finds, as bytes; nothing where it ends in an error."""
    with np.errstate(all="ignore"):
        try:
            found = check(dataset)
        except (ValueError, ArithmeticError, KeyError, IndexError, np.linalg.LinAlgError):
            return ()
        parts = found.cells if isinstance(found, Agreement) else (found.value, found.two_se)
    return tuple(np.asarray(part, float).tobytes() for part in parts)


def _moved(values: np.ndarray, factor: float) -> np.ndarray:
    """Return numbers times a factor; with a large one, which moves no zero, and a ramp that leaves no two entries alike."""
    ramp = np.linspace(1, 2, values.size).reshape(values.shape)
    return factor * values + (ramp if factor > 1 else 0)


def read(check: Check, dataset: xr.Dataset) -> Iterator[str]:
    """Yield the variables that a check reads, and of their dimensions the entries that it reads where it leaves some out."""
    before = outcome(check, dataset)
    for name, variable in dataset.data_vars.items():
        if variable.dtype.kind not in "fiu":
            continue
        trial = dataset.assign({name: variable.copy(deep=True)})
        entries = trial[name].values  # of which some are moved in their place: the rest of the dataset stays what it is
        moved = [_moved(variable.values, factor) for factor in FACTORS]

        def noticed(*where, trial=trial, entries=entries, moved=moved, variable=variable) -> bool:
            for each in moved:
                entries[where] = each[where]
                found = outcome(check, trial)
                entries[where] = variable.values[where]
                if found != before:
                    return True
            return False

        if noticed(...):
            dims = [dim for dim in variable.dims if dim not in REPEATED or variable[dim].dtype.kind == "U"]
            parts = [text for dim in dims for text in _left_out(variable, dim, noticed)]
            yield f"{name}[{', '.join(parts)}]" if parts else str(name)


def _left_out(variable: xr.DataArray, dim: str, noticed: Callable) -> Iterator[str]:
    size, axis = variable.sizes[dim], variable.get_axis_num(dim)
    places = range(size) if size <= MANY else np.linspace(0, size - 1, SOME).round().astype(int)
    rows = [place for place in places if noticed(*[slice(None)] * axis, place)]
    if len(rows) < len(places):
        labels = " ".join(short(variable[dim].values[place]) for place in rows) if dim in variable.coords else ""
        yield f"{dim}: {labels if 0 < len(labels) < LONG else ' '.join(map(str, rows)) or 'none of those tried'}"


def told(claim: Claim, dataset: xr.Dataset) -> str:
    kind = f"{claim.kind} of {claim.part_of}" if claim.part_of else claim.kind
    margins = f"{claim.margin:g}" if claim.quick_margin is None else f"{claim.margin:g}, quick {claim.quick_margin:g}"
    what = f"{claim.id} ({claim.confidence}, {kind}, {margins})"
    controls = ", ".join(_number(claim.check, control(dataset.copy(deep=True))) for control in claim.controls.values())
    return f"  {what} {_number(claim.check, dataset)}, controls {controls}: {', '.join(read(claim.check, dataset))}"


def _number(check: Check, dataset: xr.Dataset) -> str:
    return " ± ".join(f"{each:.3g}" if abs(each) > 1e-9 else "0" for each in check(dataset).worst())


def section(slug: str, dataset: xr.Dataset) -> str:
    return "\n".join([slug, *(told(claim, dataset) for claim in registry.claims_of(slug))])


@pytest.mark.long
@pytest.mark.parametrize("slug", JUDGED)
def test_a_claim_reads_what_is_written_down(slug, stored):
    assert section(slug, stored(slug)) in SHOWN.read_text(encoding="utf-8").split("\n\n")


def test_what_a_check_leaves_out_is_seen():
    data = xr.Dataset({"x": (("a", "k"), [[1.0, 3.0], [2.0, 4.0]]), "y": ("k", [1.0, 1.0]), "z": 5.0}, {"k": ["one", "two"]})
    assert list(read(lambda d: Discrepancy(d.x.max() + d.z), data)) == ["x", "z"]
    assert list(read(lambda d: Discrepancy(d.x.isel(k=-1).sum(), d.y.sel(k="one")), data)) == ["x[k: two]", "y[k: one]"]
    assert list(read(lambda d: Discrepancy(d.x.isel(a=0).min()), data)) == ["x[a: 0]"]
    assert list(read(lambda d: Discrepancy(d.y.sel(k="two") - d.y.sel(k="one")), data)) == ["y"]
    seeds = data.rename(a="seed", k="run")
    assert list(read(lambda d: Discrepancy(d.x.isel(seed=0).sel(run="one")), seeds)) == ["x[run: one]"]


def constants(claim: Claim) -> set[float]:
    """Return the numbers of a check, and those of what it names in its module but for what is found there by name."""
    bindings = modules.read(claim.module).bindings
    (own,) = bindings[claim.id]
    waiting = [*own.body, *(each.value for part in own.decorator_list for each in part.keywords if each.arg == "check")]
    found, seen = set(), {claim.id}
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                found.add(node.value)
            elif isinstance(node, ast.Name) and node.id in bindings.keys() - seen:
                seen.add(node.id)
                waiting += [each for each in bindings[node.id] if not isinstance(getattr(each, "value", None), ast.Dict)]
    return found


@pytest.mark.parametrize("claim", registry.CLAIMS.values(), ids=list(registry.CLAIMS))
def test_a_check_has_no_number_that_the_claim_does_not_say(claim):
    said = " ".join([claim.sentence, *claim.told.values()])
    numbers = {float(text.replace(",", "")) for text in re.findall(r"\d(?:[\d,]*\d)?(?:\.\d+)?(?:e-\d+)?", said)}
    numbers |= {0, 1, 2} | {each / 100 for each in numbers} | {WORDS.get(word) for word in re.findall(r"\w+", said)}
    assert constants(claim) - numbers == {*IN_OTHER_WORDS.get(claim.id, ())}


def test_numbers_of_what_a_check_names_are_looked_at():
    assert {3, 1e-10, 1.001} <= constants(registry.CLAIMS["Z26c"]) and 0.25 in constants(registry.CLAIMS["D39d"])
    assert 10 not in constants(registry.CLAIMS["S4d"])  # in the name of a network


def _write(asked: list[str]) -> None:
    before = {part.split("\n")[0]: part for part in SHOWN.read_text(encoding="utf-8").rstrip().split("\n\n")}
    experiments = {slug: registry.experiment(slug) for slug in JUDGED if slug in asked or slug not in before or not asked}
    fresh = {slug: section(slug, one.expect(results.stored(one))) for slug, one in experiments.items()}
    SHOWN.write_text("".join(f"{(before | fresh)[slug]}\n\n" for slug in JUDGED), encoding="utf-8")


if __name__ == "__main__":
    _write([registry.experiment(slug).slug for slug in sys.argv[1:]])
