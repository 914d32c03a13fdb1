"""What a reader may set an explorer to, drawn at random."""

import random
from collections.abc import Iterator

from book.explorers.controls import Point, Slider, State
from book.explorers.explorer import Explorer


def settings(one: Explorer, count: int) -> Iterator[State]:
    """Random settings of the controls of an explorer."""
    draw = random.Random(one.name)
    for _ in range(count):
        yield {control.name: _value(one, control, draw) for control in one.controls}


def _value(one, control, draw):
    if isinstance(control, Point):
        plane = one.planes[control.plane]
        return tuple(round(draw.uniform(axis.low, axis.high), 3) for axis in (plane.x, plane.y))
    return draw.choice(control.stops if isinstance(control, Slider) else [*control.options])
