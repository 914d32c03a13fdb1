"""Which side of a number its words bound: *at most 3* has to be true of what is written, not of what was rounded."""

import re

BEYOND = r"(?: to| a factor of)?[\s$±]*$"
"""What may stand between the words of a bound and its number."""
BEFORE = re.compile(
    r"\b(no |not |never (?:falls )?)?(?:(at most|up to|within|less than|below|under)|at least|more than|above|over)" + BEYOND,
    re.IGNORECASE,
)
"""A denial, and the words of an upper bound; any other bound is a lower one."""
BEHIND = r"[\w%+-]*\$?(?:\.\d+)?(?: [\w'’]+){0,4} "
AT_MOST = re.compile(BEHIND + r"(?:at most|or less)\b")
AT_LEAST = re.compile(BEHIND + r"(?:at least|or more)\b")


def way(before: str, after: str) -> int:
    """Return 1 for a number that its words call an upper bound, -1 for a lower one, 0 for any other.

    >>> [way(*each.split("_")) for each in ("at most _%", "it is _-fold or more", "never falls below _.", "it is _, the rest")]
    [1, -1, -1, 0]
    >>> [way(each, "") for each in ("no more than ", "never above ", "more than ", "no less than ")]
    [1, 1, -1, -1]
    """
    if found := BEFORE.search(before):
        return 1 if bool(found[1]) != bool(found[2]) else -1
    return 1 if AT_MOST.match(after) else -1 if AT_LEAST.match(after) else 0


def near(said: float, value: float, unit: float, side: int) -> bool:
    """Whether a number that is written is a value: rounded, or on the side of it that the words say.

    >>> near(0.12, 0.123, 0.01, 0), near(0.12, 0.123, 0.01, 1), near(0.13, 0.123, 0.01, 1)
    (True, False, True)
    """
    if not side:
        return abs(said - value) <= 0.501 * unit
    return -1e-9 * abs(value) <= side * (said - value) <= 1.001 * unit
