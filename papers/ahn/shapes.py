"""Shapes of an experiment: a dimension and a length each."""


def require_pairs(d: tuple[int, ...], N: tuple[int, ...]) -> None:
    """Raise ValueError in a sentence where there is not one length for each dimension."""
    if len(d) != len(N):
        raise ValueError(f"{len(d)} of d and {len(N)} of N: take as many of each")


def told(d: tuple[int, ...], N: tuple[int, ...]) -> list[str]:
    """Return how each shape is told, ``d=5 N=20``."""
    return [f"d={each} N={length}" for each, length in zip(d, N, strict=True)]
