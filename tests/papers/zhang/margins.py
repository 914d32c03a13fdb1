"""What the tests that were claims ask of a number: it is within a margin with its error, or beyond it."""

from icl_lib.companion import HOLDS, Discrepancy


def holds(value, margin: float, two_se=0.0) -> bool:
    return Discrepancy(value, two_se).verdict(margin) == HOLDS


def misses(value, margin: float, two_se=0.0) -> bool:
    return bool((value - two_se > margin).any())


def off(dataset, name: str, theory: str) -> dict:
    """How far a measurement is from a formula, relative to it."""
    formula = dataset[theory]
    return {"value": abs(dataset[name] / formula - 1), "two_se": 2 * dataset[f"{name}_se"] / abs(formula)}
