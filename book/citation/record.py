"""What is cited: `CITATION.cff`, the one place where title, authors and version stand."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import jsonschema
import yaml

FILE = "CITATION.cff"
SCHEMA = Path(__file__).with_name("cff-1.2.0.schema.json")


@dataclass(frozen=True)
class Edition:
    """The commit that an edition is made of; a book that is built for its reader alone has none.

    seconds   when the commit was made, since 1970
    """

    commit: str
    seconds: int


@dataclass(frozen=True)
class Record:
    """The record of the artifact, and the edition that is cited."""

    fields: dict
    edition: Edition | None = None

    @classmethod
    def of(cls, root: Path, edition: Edition | None = None) -> "Record":
        return cls(parsed((root / FILE).read_text(encoding="utf-8")), edition)

    @property
    def title(self) -> str:
        return self.fields["title"]

    @property
    def version(self) -> str:
        return str(self.fields["version"])

    @property
    def year(self) -> str:
        return self.fields["date-released"][:4]

    @property
    def authors(self) -> list[str]:
        """Their names, family names first."""
        return [name_of(author) for author in self.fields["authors"]]

    @property
    def doi(self) -> str:
        """Empty until there is one."""
        return self.fields.get("doi", "")

    @property
    def in_words(self) -> str:
        """The version, and of an edition its commit."""
        return f"version {self.version}" + (f", commit {self.edition.commit[:12]}" if self.edition else "")


def name_of(author: dict) -> str:
    """The name of a person or of a group in a citation record."""
    return author.get("name") or f"{author['family-names']}, {author['given-names']}"


def parsed(text: str) -> dict:
    """The fields of a citation file; a date without quotation marks is text all the same."""
    return json.loads(
        json.dumps(yaml.safe_load(text), default=lambda value: value.isoformat() if isinstance(value, date) else value)
    )


def complaints(fields: dict) -> list[str]:
    """In which places a citation record is not as the Citation File Format 1.2.0 asks, in the words of its schema."""
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    return [f"{'.'.join(map(str, each.path)) or FILE}: {each.message}" for each in validator.iter_errors(fields)]
