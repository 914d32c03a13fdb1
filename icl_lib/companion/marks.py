"""Marks around what a machine may change: digits of stochastic, trained or float32 numbers, and the pictures drawn from them.

One rule, in ``tests/nbval_sanitize.cfg``, cuts out what stands between the marks; the rest of an output is compared as text.
"""

from dataclasses import dataclass

from markupsafe import Markup

CHANGED, IN_THE_BOOK = "changed", "in_the_book"
"""Attributes of a result of settings of a reader's: what they are, and what they are in the book."""


def marked(text: object) -> str:
    """Return a text between marks; several lines stand on lines of their own, so that columns stay below each other."""
    text = str(text)
    return f"⟨\n{text}\n⟩" if "\n" in text else f"⟨{text}⟩"


def unmarked(text: str) -> str:
    """Return a text as a terminal shows it: nothing is compared there."""
    return text.replace("⟨\n", "").replace("\n⟩", "").replace("⟨", "").replace("⟩", "")


def marked_html(code: str) -> Markup:
    """Return HTML between marks in comments, which a page does not show; a text that is no HTML is escaped."""
    return Markup("<!--⟨-->{}<!--⟩-->").format(code)


@dataclass(frozen=True)
class Measured:
    """A measured number, a text or a table of them, printed or shown between marks.

    >>> from icl_lib.companion import Measured
    >>> from icl_lib.companion.marks import unmarked
    >>> print(Measured(0.25), unmarked(str(Measured(0.25))))
    ⟨0.25⟩ 0.25
    """

    shown: object

    def __str__(self) -> str:
        return marked(self.shown)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        if hasattr(self.shown, "marked"):  # a table marks its numbers one by one
            return self.shown.marked()._repr_html_()
        html = getattr(self.shown, "_repr_html_", None)
        return marked_html(Markup(html())) if html else None
