"""HTML from templates: what is put in is escaped, and a name that is missing is an error."""

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from icl_lib.companion.mathematics import typeset

_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)


def template(source: str) -> Template:
    """Return a template; of its filters, ``verdict`` puts a word into a coloured frame, ``math`` typesets a sentence."""
    return _ENVIRONMENT.from_string(source.strip())


def badge(verdict: str) -> Markup:
    """Return a verdict as a word in a coloured frame."""
    return Markup('<span class="verdict verdict-{}">{}</span>').format(verdict.replace(" ", "-"), verdict)


_ENVIRONMENT.filters |= {"verdict": badge, "math": typeset}
