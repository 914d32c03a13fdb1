"""How a result was computed, folded below its figure: what was declared, the source that ran, the command that repeats it."""

import html
import inspect
import json
from collections.abc import Iterator, Mapping

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from icl_lib.companion.experiment import Experiment
from icl_lib.companion.figure import Drawing
from icl_lib.companion.paper import declared
from icl_lib.companion.show import seen_by


def made(experiment: Experiment, attributes: Mapping[str, str]) -> str:
    """The folded HTML about one dataset of an experiment, from its attributes and the code as it is now."""
    profile, seed = attributes["profile"], attributes["seed"]
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in entries(json.loads(attributes["declaration"]))
    )
    sources = [type(experiment.declaration(profile))]
    sources += [each.draw for each in declared(seen_by(experiment), Drawing) if each.name == experiment.slug]
    told = "".join(_source(each) for each in sources)
    command = f"./run check {experiment.slug} --profile {profile} --seed {seed}"
    return (
        f'<details class="icl-made"><summary>how this was computed</summary><table>{rows}</table>{told}'
        f"<p>Computed and judged again: <code>{command}</code></p></details>"
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


def _source(code: object) -> str:
    file = inspect.getmodule(code).__name__.replace(".", "/")
    shown = highlight(inspect.getsource(code), PythonLexer(), HtmlFormatter(cssclass="highlight"))
    return f"<p><code>{file}.py</code></p>{shown}"
