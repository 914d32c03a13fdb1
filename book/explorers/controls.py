"""What a reader moves: sliders, choices and points."""

from collections.abc import Mapping
from dataclasses import dataclass

State = dict[str, float | str | tuple[float, float]]
"""The value of every control by its name: a number, a chosen word, or a point."""


@dataclass(frozen=True)
class Slider:
    """A number out of ``stops``; ``label`` may hold HTML."""

    name: str
    label: str
    stops: tuple[float, ...]
    start: float
    kind = "slider"

    def as_json(self) -> dict:
        """Return what the script needs."""
        return {"kind": self.kind, "name": self.name, "stops": self.stops, "start": self.start}


@dataclass(frozen=True)
class Choice:
    """One word out of ``options``, which map words to labels."""

    name: str
    label: str
    options: Mapping[str, str]
    start: str
    kind = "choice"

    def as_json(self) -> dict:
        """Return what the script needs."""
        return {"kind": self.kind, "name": self.name, "start": self.start}


@dataclass(frozen=True)
class Point:
    """A point of a plane that can be dragged, or moved by arrow keys in steps; ``label`` is its name in words."""

    name: str
    label: str
    plane: str
    start: tuple[float, float]
    step: float
    kind = "point"

    def as_json(self) -> dict:
        """Return what the script needs."""
        keys = ("kind", "name", "label", "plane", "start", "step")
        return {key: getattr(self, key) for key in keys}


Control = Slider | Choice | Point
