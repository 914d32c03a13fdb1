"""A link left where something was: `book/moved.yml` names old addresses with the new ones."""

from collections.abc import Mapping
from pathlib import Path

import yaml
from lxml import html

from book.builder.site import Page, piece
from icl_lib.companion.html import template

FILE = Path(__file__).parents[1] / "moved.yml"


def moves() -> dict[str, str]:
    """The new address of everything that has moved, by its old one."""
    return (yaml.safe_load(FILE.read_text(encoding="utf-8")) or {}) if FILE.exists() else {}


def keep(pages: Mapping[str, Page], moved: Mapping[str, str]) -> dict[str, Page]:
    """Leave a link at every old address; the pages that there are only for that."""
    left: dict[str, Page] = {}
    for old, new in moved.items():
        path, _, anchor = old.partition("#")
        page = pages.get(path) or left.setdefault(path, Page(path, html.document_fromstring(EMPTY.render())))
        target, _, place = new.partition("#")
        link = LINK.render(id=anchor, name=anchor.partition("-")[2], address=page.address_of(target, place), new=new)
        (page.article if page.article is not None else page.tree.find(".//main")).append(piece(link))
    return left


EMPTY = template(
    """
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Moved</title></head>
<body><main><h1>This page has moved</h1></main></body></html>"""
)
LINK = template(
    """
<p class="icl-left"{% if id %} id="{{ id }}"{% endif %}>{{ name or "All of it" }} has moved: \
<a href="{{ address }}">{{ new }}</a></p>"""
)
