"""How many networks a claim rests on, in the ledger's page, in its files and as a filter."""

import csv
import io

from bs4 import BeautifulSoup

from book.builder import ledger_files
from book.builder.ledger import Ledger
from book.builder.verdicts import NOT_RUN, Finding, Row
from papers import BOOK, registry

NETWORKS = {"Z10": 0, "D24": 1, "ZF1": 3, "D29": 3, "L20": 10}
"""Nothing trained; one network read, three, three of one training; ten trained in the run itself."""


def test_the_ledger_tells_and_filters_how_many_networks_a_claim_rests_on():
    claims = [registry.CLAIMS[name] for name in NETWORKS]
    rows = [Row(claim, registry.EXPERIMENTS[claim.experiment].notebook, Finding(NOT_RUN), Finding("holds")) for claim in claims]
    ledger = Ledger(rows, {}, BOOK.store)
    behind = {row["id"]: row.get("networks") for row in ledger_files.as_objects(ledger)}
    assert {name: behind[name] for name in NETWORKS} == NETWORKS
    lines = {row["id"]: row["networks"] for row in csv.DictReader(io.StringIO(ledger_files.as_csv(ledger)))}
    assert lines == {name: str(number) for name, number in NETWORKS.items()}
    page = BeautifulSoup(ledger.page(), "html.parser")
    shown = {name: page.find(id=f"claim-{name.lower()}") for name in NETWORKS}
    buckets = {name: row["data-networks"] for name, row in shown.items()}
    assert buckets == {name: str(number) if number <= 3 else "many" for name, number in NETWORKS.items()}
    assert [each["value"] for each in page.select('select[name="networks"] option')] == ["", "0", "1", "3", "many"]
    assert "10 networks" in shown["L20"].get_text() and "1 network" in shown["D24"].get_text()
