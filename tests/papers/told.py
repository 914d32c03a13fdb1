"""What every figure shows, in words: one line for each kind of series, to be read by a person and held by a test.

Alternative text and caption are written down too: a test sees their numbers, and only a person what they say of them.

``python -m tests.papers.told zhang`` writes ``shown/zhang.txt`` anew; read what has changed before it is committed. How a
figure looks, its widths, limits and places, is kept as a digest: look at a figure whose digest is another one.
"""

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import xarray as xr

from icl_lib.companion import Drawing, digests, results
from icl_lib.companion.paper import declared
from icl_lib.typed import unknown
from papers import BOOK, PAPERS, registry
from tests.papers.artists import Panel, Read, Series, drawn
from tests.papers.derived import DERIVED
from tests.papers.looks import in_words
from tests.papers.recognised import NO_NAME, Found, Vocabulary

SHOWN = Path(__file__).parent / "shown"
DRAWINGS: dict[str, tuple[str, Drawing]] = {
    each.name: (module.__name__.split(".")[1], each) for module in registry._MODULES for each in declared([module], Drawing)
}


def dataset_of(name: str) -> xr.Dataset:
    """Return the stored full data behind a figure, with what is expected of them."""
    slug = name if name in registry.EXPERIMENTS else BELONGS.get(name, "")
    if not slug:
        slug = max((each for each in registry.EXPERIMENTS if name.startswith(each)), key=len)
    experiment = registry.EXPERIMENTS[slug]
    return experiment.expect(results.load(BOOK.result(slug), BOOK))


BELONGS = {
    "dherin-patch-sizes": "dherin-modern-blocks",
    "dherin-w-down-alone": "dherin-gemma",
    "zhang-random-covariance-bounds": "zhang-off-diagonal",
}
"""The results of the figures that are not named after theirs."""


@dataclass
class Line:
    """What is said of one series or level, what series of which the same is said differ in, and places along a coordinate."""

    text: str
    places: str = ""
    each: dict[str, object] = field(default_factory=dict)
    look: str = ""
    outside: int = 0


def told(name: str, data: xr.Dataset, read: Read) -> str:
    """Return what a figure shows, panel by panel; panels and series of which the same is to be said are told once."""
    words = Vocabulary(data, DERIVED.get(name, {}))
    panels, beside, looks = read.panels, read.beside, [*read.looks]
    groups: dict[tuple, list[tuple[Panel, str, list[Line], list[str]]]] = {}
    for panel in panels:
        head, lines, rest = _panel(panel, words)
        groups.setdefault((head, *dict.fromkeys(line.text for line in lines), *rest), []).append((panel, head, lines, rest))
        looks += [line.places for line in lines]
    found = [name]
    for same in groups.values():
        (_, head, _, rest), lines = same[0], [line for _, _, every, _ in same for line in every]
        titles = [panel.title for panel, *_ in same if panel.title]
        in_order = f": {', '.join(titles)}" if len({*titles}) > 1 else ""
        found.append(f"  {head}" + (f" ({len(same)} panels{in_order})" if len(same) > 1 else ""))
        for text in dict.fromkeys(line.text for line in lines):
            found.append(f"    {_together([line for line in lines if line.text == text], len(same), data)}")
        found += [f"    {each}" for each in rest]
    found += [f"  beside: {each}" for each in dict.fromkeys(beside)]
    found += [f"  says: {text}" for text in DRAWINGS[name][1].told(data)[:2]]
    return "\n".join([*found, f"  looks {digests.of_text(repr(looks))[:8]}", ""])


def _together(lines: list[Line], panels: int, dataset: xr.Dataset) -> str:
    """Return what is said of several series, with the entries that they are of, how they look, and how much is unseen."""
    text, count = lines[0].text, 1
    for dim in lines[0].each:
        entries = list(dict.fromkeys(short(line.each[dim]) for line in lines))
        every = {short(each.item()) for each in dataset[dim]} if dim in dataset.coords else ()
        if {*entries} != {*every}:
            text = re.sub(rf", each {dim}\b", rf"\g<0> of {' '.join(entries)}", text)
        count *= len(entries)
    looks = dict.fromkeys(line.look for line in lines if line.look)
    text += f" [{', '.join(looks)}]" if looks else ""
    text += f" ({len(lines)} times)" if len(lines) not in (count, panels) else ""
    outside = sum(line.outside for line in lines)
    return text + (f", {outside} points outside" if outside else "")


def _panel(panel: Panel, words: Vocabulary) -> tuple[str, list[Line], list[str]]:
    found = [(each, words.find(each)) for each in panel.series]
    common = _common([one.at for _, one in found if one])
    head = [f"{_named(panel.title, common)!r}" if panel.title else "panel"]
    head += [f"{side} {panel.axes[side]!r} {panel.scales[side]}" for side in ("x", "y")]
    lines = [_series(each, one, common, panel, words) for each, one in found]
    for side, value, labels, look in panel.levels:
        level = f"level {side} = {words.value(side, value) or f'UNREAD {value!r}'}{_entry(labels, common)}"
        lines.append(Line(level, look=in_words(look)))
    ticks = [f"{side} names {_ticks(panel, side, found)}" for side in ("x", "y") if panel.ticks[side]]
    return ", ".join(head), lines, ticks + panel.texts


def _common(every: list[dict]) -> dict:
    """Return the coordinates that all series of a panel share."""
    first = every[0] if every else {}
    return {dim: value for dim, value in first.items() if all(at.get(dim, value) == value for at in every)}


def _series(each: Series, found: Found | None, common: dict, panel: Panel, words: Vocabulary) -> Line:
    half = "" if each.above is None else f" \N{PLUS-MINUS SIGN} {_summary(each.above)}"
    line = Line("", look=in_words(each.look), outside=each.outside)
    if found is None:
        unread = f"UNREAD {each.kind} x {_summary(each.x)}, y {_summary(each.y)}{half}{_entry(each.labels, {})}"
        return replace(line, text=unread)
    sideways = each.sideways or "sideways" in found.remarks
    line.places = _summary(each.y if sideways else each.x) if found.along or sideways else ""
    said = _entry(each.labels, found.at)
    title, text = (
        _named(panel.title, found.at),
        f"{each.kind}: {found.name} along {found.along}" if found.along else f"{each.kind}: {found.name}",
    )
    text += f" ({', '.join(sorted(found.remarks))})" if found.remarks else ""
    for dim, value in found.at.items():
        named = f"{{{dim}}}" in said + title
        line.each |= {dim: value} if named else {}
        text += (
            f", each {dim}"
            if named
            else f", {dim} {short(value)}"
            if dim in words.dataset.dims and words.dataset.sizes[dim] > 1
            else ""
        )
    interval = f", {found.interval}" if found.interval else ""
    return replace(line, text=text + interval + (half if interval == f", {NO_NAME}" else "") + said)


def _summary(values: np.ndarray) -> str:
    """Return the first, the last and the mean of the values that are there; what is near rounding is 0."""
    there = np.asarray(values, float)
    there = there[np.isfinite(there)]
    ends = (there[0], there[-1], there.mean()) if there.size else ()
    return " ".join(f"{value:.3g}" if abs(value) > 1e-9 else "0" for value in ends)


def _entry(labels: list[str], at: dict) -> str:
    return " -> " + " | ".join(dict.fromkeys(_named(label, at) for label in labels)) if labels else ""


def short(value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _named(text: str, at: dict) -> str:
    """Return a text with the values of coordinates replaced by their names."""
    for dim, value in sorted(at.items(), key=lambda pair: (pair[0] not in text, -len(short(pair[1])))):
        written = short(value)
        whole = rf"(?<![\w.{{]){re.escape(written)}(?![\w.}}])"
        text = re.sub(whole, f"{{{dim}}}", text, count=1)
    return text


def _ticks(panel: Panel, side: str, found: list) -> str:
    """Return which entry of a dimension each name on an axis stands at, or that the names are the entries or the numbers."""
    ticks, pairs = panel.ticks[side], {}
    if all(_number(name) == place for place, name in ticks.items()):
        return "its numbers"
    for series, one in found:
        places = series.x if side == "x" else series.y
        if one and one.along_values and len(one.along_values) == len(places) and ("sideways" in one.remarks) == (side == "y"):
            for place, value in zip(places, one.along_values, strict=True):
                nearest = min(ticks, key=lambda tick: abs(tick - place))
                pairs.setdefault(short(value), set()).add(ticks[nearest])
    if pairs and all(names == {value} for value, names in pairs.items()):
        return "the entries"
    return "; ".join(f"{value}: {' and '.join(sorted(names))}" for value, names in pairs.items()) or ", ".join(ticks.values())


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "").replace("−", "-").strip("$"))
    except ValueError:
        return None


def page(wing: str) -> str:
    """Return what all figures of a wing show."""
    found = {name: dataset_of(name) for name, (home, _) in DRAWINGS.items() if home == wing}
    return "\n".join(told(name, data, drawn(DRAWINGS[name][1], data)) for name, data in found.items())


if __name__ == "__main__":
    for wing in sys.argv[1:] or PAPERS:
        if wing not in PAPERS:
            sys.exit(unknown("wing", wing, PAPERS))
        SHOWN.mkdir(exist_ok=True)
        (SHOWN / f"{wing}.txt").write_text(page(wing), encoding="utf-8")
