"""How long what is stored took to compute, in the table of times."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from icl_lib.companion import results, weights
from papers import registry

MARK = "<!-- stored times -->"


def fill(book: Path, stored: Path) -> None:
    """Put the table at its mark on the page below `book`."""
    page = book / "how_to_rerun.md"
    if page.exists():
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(MARK, table(stored)), encoding="utf-8")


def table(stored: Path) -> str:
    """The seconds that stored files carry, a row for each paper; a network that two papers read counts once in the last row."""
    made = {key: [each for each in registry.EXPERIMENTS.values() if each.paper == key] for key in registry.WINGS}
    rows = {registry.WINGS[key].authors or key: own for key, own in made.items()} | {"all": [*registry.EXPERIMENTS.values()]}
    full = {each.slug: results.attributes(path) for each in rows["all"] if (path := stored / f"{each.slug}.full.nc").exists()}
    found = {name: weights.attributes(stored / "weights" / f"{name}.safetensors") for name in _read_by(rows["all"])}
    trained = {name: each for name, each in found.items() if each}
    lines = ["| stored files | full results | networks that they read | computed on |", "|---|---|---|---|"]
    for name, own in rows.items():
        computed = [full[each.slug] for each in own if each.slug in full]
        read = [trained[name] for name in _read_by(own) if name in trained]
        devices = sorted({found["device"].upper() for found in (*computed, *read)})
        lines.append(f"| {name} | {_told(computed)} | {_told(read)} | {', '.join(devices) or '–'} |")
    return "\n".join(lines)


def _read_by(experiments: Iterable) -> list[str]:
    return sorted({name for each in experiments for name in registry.trainings_of(each.full)})


def _told(files: list[Mapping[str, str]]) -> str:
    return f"{len(files)}: {in_words(sum(float(each['seconds']) for each in files))}" if files else "none"


def in_words(number: float) -> str:
    """Seconds, minutes or hours, to two digits."""
    unit, size = next(
        ((unit, size) for unit, size in (("hours", 3600), ("minutes", 60)) if number >= 1.5 * size), ("seconds", 1)
    )
    return f"{number / size:.1f} {unit}" if number / size < 9.95 and unit != "seconds" else f"{number / size:.0f} {unit}"
