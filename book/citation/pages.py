"""The pages on citing and on editions: what the build puts at their marks."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from book.builder.verdicts import Row
from book.citation import bibtex, editions
from book.citation.record import Record
from icl_lib.companion import digests

MARK = re.compile(r"<!-- (bibtex|version|doi|editions) ?([\w-]*) -->")
NO_DOI = "There is no DOI yet; an edition is named by its version and its digest."


@dataclass(frozen=True)
class CitePages:
    """What the marks of the pages are filled from.

    site     the folder in which the site's data lie; figures: the names of those that are shown
    address  of the repository, where it is known
    """

    record: Record
    rows: list[Row]
    site: Path
    figures: Collection[str]
    address: str = ""

    def fill(self, book: Path, ledger: list[dict]) -> None:
        """Fill the marks of the pages below `book`; `ledger` is this build's, as objects."""
        fillers = {
            "bibtex": lambda key: self.bibtex(key, book / "references.bib"),
            "version": lambda _: self.record.in_words,
            "doi": lambda _: f"DOI: {self.record.doi}." if self.record.doi else NO_DOI,
            "editions": lambda _: editions.page(editions.earlier(book), ledger, self.record.version),
        }
        for name in ("cite.md", "editions.md"):
            if (page := book / name).exists():
                text = MARK.sub(lambda mark: fillers[mark[1]](mark[2]), page.read_text(encoding="utf-8"))
                page.write_text(text, encoding="utf-8")

    def bibtex(self, key: str, bibliography: Path) -> str:
        """A block with the entry of the book, of an example, or of a paper by its key."""
        row = self.example
        slug, data = row.claim.experiment, f"data/{row.claim.experiment}.{row.profile}.nc"
        part = partial(bibtex.of_part, self.record, data=data, digest=digests.of_file(self.site / data))
        own = {
            "book": lambda: bibtex.of_book(self.record, address=self.address),
            "claim": lambda: part(f"claim {row.claim.id}", row.card),
            "figure": lambda: part(f"figure {slug}", f"notebooks/{row.notebook}.html#fig-{slug}"),
        }
        return f"```bibtex\n{own[key]() if key in own else bibtex.of_paper(bibliography, key)}\n```"

    @property
    def example(self) -> Row:
        """The first formula whose result is drawn, or else the first claim."""
        drawn = (row for row in self.rows if row.claim.kind == "formula" and row.claim.experiment in self.figures)
        return next(drawn, self.rows[0])
