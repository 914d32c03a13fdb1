"""What repositories ask for beside a bundle: `.zenodo.json` and `codecheck.yml`, made of the citation record."""

import json
import re
from collections.abc import Iterable

import yaml

from book.citation.record import Record, name_of

ZENODO = {
    "type": "object",
    "required": ["title", "upload_type", "description", "creators", "license", "version", "access_right"],
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "upload_type": {"const": "software"},
        "description": {"type": "string", "minLength": 1},
        "creators": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["name"]}},
        "access_right": {"const": "open"},
        "related_identifiers": {
            "type": "array",
            "items": {"type": "object", "required": ["identifier", "relation"]},
        },
    },
}
"""What Zenodo asks of the metadata of a deposit; it publishes no schema under an open licence."""
FIGURE = re.compile(r"html/figures/fig-(?!.*-(?:narrow|dark)[.-])(.+?)(?:-light)?\.svg$")
CODECHECK = "https://codecheck.org.uk/spec/config/1.0/"


def zenodo(record: Record) -> str:
    """The metadata of a deposit at Zenodo; it gives the DOI."""
    fields = record.fields
    identifiers = [each["value"] for paper in fields["references"] for each in paper.get("identifiers", [])]
    told = {
        "title": record.title,
        "upload_type": "software",
        "description": " ".join(fields["abstract"].split()),
        "creators": [{"name": name} for name in record.authors],
        "version": record.version,
        "access_right": "open",
        "license": fields["license"].lower(),
        "keywords": fields.get("keywords", []),
        "related_identifiers": [{"identifier": each, "relation": "references"} for each in identifiers],
    }
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"


def codecheck(record: Record, names: Iterable[str]) -> str:
    """The configuration of a CODECHECK, as authors hand it in: who checked it, and with what result, is not told yet."""
    ledger = [{"file": "html/ledger.json", "comment": "every claim with its verdict and its number"}]
    drawn = [{"file": name, "comment": f"figure {found[1]}"} for name in names if (found := FIGURE.match(name))]
    papers = [f"{paper['title']} ({paper['identifiers'][0]['value']})" for paper in record.fields["references"]]
    told = {
        "version": CODECHECK,
        "manifest": ledger + drawn,
        "paper": {
            "title": record.title,
            "authors": [{"name": name_of(author)} for author in record.fields["authors"]],
            "reference": f"{record.title}, {record.in_words}",
        },
        "source": "A recomputation of: " + "; ".join(papers),
    }
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True, explicit_start=True, width=120)
