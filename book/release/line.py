"""A text that may stand in a certificate, or name a file of a bundle: it is one line, and all of it is seen."""

import re

BLANK = re.compile("  |[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Printable, and yet nothing is seen. Spaces in a row would fill a line of a terminal, so that what follows begins another."""


def is_line(text: object) -> bool:
    """Whether a text has nothing that breaks a line, turns its direction, cannot be seen or cannot be written."""
    return not isinstance(text, str) or (text.isprintable() and not BLANK.search(text))
