"""The pages at the address where they are published: canonical links, cards for shared links, a map of the site, `404.html`.

A site without such an address is opened from files; of all this it has `404.html` alone.

Not Sphinx's extensions for these: a description by sphinxext-opengraph keeps TeX and the brackets of citations and ends within
a word; sphinx-notfound-page needs an address, and asks for what the last pass adds beside itself; sphinx-sitemap brings git.
"""

import copy
import os
import re
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from textwrap import shorten
from urllib.parse import quote, urlsplit

import yaml
from lxml import html

from book.builder.problem import Problem
from book.builder.site import FOLDERS, Page
from icl_lib.companion.html import template

GITHUB = "github.com"
"""Where Binder and Colab find repositories."""
REPOSITORY = "ICL_REPOSITORY"
PAGES = "ICL_PAGES"
"""The variables with the address of the repository and of the pages; they go before `_config.yml`."""
MISSING = "404.html"
SHELL = "genindex.html"
"""A page beside `404.html` with the theme around it, and with nothing on it that needs a script of its own."""
ROOT, FRONT = "index.html", "book/index.html"
MAP = "sitemap.xml"
FORMULA = re.compile(r"\\\((.*?)\\\)")
PLAIN = re.compile(r"\\mathrm\{(\w+)\}|(?<=_)\{(\w+)\}")
SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
ENDS = (".", "?", "!", "。")
"""What ends a sentence: a line that ends otherwise is a title, or leads to another language."""
ANSWER = "//article//section[@class='icl-minute']/dl/dd[1]"
LONGEST = 200
"""Letters of a description; what shows a card cuts there."""


def repository(root: Path) -> str:
    """Where the repository of a checkout is, without a slash at its end; empty where that is not known."""
    return (os.environ.get(REPOSITORY) or _configured(root, "repository", "url")).rstrip("/")


def _configured(root: Path, table: str, name: str) -> str:
    """What the configuration says in one of its tables, in words; empty where it says nothing."""
    told = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8")).get(table) or {}
    if not isinstance(told, dict):
        raise Problem(f"{table} in _config.yml holds no table of names and values; restore it from git.")
    return str(told.get(name) or "")


def address(root: Path) -> str:
    """Where the pages of a checkout are published, without a slash at its end; empty where that is not known."""
    told = (os.environ.get(PAGES) or _configured(root, "html", "baseurl")).rstrip("/")
    try:
        parts = urlsplit(told)
    except ValueError:  # of brackets that do not close
        parts = urlsplit("")
    if told and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise Problem(f"'{told}' is no address of a site; write {PAGES} like https://owner.github.io/name, or leave it out.")
    return told


def missing_page(pages: dict[str, Page]) -> Page:
    """The page for an address where there is none: the shell with other words in it."""
    page = Page(MISSING, copy.deepcopy(pages[SHELL].tree))
    page.article.clear(keep_tail=True)
    page.article.set("class", "bd-article")
    page.article.extend(html.fragments_fromstring(NO_PAGE.render(to=page.address_of)))
    for link in page.tree.xpath("//link[@href='#']"):
        link.set("href", page.address_of(SHELL))
    title = page.tree.find(".//title")
    title.text = " — ".join(["No page here", *(title.text or "").split(" — ")[1:]])
    page.tree.head.extend(html.fragments_fromstring('<meta name="robots" content="noindex">'))
    return page


def publish(site: Path, pages: dict[str, Page], base: str, book: str) -> None:
    """Tell on every page where it is published and what a card for a link to it says; list the pages for search engines."""
    from book.builder import card  # seconds, with all the library; an address alone is told without

    picture = {"address": f"{base}/{card.NAME}", "width": card.WIDTH, "height": card.HEIGHT, "alt": card.ALT}
    picture = picture if (site / card.NAME).exists() else {}
    for page in pages.values():
        if page.path != MISSING:
            page.tree.head.extend(html.fragments_fromstring(head(page, base, book, picture)))
    read = [f"{base}/{quote(path)}" for path in pages if path.partition("/")[0] in FOLDERS]
    (site / MAP).write_text(SITEMAP.render(addresses=read) + "\n", encoding="utf-8")
    root = site / ROOT
    if ROOT not in pages and root.exists():  # it leads to the first page, and so does its card
        told = head(pages[FRONT], base, book, picture)
        root.write_text(f"{root.read_text(encoding='utf-8').rstrip()}\n{told}\n", encoding="utf-8")


def head(page: Page, base: str, book: str, picture: Mapping[str, str | int]) -> str:
    """What a head tells of a page: where it is, and what a card for a link to it says and shows, perhaps no `picture`."""
    url = f"{base}/{quote(page.path)}"
    return HEAD.render(url=url, title=page.title, description=description(page), book=book, picture=picture)


def description(page: Page) -> str:
    """The first sentences of a page that need no typesetting, those of its answer before all; empty where there are none."""
    for paragraph in page.tree.xpath(f"{ANSWER} | //article/section//p[parent::section]"):
        text = FORMULA.sub(r"\1", " ".join(paragraph.text_content().split()))
        text = PLAIN.sub(r"\1\2", text)
        told = " ".join(takewhile(lambda sentence: "\\" not in sentence, SENTENCES.split(text)))
        if told.endswith(ENDS):
            return shorten(told, LONGEST, placeholder=" …")
    return ""


def from_any_depth(page: Page, base: str) -> None:
    """Let the addresses on a page begin at the server's root: it is shown at whatever address leads nowhere."""
    above = urlsplit(base).path  # without the server's name, which the page's policy would compare
    page.tree.set("data-content_root", f"{above}/")  # from which the theme's scripts start
    for element in page.tree.xpath("//*[@href or @src or @action]"):
        for name in {"href", "src", "action"} & {*element.attrib}:
            parts = urlsplit(element.get(name))
            if parts.path and not parts.scheme and not parts.netloc:
                path, _ = page.leads_to(element.get(name))
                element.set(name, parts._replace(path=f"{above}/{quote(path)}").geturl())


HEAD = template(
    """
<link rel="canonical" href="{{ url }}">
<meta property="og:type" content="article">
<meta property="og:site_name" content="{{ book }}">
<meta property="og:url" content="{{ url }}">
<meta property="og:title" content="{{ title }}">
{% if description %}
<meta name="description" content="{{ description }}">
<meta property="og:description" content="{{ description }}">
{% endif %}
{% if picture %}
<meta property="og:image" content="{{ picture.address }}">
<meta property="og:image:width" content="{{ picture.width }}">
<meta property="og:image:height" content="{{ picture.height }}">
<meta property="og:image:alt" content="{{ picture.alt }}">
<meta name="twitter:card" content="summary_large_image">
{% else %}
<meta name="twitter:card" content="summary">
{% endif %}"""
)
NO_PAGE = template(
    """
<section id="no-page-here"><h1>No page here</h1>
<p>This address leads to no page of the book; it may be mistyped.</p>
<p><a href="{{ to("book/index.html") }}">Begin at the first page</a>, look for a claim in
<a href="{{ to("book/ledger.html") }}">the ledger</a>, or <a href="{{ to("search.html") }}">search the book</a>.</p>
</section>"""
)
SITEMAP = template(
    """
<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{% for address in addresses %}
<url><loc>{{ address }}</loc></url>
{% endfor %}
</urlset>"""
)
