"""Texts as they are set: quotation marks that open and close, powers of ten, minus signs, hyphens at which no line ends.

What stands in markdown has its quotation marks from Sphinx; what a notebook printed as HTML has them from here.
"""

import re

from lxml.html import HtmlElement

from book.builder.site import Page, piece, replace_in, sentences
from icl_lib.companion.html import template

TAGS = {"code", "kbd", "math", "pre", "samp", "script", "select", "style", "svg", "template", "textarea"}
CLASSES = {"highlight", "icl-cite", "icl-identity", "icl-made", "math"}
"""What is written for machines stays as it is."""
OPENING = re.compile(r'(?<![\w.,;:!?)%])"(?![\s.,;:!?)])')
APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)|(?<=s)'(?=\s)")
BROKEN = re.compile(r"\b0-1\b")
"""The 0-1 error is one word."""
MINUS = re.compile(r"(?<![\w.,)\]−–-])-(?=\.?\d)")
STOP = re.compile(r"\.(?!\.)")
NUMBERED = re.compile(r"\(\d+\)")
POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?e[-−+]?\d+)(?!\w)")


def set_type(page: Page) -> None:
    """Set the texts of one page."""
    if page.article is None:
        return
    without_parentheses(page.article)
    for owner, which in list(sentences(page.article, TAGS, CLASSES)):
        text = OPENING.sub("“", getattr(owner, which))
        if which == "tail" and owner.tag == "a" and owner.text_content().endswith("al.") and STOP.match(text):
            text = text[1:]  # a title such as "Garg et al." ends the sentence
        text = MINUS.sub("−", APOSTROPHE.sub("’", text.replace('"', "”")))
        setattr(owner, which, BROKEN.sub("0\N{NON-BREAKING HYPHEN}1", text))
    replace_in(page.article, (TAGS, CLASSES), POWER, power)


def without_parentheses(article: HtmlElement) -> None:
    """Take away the parentheses around an equation's number, which has its own."""
    for link in article.iter("a"):
        before = link.getprevious()
        owner, which = (link.getparent(), "text") if before is None else (before, "tail")
        opened, closed = getattr(owner, which) or "", link.tail or ""
        if opened.endswith("(") and closed.startswith(")") and NUMBERED.fullmatch(link.text_content()):
            setattr(owner, which, opened[:-1])
            link.tail = closed[1:]


def power(number: str) -> HtmlElement:
    """A number such as 7e-05 as 7·10⁻⁵, and 1e-15 as 10⁻¹⁵."""
    digits, exponent = number.split("e")
    raised = str(int(exponent.replace("−", "-"))).replace("-", "−")
    return piece(POWER_OF_TEN.render(digits="" if float(digits) == 1 else f"{digits}·", exponent=raised))


POWER_OF_TEN = template('<span class="icl-power">{{ digits }}10<sup>{{ exponent }}</sup></span>')
