"""Shapes of an experiment: dimensions, lengths and the like, one of each a shape."""


def require_as_many(**several: tuple) -> None:
    """Raise ValueError in a sentence where some of them are more than others."""
    if len({*map(len, several.values())}) > 1:
        *first, last = [f"{len(values)} of {name}" for name, values in several.items()]
        raise ValueError(f"{', '.join(first)} and {last}: take as many of each")


def told(**several: tuple) -> list[str]:
    """Return how each shape is told, ``d=3 N=7``."""
    each = zip(*several.values(), strict=True)
    return [" ".join(f"{name}={value}" for name, value in zip(several, values, strict=True)) for values in each]
