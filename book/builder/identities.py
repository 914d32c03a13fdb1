"""What a page was made from, as digests in its head and at its end; and the digests of the files that it offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from book.builder import cache
from book.builder.cache import Executed, digest_of
from book.builder.layout import Layout
from book.builder.site import Page, by_class, piece
from icl_lib.companion import digests
from icl_lib.companion.html import template
from papers import BOOK

NAME = "icl-identity"
SHOWN = 16
"""Digits of a digest that are shown."""
NONE = "none"


@dataclass(frozen=True)
class Identities:
    """What the pages of a build are made from; arguments as those of `Stage.fill`."""

    layout: Layout
    executed: list[Executed]
    quick: list[Executed]

    def of(self, path: str) -> dict[str, str]:
        """The digests of a page: of its notebook, or its own source, and of library, requirements and results.

        A notebook's page has those of the code that it needs and of its own results, any other those of all.
        """
        page = PurePosixPath(path)
        if page.parent.name == "notebooks":
            return {part: digest[:SHOWN] for part, digest in self._of_notebook(page.stem).items()}
        source = digests.of_file(self.layout.root / page.with_suffix(".md"))
        own = {"page": source} if source else {}
        return {part: digest[:SHOWN] for part, digest in (own | self._of_all).items()}

    def _of_notebook(self, name: str) -> dict[str, str]:
        one = next((one for one in self.executed if one.name == name), None)
        if one is None:
            return cache.source_digests(name, "", self.layout) | {"results": NONE}
        return one.record.sources | {"results": digest_of(sorted(one.results.glob("*.nc")))}

    @cached_property
    def _of_all(self) -> dict[str, str]:
        code = (file for package in (*BOOK.packages, "book") for file in sorted((self.layout.root / package).rglob("*.py")))
        every = (file for one in [*self.executed, *self.quick] for file in sorted(one.results.glob("*.nc")))
        return {
            "library": digest_of(code),
            "requirements": cache.requirements_digest(self.layout),
            "results": digest_of([*sorted(self.layout.stored_results.glob("*.nc")), *every]),
        }


def sign(page: Page, identity: Mapping[str, str]) -> None:
    """Write what a page was made from into its head and at its end."""
    told = "; ".join(f"{part} {digest}" for part, digest in identity.items())
    page.tree.head.append(page.tree.makeelement("meta", {"name": NAME, "content": told}))
    for end in list(by_class(page.tree, "bd-footer-content__inner"))[:1] or page.tree.xpath("//main"):
        end.append(piece(MADE_FROM.render(identity=identity)))


MADE_FROM = template(
    """
<div class="footer-item icl-identity"><p>Made from \
{% for part, digest in identity.items() %}
{{ part }} <code>{{ digest }}</code>{{ "." if loop.last else ", " }}\
{% endfor %}
</p></div>
"""
)


def tell_digests(page: Page, site: Path) -> None:
    """Write the digest of every file that the page tells it of; the files are finished by now."""
    for place in by_class(page.tree, "icl-digest"):
        (address,) = place.getparent().getprevious().xpath(".//a/@href")
        place.text = digests.of_file(site / page.leads_to(address)[0])
