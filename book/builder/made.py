"""How a result was computed, folded below its figure: what was declared, the source that ran, the command that repeats it."""

import json
from collections.abc import Mapping

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from icl_lib.companion import Experiment
from icl_lib.companion.html import template
from icl_lib.companion.laid_open import sources
from icl_lib.companion.settings import entries


def made(experiment: Experiment, attributes: Mapping[str, str]) -> str:
    """The folded HTML about one dataset of an experiment, from its attributes and the code as it is now."""
    profile, seed = attributes["profile"], attributes["seed"]
    return MADE.render(
        rows=entries(json.loads(attributes["declaration"])),
        sources=[(file, _as_html(code)) for file, code in sources(experiment)],
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
<p><code>{{ file }}</code></p>{{ source }}
{% endfor %}
<p><a href="{{ notebook }}" download>The whole notebook</a></p>
{{ cite }}</details>"""
)


def call(source: str) -> str:
    """The HTML of a cell that showed a result."""
    return Markup("<p>In the notebook</p>") + _as_html(source)


def _as_html(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(), HtmlFormatter(cssclass="highlight")))
