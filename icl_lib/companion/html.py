"""HTML from templates: what is put in is escaped, and a name that is missing is an error."""

import re

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from icl_lib.companion.mathematics import typeset

_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)


def template(source: str) -> Template:
    """Return a template; its filters frame a ``verdict``, typeset a sentence's ``math``, make long names ``breakable``.

    >>> from icl_lib.companion.html import template
    >>> print(template("{{ word | verdict }} {{ text }}").render(word="holds", text="a < b"))
    <span class="verdict verdict-holds">holds</span> a &lt; b
    """
    return _ENVIRONMENT.from_string(source.strip())


def badge(verdict: str) -> Markup:
    """Return a verdict as a word in a coloured frame."""
    return Markup('<span class="verdict verdict-{}">{}</span>').format(verdict.replace(" ", "-"), verdict)


def breakable(name: str) -> Markup:
    """Return the name of a file or a function, which may go on in a next line behind its strokes, points and underscores."""
    return Markup(re.sub(r"([/._:])(?=\w)", r"\1<wbr>", str(escape(name))))


_ENVIRONMENT.filters |= {"verdict": badge, "math": typeset, "breakable": breakable}
