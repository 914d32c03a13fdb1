"""How a result was computed, folded below its figure: what was declared, the source that ran, the command that repeats it."""

import inspect
import json
from collections.abc import Iterator, Mapping

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from icl_lib.companion import Drawing, Experiment
from icl_lib.companion.html import template
from icl_lib.companion.paper import declared
from icl_lib.companion.showing import seen_by


def made(experiment: Experiment, attributes: Mapping[str, str]) -> str:
    """The folded HTML about one dataset of an experiment, from its attributes and the code as it is now."""
    profile, seed = attributes["profile"], attributes["seed"]
    sources = [type(experiment.declaration(profile))]
    sources += [each.draw for each in declared(seen_by(experiment), Drawing) if each.name == experiment.slug]
    return MADE.render(
        rows=entries(json.loads(attributes["declaration"])),
        sources=[(inspect.getmodule(each).__name__.replace(".", "/"), highlighted(each)) for each in sources],
        command=f"./run figure {experiment.slug} --profile {profile} --seed {seed}",
        notebook=f"../_sources/notebooks/{experiment.notebook}.ipynb",
        call=Markup(CALL),
        origin=Markup(ORIGIN),
        cite=Markup(CITE),
    )


CALL = "<!-- call -->"
"""Where the page says which cell showed the result."""
ORIGIN = "<!-- origin -->"
"""Where it says when and by which code it was computed, and the digests of data and picture."""
CITE = "<!-- cite -->"
"""Where it says how to cite the figure."""
MADE = template(
    """
<details class="icl-made"><summary>how this was computed</summary>
<p>Drawn and judged again, with this seed or another: <code>{{ command }}</code></p>
{{ call }}
{{ origin }}
<table>{% for name, value in rows %}<tr><th>{{ name }}</th><td>{{ value }}</td></tr>{% endfor %}</table>
{% for file, source in sources %}
<p><code>{{ file }}.py</code></p>{{ source }}
{% endfor %}
<p><a href="{{ notebook }}" download>The whole notebook</a></p>
{{ cite }}</details>"""
)


def entries(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Name and value of every field, ``setting.beta`` for a field of a field and ``settings[0]`` for an entry of a list."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key != "class":
                yield from entries(each, f"{name}.{key}".removeprefix("."))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for place, each in enumerate(value):
            yield from entries(each, f"{name}[{place}]")
    else:
        yield name, ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def call(source: str) -> str:
    """The HTML of a cell that showed a result."""
    return Markup("<p>In the notebook</p>") + _as_html(source)


def highlighted(code: object) -> Markup:
    """The source of a class or a function as HTML."""
    return _as_html(inspect.getsource(code))


def _as_html(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(), HtmlFormatter(cssclass="highlight")))
