"""The reading copies that a built site hands out, beside its pages."""

import nbformat
import pytest
from lxml import html
from test_reading import LEFT
from visits import SITE

from book.builder.layout import COPIES

LARGEST = 6.3e6
"""Bytes of all copies together."""
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site in _build/html; ./run book makes it")


def test_the_copies_of_the_site_show_what_its_pages_do():
    copies = sorted((SITE / COPIES).glob("*.ipynb"))
    assert copies and sum(path.stat().st_size for path in copies) < LARGEST
    for path in copies:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        data = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
        texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        texts += [each["text/markdown"] for each in data if "text/markdown" in each]
        assert not [found for text in texts for found in LEFT.findall(text)]
        assert not [each for each in data if "<svg" in each.get("text/html", "") or "class=" in each.get("text/html", "")]
        page = html.parse(str(SITE / "notebooks" / f"{path.stem}.html"))
        pictures = [each for each in data if "image/png" in each]
        assert len(pictures) == len(page.xpath("//figure[contains(@class, 'icl-figure')]"))
        assert all(each["text/plain"] for each in pictures)
        verdicts = page.xpath("//article[contains(@class, 'icl-card')]/@data-claim")
        told = "\n".join(each.get("text/markdown", "") for each in data)
        assert [claim for claim in verdicts if f"**{claim}** · " not in told] == []
