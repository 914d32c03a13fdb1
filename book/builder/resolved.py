"""What the rendered pages have resolved: the number of every equation and theorem, and where a reading copy finds it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath

import nbformat
from docutils.nodes import make_id
from pybtex.database import Entry, parse_file

from book.builder.references import heading
from book.builder.site import Page, by_class

LINE = re.compile(r"^##+ (?P<section>.+)$|^:label: (?P<label>[\w-]+)$|\$\$ \((?P<equation>eq-[\w-]+)\)", re.MULTILINE)
PLAIN = re.compile(r"[^$`*{}\[\]()<>|\\]+")
"""A heading that viewers take for an anchor as it is."""
ARXIV = re.compile(r"arXiv:(\d+\.\d+)")
EQUATION = "equation-"
BIBLIOGRAPHY = "book/bibliography.html"


@dataclass(frozen=True)
class Place:
    """Where a label leads: its number in words, such as ``(20)`` or ``Theorem 1``, and the address of its page."""

    words: str
    page: str
    anchor: str


@dataclass(frozen=True)
class Resolved:
    """What is known of all pages, as it is seen from one of them.

    name       the notebook
    root       the checkout, in which included code lies
    up         leads from the reading copies to the site
    places     by label, as Sphinx writes it
    titles     of pages, by their path
    sections   headings in notebooks, by the labels below them
    works      what is cited, linked, by its key
    """

    name: str
    root: Path
    up: str
    places: Mapping[str, Place]
    titles: Mapping[str, str]
    sections: Mapping[str, str]
    works: Mapping[str, str]

    def place(self, label: str) -> Place:
        """What bears a label, which Sphinx wrote in its own letters."""
        if (found := self.places.get(make_id(label))) is None:
            raise ValueError(f"{self.name}: no page has numbered {label}")
        return found

    def link(self, label: str, title: str = "") -> str:
        """A link to what bears a label, in its number if no title is given; where it leads, there is a heading at most."""
        place = self.place(label)
        return f"[{title or place.words}]({self.address(place.page, place.anchor, self.sections.get(label, ''))})"

    def page(self, target: str, title: str = "") -> str:
        """A link to a page that is named as seen from a notebook."""
        path = normpath(f"notebooks/{target}.html")
        return f"[{title or self.titles[path]}]({self.address(path)})"

    def address(self, path: str, anchor: str = "", section: str = "") -> str:
        """The address of a page: that of its reading copy, if it has one."""
        folder, _, file = path.rpartition("/")
        if folder != "notebooks":
            return f"{self.up}{path}{anchor and f'#{anchor}'}"
        copy = f"{file.removesuffix('.html')}.ipynb"
        place = f"#{section.replace(' ', '-')}" if PLAIN.fullmatch(section) else ""
        return place if place and copy == f"{self.name}.ipynb" else copy + place

    def on_site(self, anchor: str = "") -> str:
        """The address of this page on the site."""
        return f"{self.up}notebooks/{self.name}.html{anchor and f'#{anchor}'}"

    def cited(self, key: str) -> str:
        """A work that is cited, linked."""
        return self.works[key].format(bibliography=self.address(BIBLIOGRAPHY))


def resolved(pages: Mapping[str, Page], notebooks: Mapping[str, nbformat.NotebookNode], root: Path, up: str) -> Resolved:
    """What the pages of a site tell of the notebooks."""
    prose = {
        name: "\n\n".join(cell.source for cell in each.cells if cell.cell_type == "markdown")
        for name, each in notebooks.items()
    }
    return Resolved(
        name="",
        root=root,
        up=up,
        places={label: place for path, page in pages.items() for label, place in _numbered(path, page)},
        titles={path: page.title for path, page in pages.items()}
        | {f"notebooks/{name}.html": heading(text) for name, text in prose.items()},
        sections={label: section for text in prose.values() for label, section in _headed(text)},
        works={key: _work(entry) for key, entry in parse_file(root / "book" / "references.bib").entries.items()},
    )


def _numbered(path: str, page: Page) -> Iterator[tuple[str, Place]]:
    """Every equation and every theorem that a page has numbered."""
    if page.article is not None:
        for number in by_class(page.article, "eqno", "caption-number"):
            owner = next(each for each in number.iterancestors() if each.get("id"))
            yield owner.get("id").removeprefix(EQUATION), Place(number.text.strip(), path, owner.get("id"))


def _headed(text: str) -> Iterator[tuple[str, str]]:
    """Every label of a text with the heading above it."""
    section = ""
    for found in LINE.finditer(text):
        section = found["section"] or section
        if label := found["label"] or found["equation"]:
            yield label, section


def _work(entry: Entry) -> str:
    """A work by its authors and its year, linked to where it can be read."""
    names = [" ".join(map(str, [*each.rich_prelast_names, *each.rich_last_names])) for each in entry.persons["author"]]
    told = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
    arxiv = ARXIV.search(entry.fields.get("note", ""))
    address = f"https://arxiv.org/abs/{arxiv[1]}" if arxiv else "{bibliography}"
    return f"[{told} ({entry.fields['year']})]({address})"
