"""What the notebooks show, made fit for pages: pictures as files, with where they came from."""

import base64
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup, Comment, Tag

SUFFIX = {"data:image/svg+xml;base64": "svg", "data:image/png;base64": "png"}
THEMES = ("light", "dark")
SVG_SIZE = re.compile(rb'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS_PER_POINT = 96 / 72


@dataclass(frozen=True)
class Provenance:
    """Where the data behind a figure came from."""

    slug: str
    profile: str
    seed: int
    seconds: float
    device: str
    source: str | None = None  # a link to the declaration at its commit, when the address is known
    made: str = ""  # how it was computed, as folded HTML

    @property
    def stem(self) -> str:
        return f"{self.slug}.{self.profile}"

    def as_html(self) -> str:
        """One line of HTML below the figure."""
        facts = [
            f"{self.profile} profile",
            f"seed {self.seed}",
            f"{self.seconds:.1f} s on {self.device}",
        ]
        facts = [html.escape(fact) for fact in facts]
        links = [("CSV", f"../data/{self.stem}.csv"), ("NetCDF", f"../data/{self.stem}.nc")]
        if self.source:
            links.append(("source", self.source))
        anchors = ", ".join(f'<a href="{html.escape(href)}">{text}</a>' for text, href in links)
        return (
            f'<p class="icl-provenance">Result <code>{html.escape(self.slug)}</code> · '
            f"{' · '.join(facts)} · data: {anchors}</p>{self.made}"
        )


def extract(notebook: nbformat.NotebookNode, pictures: Path, provenance: dict[str, Provenance]) -> list[str]:
    """Move every figure's images below `pictures` and add its provenance; the figures' HTML, in order.

    A result without a figure has its provenance below its claims.
    """
    found, drawn = [], set()
    for data in html_outputs(notebook, "icl-figure"):
        page = BeautifulSoup(data["text/html"], "html.parser")
        for style in page.select("style"):
            style.decompose()  # the book's own style sheet decides which theme's image is shown
        for figure in page.select("figure.icl-figure"):
            _move_images(figure, pictures)
            _add_provenance(figure, provenance)
            found.append(str(figure))
            drawn.add(figure.get("data-slug", ""))
        data["text/html"] = str(page)
    for data in html_outputs(notebook, "icl-cards"):
        page = BeautifulSoup(data["text/html"], "html.parser")
        slug = page.select_one(".icl-cards")["data-slug"]
        if slug in provenance and slug not in drawn:
            drawn.add(slug)
            page.append(BeautifulSoup(provenance[slug].as_html(), "html.parser"))
        data["text/html"] = str(page)
    return found


def html_outputs(notebook: nbformat.NotebookNode, mark: str) -> Iterator[dict]:
    """The data of every output whose HTML contains `mark`."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if mark in data.get("text/html", ""):
                yield data


def _move_images(figure: Tag, pictures: Path) -> None:
    for theme in THEMES:
        for image in figure.select(f"img.only-{theme}"):
            head, _, encoded = image["src"].partition(",")
            content, name = base64.b64decode(encoded), f"{figure['id']}-{theme}.{SUFFIX[head]}"
            pictures.mkdir(parents=True, exist_ok=True)
            (pictures / name).write_bytes(content)
            image["src"] = f"../figures/{name}"
            if size := SVG_SIZE.search(content):  # room for the picture before it has loaded
                image["width"], image["height"] = (round(float(side) * PIXELS_PER_POINT) for side in size.groups())


def _add_provenance(figure: Tag, provenance: dict[str, Provenance]) -> None:
    known = provenance.get(figure.get("data-slug", ""))
    for comment in figure.find_all(string=lambda text: isinstance(text, Comment)):
        if known and comment.strip() == "provenance":
            comment.replace_with(BeautifulSoup(known.as_html(), "html.parser"))
