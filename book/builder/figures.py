"""What the notebooks show, made fit for pages: pictures as files, with where they came from."""

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nbformat
from markupsafe import Markup

from book.builder.made import ORIGIN
from icl_lib.companion.figure import in_dark
from icl_lib.companion.html import template

FIGURE = re.compile(r'<figure class="icl-figure" id="(?P<id>[^"]*)" data-slug="(?P<slug>[^"]*)".*?</figure>', re.DOTALL)
DATA = r"data:image/svg\+xml;base64,"
IMAGE = re.compile(
    rf'(?:<picture>)?(?:<source media="(?P<media>[^"]*)" srcset="{DATA}(?P<narrow>[^"]*)">)?'
    rf'<img alt="(?P<alt>[^"]*)" src="{DATA}(?P<wide>[^"]*)">(?:</picture>)?'
)
CARDS = re.compile(r'<div class="icl-cards" data-slug="(?P<slug>[^"]*)">')
PLACE = "<!-- provenance -->"
"""What `Picture` and `Cards` write, where a page differs from a notebook."""
SVG_SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS_PER_POINT = 96 / 72
CAPTION = re.compile(r"<figcaption>.*?</figcaption>", re.DOTALL)
SIDES = {"Left": "Top", "Right": "Bottom", "left": "top", "right": "bottom"}
"""What a caption calls panels of one row, and where they stand below each other."""
SIDE = re.compile(r"\b(?:[Ll]eft|[Rr]ight)\b(?=(?: and \w+)?:)")
PLACES = re.compile(r"\b(?:Top|Bottom)(?: left| right)?(?=:)")
ORDINALS = ("First", "Second", "Third", "Fourth")
"""What a caption calls panels of two rows, and what it calls them in their order where each has a row of its own."""
ROWS = re.compile(r"\b(?:top|bottom|upper|lower)\b", re.IGNORECASE)
BOTH = '<span class="icl-broad">{}</span><span class="icl-slim">{}</span>'
NARROW = re.compile(r'<span class="icl-broad">.*?</span><span class="icl-slim">(.*?)</span>')
"""A caption's words for both, of which the second is kept beside a picture in its narrow form."""


@dataclass(frozen=True)
class Provenance:
    """Where the data behind a figure came from."""

    slug: str
    profile: str
    seed: str
    seconds: float
    device: str
    source: str | None = None  # a link to the declaration at its commit, when the address is known
    made: str = ""  # how it was computed, as folded HTML
    created: str = ""
    commit: str = ""  # with a plus sign behind it where the code was in no commit

    @property
    def stem(self) -> str:
        return f"{self.slug}.{self.profile}"

    @property
    def clean(self) -> bool:
        return not self.commit.endswith("+")

    def as_html(self, picture: str = "") -> str:
        """One line of HTML below the figure, whose file is `picture`, and the rest of what is known folded below it."""
        files = {"data": f"../data/{self.stem}.nc"} | ({"picture": picture} if picture else {})
        links = {"CSV": f"../data/{self.stem}.csv", "NetCDF": files["data"]} | ({"SVG": picture} if picture else {})
        links |= {"source": self.source} if self.source else {}
        return LINE.render(one=self, links=links) + self.made.replace(ORIGIN, DETAILS.render(one=self, files=files))


LINE = template(
    """
<p class="icl-provenance">Result <code>{{ one.slug }}</code> · {{ one.profile }} profile · seed {{ one.seed }} · \
{{ "%.1f" % one.seconds }} s on {{ one.device }}{{ "" if one.clean else " · by code that is in no commit" }} · \
{% for text, address in links.items() %}<a href="{{ address }}">{{ text }}</a>{{ "" if loop.last else ", " }}{% endfor %}</p>"""
)
DETAILS = template(
    """
<dl class="icl-origin">
<dt>computed</dt><dd>{{ one.created[:16] | replace("T", " ") }} UTC</dd>
<dt>commit</dt>
<dd><code>{{ one.commit.rstrip("+") }}</code>{{ "" if one.clean else ", and changes that are in no commit" }}</dd>
{% for what, file in files.items() %}
<dt>SHA-256 of the <a href="{{ file }}">{{ what }}</a></dt><dd><code class="icl-digest"></code></dd>
{% endfor %}
</dl>"""
)
"""The digests are those of the files as the site offers them: `digests` writes them when these are finished."""


def extract(notebook: nbformat.NotebookNode, pictures: Path, provenance: dict[str, Provenance]) -> dict[str, str]:
    """Move every figure's images below `pictures` and add its provenance; the figures' HTML, by name.

    A result without a figure has its provenance below its claims.
    """
    found, drawn = {}, set()

    def placed(figure: re.Match) -> str:
        text, slug = with_files(figure[0], pictures), figure["slug"]
        drawn.add(slug)
        name = figure["id"].removeprefix("fig-")
        told = provenance[slug].as_html(f"../figures/{figure['id']}-light.svg") if slug in provenance else PLACE
        return found.setdefault(name, text.replace(PLACE, told))

    for data in html_outputs(notebook, "icl-figure"):
        data["text/html"] = FIGURE.sub(placed, data["text/html"])
    for data in html_outputs(notebook, "icl-cards"):
        slug = CARDS.search(data["text/html"])["slug"]
        if slug in provenance and slug not in drawn:
            drawn.add(slug)
            data["text/html"] += provenance[slug].as_html()
    return found


def with_files(figure: str, pictures: Path) -> str:
    """A figure's HTML with its image in files below `pictures`; a diagram has no slug, and nothing to say of its origin."""
    found = FIGURE.search(figure)
    text = IMAGE.sub(partial(_moved, pictures, found["id"]), figure)
    if any(image["narrow"] for image in IMAGE.finditer(figure)):
        text = CAPTION.sub(lambda caption: told_narrow(caption[0]), text)
    return text if found["slug"] else text.replace(PLACE, "")


def told_narrow(caption: str) -> str:
    """A caption that says where panels stand on a narrow screen, too: below each other."""
    if {"Top left", "Bottom left"} & {*PLACES.findall(caption)}:
        each = iter(ORDINALS)
        return PLACES.sub(lambda place: BOTH.format(place[0], next(each)), caption)
    return caption if ROWS.search(caption) else SIDE.sub(lambda side: BOTH.format(side[0], SIDES[side[0]]), caption)


def html_outputs(notebook: nbformat.NotebookNode, mark: str) -> Iterator[dict]:
    """The data of every output whose HTML contains `mark`."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if mark in data.get("text/html", ""):
                yield data


def _moved(pictures: Path, figure: str, image: re.Match) -> str:
    """Write one image below `pictures`, for both themes; the elements that show it from there."""
    pictures.mkdir(parents=True, exist_ok=True)
    themes = {"light": lambda drawn: drawn, "dark": in_dark}
    return "".join(
        ELEMENT.render(
            theme=theme,
            alt=Markup(image["alt"]),
            media=image["media"],
            wide=_file(pictures / f"{figure}-{theme}.svg", image["wide"], coloured),
            narrow=_file(pictures / f"{figure}-narrow-{theme}.svg", image["narrow"], coloured) if image["narrow"] else "",
        )
        for theme, coloured in themes.items()
    )


def _file(path: Path, content: str, coloured: Callable[[str], str]) -> Markup:
    """Write a picture in the colours of a theme; its address, and its size for the page before it has loaded."""
    drawn = base64.b64decode(content).decode()
    path.write_text(coloured(drawn), encoding="utf-8")
    size = SVG_SIZE.search(drawn)
    sides = [round(float(side) * PIXELS_PER_POINT) for side in size.groups()] if size else []
    room = ' width="{}" height="{}"'.format(*sides) if sides else ""
    return Markup(f'"../figures/{path.name}"{room}')


ELEMENT = template(
    """
<picture class="only-{{ theme }}">{% if narrow %}<source media="{{ media }}" srcset={{ narrow }}>{% endif %}\
<img class="only-{{ theme }}" alt="{{ alt }}" src={{ wide }}></picture>"""
)
