"""What all explorers share: their controls, the picture that is drawn when the book is built, and their page.

An explorer is a drawing (``skeleton``) with parts that change. ``parts(state)`` says what each part is for the values of
the controls: the attributes of an SVG element, or its text. Python fills the parts in for the start values; the script beside
the module computes the same parts when a control moves. A module has its ``EXPLORER`` and its ``values`` of a state, which
the script's have to be.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup

from book.explorers.controls import Control, State
from book.explorers.plane import Plane
from icl_lib.companion.html import template

HERE = Path(__file__).parent
Parts = dict[str, dict[str, float | str]]
"""The attributes of every part by its name; ``text`` is its content."""
Values = dict[str, float]
"""Numbers behind the parts by their names, as the script's ``values`` gives them."""


@dataclass(frozen=True)
class Explorer:
    """One explorer.

    name      as a page writes it, ``zhang-error``; the script is ``zhang_error.js``
    tries     one sentence on what to try; ``preset`` makes buttons in it
    skeleton  the SVG, in which ``put(tag, part, classes)`` is a part and ``handle(name)`` a point; ``planes`` are at hand
    numbers   parts that are text, with their labels, shown beside the picture; the part ``reading`` is a sentence of its own
    stored    numbers that the script needs besides, as JSON
    tolerance  how far the script's values may be from those of the module, relative or, below 1, absolute
    note      what is fixed, in small print
    """

    name: str
    title: str
    tries: str
    controls: tuple[Control, ...]
    planes: Mapping[str, Plane]
    skeleton: Template
    parts: Callable[[State], Parts]
    numbers: Mapping[str, str] = field(default_factory=dict)
    stored: Callable[[], dict] = dict
    tolerance: float = 1e-9
    note: str = ""

    @property
    def script(self) -> Path:
        """The script that redraws it."""
        return HERE / f"{self.name.replace('-', '_')}.js"

    @property
    def start(self) -> State:
        """The values of the controls before anything is moved."""
        return {control.name: control.start for control in self.controls}

    def svg(self, state: State) -> Markup:
        """Return the picture at ``state``."""
        parts = self.parts(state)

        def put(tag: str, part: str, classes: str = "") -> Markup:
            return Markup(ELEMENT.render(tag=tag, part=part, classes=classes, attributes=parts[part]))

        def handle(name: str, classes: str = "") -> Markup:
            (point,) = (each for each in self.controls if each.name == name)
            return Markup(HANDLE.render(name=name, classes=classes, at=self.planes[point.plane](*state[name])))

        return Markup(self.skeleton.render(put=put, handle=handle, planes=self.planes))

    def html(self) -> Markup:
        """Return the explorer as it stands on a page."""
        facts = {
            "controls": [control.as_json() for control in self.controls],
            "planes": {name: plane.as_json() for name, plane in self.planes.items()},
            "stored": self.stored(),
        }
        moved = [control for control in self.controls if control.kind != "point"]
        return Markup(PAGE.render(one=self, svg=self.svg(self.start), parts=self.parts(self.start), facts=facts, moved=moved))


def preset(words: str, **values: float | str) -> Markup:
    """Return a button that sets controls; without a script it is plain text."""
    query = "&".join(f"{name}={value}" for name, value in values.items())
    return Markup('<button type="button" class="preset" data-set="{}">{}</button>').format(query, words)


def swatch(classes: str) -> Markup:
    """Return a short piece of a line or of an area, for the label of a number."""
    shape = "M1 3H23V13H1Z" if "area" in classes else "M0 8H24"
    return Markup('<svg class="swatch" viewBox="0 0 24 16" aria-hidden="true"><path class="{}" d="{}"/></svg>').format(
        classes, shape
    )


ELEMENT = template(
    """
<{{ tag }}{% if classes %} class="{{ classes }}"{% endif %} data-part="{{ part }}"
{%- for key, value in attributes.items() if key != "text" %} {{ key }}="{{ value }}"{% endfor %}>
{{- attributes.text | default("") }}</{{ tag }}>"""
)
HANDLE = template(
    """
<g class="handle {{ classes }}" data-handle="{{ name }}" transform="translate({{ "%.1f %.1f" % at }})">\
<circle class="target" r="22"/><circle class="dot" r="6.5"/></g>"""
)
PAGE = template(
    """
<figure class="icl-explorer{{ " with-controls" if moved | length > 2 }}" id="explore-{{ one.name }}" \
data-explorer="{{ one.name }}" aria-labelledby="{{ one.name }}-title">
<p class="title" id="{{ one.name }}-title">{{ one.title }}</p>
<p class="tries">{{ one.tries | safe }}</p>
<div class="panes">
<div class="picture">
{{ svg }}
</div>
{% if moved %}
<div class="controls" hidden>
{% for control in moved %}
{% if control.kind == "slider" %}
<div class="control"><label for="{{ one.name }}-{{ control.name }}">{{ control.label | safe }}</label>\
<input type="range" id="{{ one.name }}-{{ control.name }}" data-control="{{ control.name }}" min="0" \
max="{{ control.stops | length - 1 }}" value="{{ control.stops.index(control.start) }}">\
<output for="{{ one.name }}-{{ control.name }}" aria-live="off"></output></div>
{% else %}
<fieldset class="control"><legend>{{ control.label | safe }}</legend>
{% for value, label in control.options.items() %}
<label><input type="radio" name="{{ one.name }}-{{ control.name }}" data-control="{{ control.name }}" \
value="{{ value }}"{% if value == control.start %} checked{% endif %}>{{ label | safe }}</label>
{% endfor %}
</fieldset>
{% endif %}
{% endfor %}
</div>
{% endif %}
<div class="facts">
{% if one.numbers %}
<dl>
{% for part, label in one.numbers.items() %}
<div><dt>{{ label | safe }}</dt><dd data-part="{{ part }}">{{ parts[part].text }}</dd></div>
{% endfor %}
</dl>
{% endif %}
<p class="reading" id="{{ one.name }}-reading" data-part="reading">{{ parts.reading.text }}</p>
{% if one.note %}
<p class="note">{{ one.note | safe }}</p>
{% endif %}
<p class="actions" hidden><button type="button" data-action="link">Copy link to this view</button> \
<button type="button" data-action="reset">Reset</button></p>
</div>
</div>
<p class="said" aria-live="polite"></p>
<script type="application/json">{{ facts | tojson }}</script>
</figure>"""
)
